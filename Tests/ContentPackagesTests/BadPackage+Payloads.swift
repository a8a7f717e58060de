import ContentPackages
import Foundation

extension BadPackage {
    /// Product archives.
    static let payloads: [BadPackage] = [
        BadPackage("installer scripts", .installerScript) {
            CpioForge.content().product(scripts: true).package()
        },
        BadPackage("two components", .layout) {
            var forge = CpioForge.content().product()
            forge.members.append(.folder("other.pkg", CpioForge.content().component()))
            return forge.package()
        },
        BadPackage("a payload that was changed later", .checksum) {
            var forge = CpioForge.content().product()
            forge.editFile = { $0[$0.count - 20] ^= 0xFF }
            return forge.package()
        },
        payload("a payload that is no gzip", .payload) { $0.editPayload = { $0 = Array("Hello, this is text.".utf8) } },
        payload("a payload in bzip2", .encoding) { $0.editPayload = { $0 = Array("BZh91AY".utf8) } },
        payload("a payload in pbzx", .encoding) { $0.editPayload = { $0 = Array("pbzx".utf8) + [0, 0, 0, 0] } },
        payload("a gzip that is damaged", .payload) {
            $0.editPayload = { for index in 12..<40 { $0[index] = 0xFF } }
        },
        payload("a gzip cut off", .payload) { $0.editPayload = { $0.removeLast(30) } },
        payload("bytes after the gzip", .payload) { $0.editPayload = { $0 += [7, 7, 7] } },
        payload("an archive cut off", .payload) { $0.editArchive = { $0.removeLast(200) } },
        payload("an archive without an end", .payload) { $0.hasTrailer = false },
        payload("a header that is none", .payload) { $0.editArchive = { $0[0] = 0x41 } },
        payload("a header with letters for a number", .payload) { $0.editArchive = { $0[20] = 0x7A } },
        payload("a payload name of nothing", .payload) {
            $0.entries.append(CpioForge.Entry(path: "b", mode: 0o100644, nameSize: 0))
        },
        payload("a name of 200000 bytes", .payload) {
            $0.entries.append(CpioForge.Entry(path: "b", mode: 0o100644, nameSize: 0o700000))
        },
        payload("a name that does not end", .payload) {
            $0.entries.append(CpioForge.Entry(path: "b", mode: 0o100644, nameSize: 1))
        },
        payload("a file longer than the archive", .payload) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/b", mode: 0o100644, size: 5000))
        },
        payload("a file of three thousand million bytes", .size) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/b", mode: 0o100644, size: 3_000_000_000))
        },
        BadPackage("a packed payload of three thousand million bytes by its own account", .size) {
            var forge = CpioForge.content().product()
            forge.members[1].children[2].isPacked = true
            forge.members[1].children[2].data["size"] = "3000000000"
            return forge.package()
        },
        payload("a hundred thousand bytes after the end", .payload) {
            $0.editArchive = { $0 += [UInt8](repeating: 0, count: 100_000) }
        },
        payload("a payload path that goes up", .outsidePath) {
            $0.entries.append(.file("./Contents/../../b", "b"))
        },
        payload("an absolute payload path", .outsidePath) { $0.entries.append(.file("/etc/b", "b")) },
        payload("a payload link out", .outsideLink) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/b", mode: 0o120777, contents: Array("/etc".utf8)))
        },
        payload("a payload device", .specialFile) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/b", mode: 0o60644))
        },
        payload("a payload program", .executableCode) {
            $0.entries.append(.file("./Contents/b", "#!/bin/sh\n"))
        },
        payload("a payload file that may be executed", .executableBit) {
            $0.entries.append(.file("./Contents/b", "b", mode: 0o100755))
        },
        payload("a payload without a plist", .infoMissing) { $0.entries.remove(at: 1) },
        payload("a payload file twice", .nameClash) { $0.entries.append(.file("./Contents/A.TXT", "b")) },
        payload("a payload file in a link", .layout) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/l", mode: 0o120777, contents: Array("a.txt".utf8)))
            $0.entries.append(.file("./Contents/l/b", "b"))
        },
        payload("a payload file far within a link", .layout) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/l", mode: 0o120777, contents: Array("a.txt".utf8)))
            $0.entries.append(.file("./Contents/l/sub/evil", "b"))
        },
        payload("a payload file far within a file", .layout) {
            $0.entries.append(.file("./Contents/a.txt/sub/evil", "b"))
        },
        payload("payload folders without entries that differ by case", .nameClash) {
            $0.entries.append(.file("./Contents/Birds/a", "1"))
            $0.entries.append(.file("./Contents/birds/b", "2"))
        },
        payload("a payload link and a folder without an entry that differ by case", .nameClash) {
            $0.entries.append(CpioForge.Entry(path: "./Contents/L", mode: 0o120777, contents: Array("a.txt".utf8)))
            $0.entries.append(.file("./Contents/l/b", "2"))
        },
        payload("a payload file that is the root", .outsidePath) {
            $0.entries.append(.file(".", "b"))
        },
        payload("a payload file without a name", .outsidePath) { $0.entries.append(.file("./", "b")) },
        payload("a payload path of empty names", .outsidePath) { $0.entries.append(.file("./Contents//b", "b")) },
        payload("a payload path with a full stop", .outsidePath) { $0.entries.append(.file("./Contents/./b", "b")) },
        payload("a payload name with NUL", .name) { $0.entries.append(.file("./Contents/b\0c", "b")) },
        payload("a payload bundle without an entry, and a combining mark", .codeBundle) {
            $0.entries.append(.file("./Contents/Game.app/\u{301}x", "1"))
        },
        payload("a payload file in a file", .layout) { $0.entries.append(.file("./Contents/a.txt/b", "b")) },
    ]
}
