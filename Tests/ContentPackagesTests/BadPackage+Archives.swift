import ContentPackages
import Foundation

extension BadPackage {
    /// What is no archive, or whose table is damaged or hostile.
    static let archives: [BadPackage] = [
        BadPackage("nothing", .format) { [] },
        BadPackage("text", .format) { Array("This is no package, but a letter of some length.".utf8) },
        BadPackage("a zip file", .format) { [0x50, 0x4B, 3, 4] + [UInt8](repeating: 0, count: 60) },
        changed("cut off in its header", .format) { $0.editFile = { $0.removeSubrange(20...) } },
        changed("cut off in its table", .format) { $0.editFile = { $0.removeSubrange(100...) } },
        changed("a header of ten bytes", .format) { $0.editFile = { $0[4..<6] = [0, 10] } },
        changed("a header of 60000 bytes", .format) { $0.editFile = { $0[4..<6] = [0xEA, 0x60] } },
        changed("a table of 2^63 bytes", .table) { $0.editFile = { $0[8] = 0x80 } },
        changed("an unpacked table of 2^62 bytes", .table) { $0.editFile = { $0[16] = 0x40 } },
        changed("an empty table", .table) {
            $0.editFile = { $0.replaceSubrange(8..<16, with: Array(repeating: 0, count: 8)) }
        },
        changed("a table longer than the header says", .table) { $0.unpackedTableLength = 300 },
        changed("a table shorter than the header says", .table) { $0.unpackedTableLength = 30_000 },
        changed("a table of 60 MiB of spaces that says 1000 bytes", .table) {
            $0.unpackedTableLength = 1000
            $0.editTable = { $0 = XarForge.zlib([UInt8](repeating: 0x20, count: 60 << 20)) }
        },
        changed("a table of spaces alone", .table) {
            $0.unpackedTableLength = 1 << 20
            $0.editTable = { $0 = XarForge.zlib([UInt8](repeating: 0x20, count: 1 << 20)) }
        },
        changed("a table that is no zlib", .table) { $0.editTable = { $0[0] = 0xFF } },
        changed("a table with bytes after its end", .table) { $0.editTable = { $0 += [1, 2, 3] } },
        changed("XML that is not closed", .table) { $0.editXML = { $0 = String($0.prefix($0.count - 20)) } },
        changed("XML closed in the wrong order", .table) {
            $0.editXML = { $0 = $0.replacing("</toc></xar>", with: "</xar></toc>") }
        },
        changed("another document than a table", .table) { $0.editXML = { $0 = "<html><toc></toc></html>" } },
        changed("two tables", .table) { $0.editXML = { $0 = $0.replacing("</toc>", with: "</toc><toc></toc>") } },
        changed("entities that grow", .table) {
            $0.editXML = {
                let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]>"
                $0 = $0.replacing("<xar>", with: bomb + "<xar>").replacing("a.txt", with: "&b;")
            }
        },
        changed("an entity of another file", .table) {
            $0.editXML = {
                $0 = $0.replacing("<xar>", with: "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><xar>")
            }
        },
        changed("an entity that nobody declared", .table) {
            $0.editXML = { $0 = $0.replacing("a.txt", with: "a&unheard;.txt") }
        },
        changed("a table in UTF-16", .table) {
            $0.editXML = { $0 = String($0.flatMap { [$0, "\u{0}"] }) }
        },
        BadPackage("elements a hundred thousand deep", .entries) {
            var forge = XarForge.content()
            forge.editXML = { $0 = "<xar><toc>" + String(repeating: "<a>", count: 100_000) }
            return forge.package()
        },
        BadPackage("folders a hundred deep", .entries) {
            var member = XarForge.Member.file("a", "a")
            for _ in 0..<100 { member = .folder("a", [member]) }
            return XarForge.content([member]).package()
        },
        BadPackage("more files than are read", .entries) {
            let file = "<file id=\"9\"><name>a</name><type>file</type></file>"
            var forge = XarForge.content()
            forge.editXML = { $0 = $0.replacing("</toc>", with: String(repeating: file, count: 50_001) + "</toc>") }
            return forge.package()
        },
        changed("a file without a name", .table) {
            $0.editXML = { $0 = $0.replacing("<name>a.txt</name>", with: "") }
        },
        changed("a file with two names", .table) {
            $0.editXML = { $0 = $0.replacing("<name>a.txt</name>", with: "<name>a</name><name>b</name>") }
        },
        file("data twice", .table) { $0.extra = "<data><length>0</length><offset>0</offset><size>0</size></data>" },
        file("data without an offset", .table) {
            $0.contents = nil
            $0.extra = "<data><length>0</length><size>0</size></data>"
        },
        file("a length of twenty nines", .table) { $0.data["length"] = "99999999999999999999" },
        file("a negative offset", .table) { $0.data["offset"] = "-5" },
        file("a size in words", .table) { $0.data["size"] = "many" },
        file("a mode that is not octal", .table) { $0.mode = "rw-r--r--" },
        file("a mode of thirty digits", .table) { $0.mode = String(repeating: "7", count: 30) },
        changed("a kind of sum that nobody knows", .table) {
            $0.editXML = {
                $0 = $0.replacing("<extracted-checksum style=\"sha256\">", with: "<extracted-checksum style=\"crc\">")
            }
        },
        file("half a sum", .table) { $0.data["archived"] = "abcdef" },
        with("a hard link to a file that is not there", .table) {
            [XarForge.Member(name: "b", type: "hardlink", typeAttributes: " link=\"999\"")]
        },
    ]
}
