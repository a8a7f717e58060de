import ContentPackages
import Foundation

extension BadPackage {
    /// Lying offsets, lengths and sums, and bytes that do not unpack.
    static let sums: [BadPackage] = [
        changed("the table's sum is another", .checksum) {
            $0.editFile = { file in file[Self.heapStart(file)] ^= 1 }
        },
        changed("the table was changed after it was summed", .checksum) {
            $0.editTable = { _ in }
            $0.editFile = { file in
                // The header's copy of zlib's level does not change what unpacks, only the sum.
                file[29] = 0x01
            }
        },
        changed("the table's sum is outside of the file", .range) {
            $0.editXML = {
                $0 = $0.replacing("<offset>0</offset><size>32</size>", with: "<offset>9999999</offset><size>32</size>")
            }
        },
        changed("the table's sum has no length", .range) {
            $0.editXML = {
                $0 = $0.replacing("<offset>0</offset><size>32</size>", with: "<offset>0</offset><size>0</size>")
            }
        },
        changed("the table does not say where its sum is", .table) {
            $0.editXML = {
                $0 = $0.replacing("<checksum style=\"sha256\"><offset>0</offset><size>32</size></checksum>", with: "")
            }
        },
        changed("the last byte of a file is another", .checksum) { $0.editFile = { $0[$0.count - 1] ^= 0x10 } },
        changed("the end is cut off", .range) { $0.editFile = { $0.removeLast(10) } },
        file("another sum over the packed bytes", .checksum) {
            $0.data["archived"] = String(repeating: "0", count: 64)
        },
        file("another sum over the bytes", .checksum) { $0.data["extracted"] = String(repeating: "0", count: 64) },
        file("another sum of a file stored as it is", .checksum) {
            $0.isPacked = false
            $0.data["extracted"] = String(repeating: "0", count: 64)
        },
        file("an offset beyond the end", .range) { $0.data["offset"] = "100000" },
        file("a length beyond the end", .range) { $0.data["length"] = "100000" },
        file("offset and length that overflow", .range) { $0.data["offset"] = String(Int64.max) },
        file("a length of the largest number", .range) { $0.data["length"] = String(Int64.max) },
        file("a part of another file", .overlap) {
            $0.data["offset"] = "40"
            $0.data["length"] = "20"
        },
        file("the table's own sum as its bytes", .overlap) {
            $0.isPacked = false
            $0.data = ["offset": "8", "length": "10", "size": "10"]
        },
        file("more bytes than its size", .length) { $0.data["size"] = "100" },
        file("fewer bytes than its size", .length) { $0.data["size"] = "100000" },
        file("stored as it is, with two lengths", .length) {
            $0.isPacked = false
            $0.data["size"] = "499"
        },
        file("packed bytes that are noise", .data) {
            $0.editPacked = { bytes in for index in 2..<bytes.count { bytes[index] = 0xFF } }
        },
        file("packed bytes cut off before they were summed", .data) { $0.editPacked = { $0.removeLast(6) } },
        file("bytes after the packed ones", .data) { $0.editPacked = { $0 += [1, 2, 3, 4] } },
        file("packed with a sum of zlib's that is wrong", .data) { $0.editPacked = { $0[$0.count - 1] ^= 1 } },
        file("packed with bzip2", .encoding) { $0.data["encoding"] = "application/x-bzip2" },
        file("packed with what nobody knows", .encoding) { $0.data["encoding"] = "application/x-unheard" },
        file("three thousand million bytes by its own account", .size) { $0.data["size"] = "3000000000" },
        BadPackage("two thousand million bytes and one", .size, length: 2_000_000_001) {
            XarForge.content().package()
        },
        file("150 MB of nothing", .bomb) { $0.data["size"] = "150000000" },
        BadPackage("the same megabyte a hundred and fifty times", .bomb) {
            var forge = XarForge.content([
                XarForge.Member(name: "b", contents: [UInt8](repeating: 0, count: 1 << 20))
            ])
            let member = "<file id=\"50\"><name>x</name><type link=\"4\">hardlink</type></file>"
            forge.editXML = {
                let copies = (0..<150).map { member.replacing("x</name>", with: "x\($0)</name>") }.joined()
                $0 = $0.replacing("</file></toc>", with: copies + "</file></toc>")
            }
            return forge.package()
        },
        BadPackage("the same packed bytes ten times", .overlap, limits: smallLimits) {
            var member = XarForge.Member(name: "b", contents: [65])
            member.editPacked = { $0 += [UInt8](repeating: 0, count: 30_000) }
            var forge = XarForge.content([member])
            let link = "<file id=\"50\"><name>x</name><type link=\"4\">hardlink</type></file>"
            forge.editXML = {
                let copies = (0..<9).map { link.replacing("x</name>", with: "x\($0)</name>") }.joined()
                $0 = $0.replacing("</file></toc>", with: copies + "</file></toc>")
            }
            return forge.package()
        },
    ]

    private static let smallLimits: ContentLimits = {
        var limits = ContentLimits()
        limits.packedBytes = 100_000
        limits.unpackedBytes = 100_000
        return limits
    }()

    static func heapStart(_ file: [UInt8]) -> Int { 28 + file[8..<16].reduce(0) { $0 << 8 | Int($1) } }
}
