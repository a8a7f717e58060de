import CZlib
import Crypto
import Foundation

/// Makes xar archives by hand, good ones and such as no tool would write. It shares no code with the builder.
struct XarForge {
    struct Member {
        var name: String
        var type = "file"
        /// Attributes of the `type` element, such as ` link="3"`.
        var typeAttributes = ""
        var nameAttributes = ""
        var mode: String? = "0644"
        var target: String?
        var contents: [UInt8]?
        var isPacked = true
        var children: [Member] = []
        /// More elements in the `file` element.
        var extra = ""
        /// Replaces parts of the `data` element: `length`, `offset`, `size`, `encoding`, `archived`, `extracted`.
        var data: [String: String] = [:]
        /// Changes the packed bytes before sums are made over them.
        var editPacked: (inout [UInt8]) -> Void = { _ in }

        static func folder(_ name: String, _ children: [Member]) -> Member {
            Member(name: name, type: "directory", mode: "0755", children: children)
        }

        static func file(_ name: String, _ text: String) -> Member { Member(name: name, contents: Array(text.utf8)) }

        static func link(_ name: String, to target: String) -> Member {
            Member(name: name, type: "symlink", target: target)
        }
    }

    static let product = "com.example.app.chapter"

    var members: [Member] = []
    /// Of all sums; `sha1` and others of old archives.
    var style = "sha256"
    /// The number in the header.
    var headerStyle: UInt32 = 3
    /// The name after the header.
    var headerName: [UInt8] = []
    var editXML: (inout String) -> Void = { _ in }
    /// Changes the packed table before its sum is made.
    var editTable: (inout [UInt8]) -> Void = { _ in }
    /// Changes the finished file.
    var editFile: (inout [UInt8]) -> Void = { _ in }
    /// What the header says of the unpacked table; nil for the truth.
    var unpackedTableLength: UInt64?
    var hasTableChecksum = true

    static func info(product: String = product, version: String = "1.0", more: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict><key>ContentVersion</key><string>\(version)</string>
        <key>IAPProductIdentifier</key><string>\(product)</string>\(more)</dict></plist>
        """
    }

    /// Good content: the plist, and a file of text in `Contents` beside what is given.
    static func content(_ more: [Member] = [], info: String = info()) -> XarForge {
        XarForge(members: [
            .file("ContentInfo.plist", info),
            .folder("Contents", [.file("a.txt", String(repeating: "Chapter one. ", count: 50))] + more),
        ])
    }

    /// The archive.
    func package() -> [UInt8] {
        var heap: [UInt8] = hasTableChecksum ? [UInt8](repeating: 0, count: sum([]).count) : []
        var id = 0
        var body = ""
        for member in members { body += xml(member, &heap, &id) }
        let checksum =
            hasTableChecksum
            ? "<checksum style=\"\(style)\"><offset>0</offset><size>\(sum([]).count)</size></checksum>" : ""
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xar><toc>\(checksum)\(body)</toc></xar>\n"
        editXML(&text)
        var table = Self.zlib(Array(text.utf8))
        editTable(&table)
        if hasTableChecksum { heap.replaceSubrange(0..<sum([]).count, with: sum(table)) }
        var file: [UInt8] = Array("xar!".utf8)
        file += Self.bigEndian(UInt16(28 + headerName.count)) + Self.bigEndian(UInt16(1))
        file += Self.bigEndian(UInt64(table.count)) + Self.bigEndian(unpackedTableLength ?? UInt64(text.utf8.count))
        file += Self.bigEndian(headerStyle) + headerName + table + heap
        editFile(&file)
        return file
    }

    private func xml(_ member: Member, _ heap: inout [UInt8], _ id: inout Int) -> String {
        id += 1
        var text = "<file id=\"\(id)\"><name\(member.nameAttributes)>\(member.name)</name>"
        text += "<type\(member.typeAttributes)>\(member.type)</type>"
        if let mode = member.mode { text += "<mode>\(mode)</mode>" }
        if let target = member.target { text += "<link type=\"broken\">\(target)</link>" }
        text += member.extra
        if let contents = member.contents { text += data(member, contents, &heap) }
        for child in member.children { text += xml(child, &heap, &id) }
        return text + "</file>"
    }

    private func data(_ member: Member, _ contents: [UInt8], _ heap: inout [UInt8]) -> String {
        var packed = member.isPacked ? Self.zlib(contents) : contents
        member.editPacked(&packed)
        let offset = heap.count
        heap += packed
        func part(_ name: String, _ value: String) -> String { member.data[name] ?? value }
        let encoding = part("encoding", member.isPacked ? "application/x-gzip" : "application/octet-stream")
        return """
            <data><length>\(part("length", String(packed.count)))</length><offset>\(part("offset", String(offset)))</offset>\
            <size>\(part("size", String(contents.count)))</size><encoding style="\(encoding)"/>\
            <archived-checksum style="\(style)">\(part("archived", Self.hex(sum(packed))))</archived-checksum>\
            <extracted-checksum style="\(style)">\(part("extracted", Self.hex(sum(contents))))</extracted-checksum></data>
            """
    }

    private func sum(_ bytes: [UInt8]) -> [UInt8] {
        switch style.lowercased() {
        case "md5": Array(Insecure.MD5.hash(data: bytes))
        case "sha1": Array(Insecure.SHA1.hash(data: bytes))
        case "sha512", "sha-512": Array(SHA512.hash(data: bytes))
        case "none": []
        default: Array(SHA256.hash(data: bytes))
        }
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// A zlib stream (RFC 1950).
    static func zlib(_ bytes: [UInt8]) -> [UInt8] { deflated(bytes, windowBits: MAX_WBITS) }

    /// A gzip file (RFC 1952).
    static func gzip(_ bytes: [UInt8]) -> [UInt8] { deflated(bytes, windowBits: MAX_WBITS + 16) }

    private static func deflated(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = z_stream()
        deflateInit2_(
            &stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        var input = bytes
        let bound = Int(deflateBound(&stream, UInt(bytes.count))) + 64
        var output = [UInt8](repeating: 0, count: bound)
        let produced = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                deflate(&stream, Z_FINISH)
                return target.count - Int(stream.avail_out)
            }
        }
        deflateEnd(&stream)
        return Array(output[..<produced])
    }
}
