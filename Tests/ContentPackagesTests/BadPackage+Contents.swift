import ContentPackages
import Foundation

extension BadPackage {
    /// Trees that break a rule of hosted content.
    static let contents: [BadPackage] = [
        with("a path that goes up", .outsidePath) { [.folder("..", [.file("b", "b")])] },
        with("a name that goes up", .outsidePath) { [.file("../../../b", "b")] },
        with("a name that is absolute", .outsidePath) { [.file("/etc/b", "b")] },
        with("a name of nothing", .outsidePath) { [.file("", "b")] },
        with("a name of a full stop", .outsidePath) { [.file(".", "b")] },
        with("an absolute link", .outsideLink) { [.link("b", to: "/etc/passwd")] },
        with("a link up and out", .outsideLink) { [.link("b", to: "../../b")] },
        with("a link up through a name", .outsideLink) { [.link("b", to: "a/../../b")] },
        with("a link to nothing", .outsideLink) { [.link("b", to: "")] },
        with("the same name twice", .nameClash) { [.file("b", "1"), .file("b", "2")] },
        with("names that differ by case", .nameClash) { [.file("Bird", "1"), .file("bird", "2")] },
        with("names that differ by case beyond ASCII", .nameClash) { [.file("Ärger", "1"), .file("ärger", "2")] },
        with("names that differ by Unicode form", .nameClash) {
            [.file("caf\u{E9}", "1"), .file("cafe\u{301}", "2")]
        },
        with("folders that differ by case", .nameClash) {
            [.folder("B", [.file("x", "1")]), .folder("b", [.file("y", "2")])]
        },
        with("a name with a bell", .name) {
            [XarForge.Member(name: "Ygdi", nameAttributes: " enctype=\"base64\"", contents: [1])]
        },
        with("a name that is no UTF-8", .name) {
            [XarForge.Member(name: "Yv9i", nameAttributes: " enctype=\"base64\"", contents: [1])]
        },
        with("a name of 300 bytes", .name) { [.file(String(repeating: "b", count: 300), "b")] },
        with("a path of 2000 bytes", .name) {
            let name = String(repeating: "b", count: 250)
            return [(0..<8).reduce(XarForge.Member.file(name, "b")) { member, _ in .folder(name, [member]) }]
        },
        with("a name with a slash", .name) { [.file("sub/b", "b")] },
        with("a name with NUL", .name) {
            [XarForge.Member(name: "YgBk", nameAttributes: " enctype=\"base64\"", contents: [1])]
        },
        with("a folder named with two full stops", .outsidePath) { [.folder("..", [])] },
        with("a file in a link", .layout) {
            [XarForge.Member(name: "l", type: "symlink", target: "a.txt", children: [.file("b", "b")])]
        },
        with("a file far within a link", .layout) {
            let folder = XarForge.Member.folder("sub", [.file("evil", "b")])
            return [XarForge.Member(name: "l", type: "symlink", target: "a.txt", children: [folder])]
        },
        with("a file far within a file", .layout) {
            let folder = XarForge.Member.folder("sub", [.file("evil", "b")])
            return [XarForge.Member(name: "f", contents: [1], children: [folder])]
        },
        with("a file and a folder of one name", .nameClash) { [.file("b", "1"), .folder("b", [])] },
        with("a link and a folder whose names differ by case", .nameClash) {
            [.link("b", to: "a.txt"), .folder("B", [.file("x", "2")])]
        },
        with("a bundle whose first name begins with a combining mark", .codeBundle) {
            [.folder("Game.app", [.file("\u{301}x", "1")])]
        },
        with("a pipe", .specialFile) { [XarForge.Member(name: "b", type: "fifo")] },
        with("a socket", .specialFile) { [XarForge.Member(name: "b", type: "socket")] },
        with("a character device", .specialFile) { [XarForge.Member(name: "b", type: "character special")] },
        with("a block device", .specialFile) { [XarForge.Member(name: "b", type: "block special")] },
        with("what nobody knows", .specialFile) { [XarForge.Member(name: "b", type: "whiteout")] },
        file("setuid", .setuid) { $0.mode = "4644" },
        file("setgid", .setuid) { $0.mode = "2644" },
        file("sticky", .setuid) { $0.mode = "1644" },
        file("an executable bit", .executableBit) { $0.mode = "0755" },
        file("Mach-O", .executableCode, [0xCF, 0xFA, 0xED, 0xFE, 7, 0, 0, 1]) { _ in },
        file("Mach-O of 32 bits, big-endian", .executableCode, [0xFE, 0xED, 0xFA, 0xCE, 0, 0, 0, 7]) { _ in },
        file("Mach-O for several processors", .executableCode, [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 2]) { _ in },
        file("ELF", .executableCode, [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0]) { _ in },
        file("a program of Windows", .executableCode, portableExecutable) { _ in },
        file("a script", .executableCode, Array("#!/bin/sh\necho\n".utf8)) { _ in },
        file("a script after a byte order mark", .executableCode, [0xEF, 0xBB, 0xBF] + Array("#! /usr/bin/env x".utf8))
        {
            _ in
        },
        file("WebAssembly", .executableCode, [0, 0x61, 0x73, 0x6D, 1, 0, 0, 0]) { _ in },
        file("a program stored as it is", .executableCode, [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0]) {
            $0.isPacked = false
        },
        with("an app", .codeBundle) { [.folder("Game.app", [.file("Info.plist", "x")])] },
        with("a framework", .codeBundle) { [.folder("Game.framework", [])] },
        file("a library by its name", .codeBundle) { $0.name = "libgame.dylib" },
        BadPackage("an empty Contents", .empty) {
            XarForge(members: [.file("ContentInfo.plist", XarForge.info()), .folder("Contents", [])]).package()
        },
        BadPackage("no Contents", .empty) {
            XarForge(members: [.file("ContentInfo.plist", XarForge.info())]).package()
        },
        BadPackage("folders without a file", .empty) {
            XarForge(members: [
                .file("ContentInfo.plist", XarForge.info()), .folder("Contents", [.folder("a", [.folder("b", [])])]),
            ]).package()
        },
        changed("something else at the root", .layout) { $0.members.append(.file("Read me.txt", "x")) },
        BadPackage("a plist that is a folder", .layout) {
            var forge = XarForge.content()
            forge.members[0] = .folder("ContentInfo.plist", [])
            return forge.package()
        },
    ]

    private static let portableExecutable: [UInt8] =
        Array("MZ".utf8) + [UInt8](repeating: 0, count: 58) + [64, 0, 0, 0] + Array("PE\0\0".utf8)
}
