import Foundation

/// Makes the cpio payload of a component, and the product archive around it, as `productbuild --content` lays them out.
struct CpioForge {
    struct Entry {
        var path: String
        var mode: Int
        var contents: [UInt8] = []
        /// What the header says of the size; nil for the truth.
        var size: Int?
        /// What the header says of the name's size; nil for the truth.
        var nameSize: Int?

        static func folder(_ path: String) -> Entry { Entry(path: path, mode: 0o40755) }
        static func file(_ path: String, _ text: String, mode: Int = 0o100644) -> Entry {
            Entry(path: path, mode: mode, contents: Array(text.utf8))
        }
    }

    /// Whether with the hexadecimal headers (`070701`) in place of the octal ones (`070707`).
    var isNew = false
    var entries: [Entry]
    var hasTrailer = true
    var editArchive: (inout [UInt8]) -> Void = { _ in }
    var editPayload: (inout [UInt8]) -> Void = { _ in }

    /// Good content.
    static func content(_ more: [Entry] = []) -> CpioForge {
        CpioForge(
            entries: [
                .folder("."), .file("./ContentInfo.plist", XarForge.info()), .folder("./Contents"),
                .file("./Contents/a.txt", String(repeating: "Chapter one. ", count: 50)),
            ] + more)
    }

    /// The gzip'd archive.
    func payload() -> [UInt8] {
        var archive: [UInt8] = []
        for entry in entries { archive += bytes(entry) }
        if hasTrailer { archive += bytes(Entry(path: "TRAILER!!!", mode: 0)) }
        editArchive(&archive)
        var payload = XarForge.gzip(archive)
        editPayload(&payload)
        return payload
    }

    private func bytes(_ entry: Entry) -> [UInt8] {
        let size = entry.size ?? entry.contents.count
        let nameSize = entry.nameSize ?? entry.path.utf8.count + 1
        let name = Array(entry.path.utf8) + [0]
        guard isNew else {
            let header =
                "070707" + octal(1, 6) + octal(1, 6) + octal(entry.mode, 6) + octal(0, 6) + octal(0, 6) + octal(1, 6)
                + octal(0, 6) + octal(0, 11) + octal(nameSize, 6) + octal(size, 11)
            return Array(header.utf8) + name + entry.contents
        }
        let numbers = [1, entry.mode, 0, 0, 1, 0, size, 0, 0, 0, 0, nameSize, 0]
        let header = "070701" + numbers.map { String(format: "%08X", $0) }.joined()
        func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4) }
        return padded(Array(header.utf8) + name) + padded(entry.contents)
    }

    private func octal(_ number: Int, _ digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.count)) + text.suffix(digits)
    }

    /// The component's members.
    func component(scripts: Bool = false) -> [XarForge.Member] {
        [
            .file("PackageInfo", "<pkg-info format-version=\"2\" identifier=\"\(XarForge.product)\" version=\"0\"/>"),
            .file("Bom", "BOMStore"), XarForge.Member(name: "Payload", contents: payload(), isPacked: false),
        ] + (scripts ? [.file("Scripts", "070707")] : [])
    }

    /// A product archive with the component in its folder.
    func product(scripts: Bool = false) -> XarForge {
        XarForge(members: [
            .file("Distribution", "<installer-gui-script minSpecVersion=\"1\"/>"),
            .folder("\(XarForge.product).pkg", component(scripts: scripts)),
        ])
    }
}
