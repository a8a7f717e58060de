import CZlib
import CornerstoreEncoding

/// Writes the table of contents of a package, and packs it as it grows. Its bytes do not depend on the time, the place
/// or the user.
struct XarTableWriter: ~Copyable {
    /// The location of a file's bytes in the heap.
    struct Stored {
        var offset: Int64
        var length: Int64
        var size: Int64
        var isPacked: Bool
        var archived: [UInt8]
        var extracted: [UInt8]
    }

    /// The time of all files in a package: 2001-01-01, Apple's reference date.
    private static let time = "2001-01-01T00:00:00Z"

    private var text: [UInt8] = []
    private var blocks: [UInt8] = Deflater.streamHeader
    private var tail: [UInt8] = []
    private var adler: UInt = 1
    private var count = 0
    private let deflater: Deflater
    private var lastID = 0

    init() throws {
        deflater = try Deflater()
        put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xar>\n<toc>\n<creation-time>\(Self.time)</creation-time>\n")
        put("<checksum style=\"sha256\"><offset>0</offset><size>32</size></checksum>\n")
    }

    mutating func startFolder(_ name: String) throws {
        startFile(name, "directory", "0755")
        try packIfLarge()
    }

    mutating func endFolder() { put("</file>\n") }

    mutating func link(_ name: String, target: String) throws {
        startFile(name, "symlink", "0755")
        put("<link type=\"broken\">\(Self.escaped(target))</link></file>\n")
        try packIfLarge()
    }

    /// - Parameter stored: nil for an empty file.
    mutating func file(_ name: String, _ stored: Stored?) throws {
        startFile(name, "file", "0644")
        if let stored {
            let style = stored.isPacked ? "application/x-gzip" : "application/octet-stream"
            put("<data><length>\(stored.length)</length><offset>\(stored.offset)</offset><size>\(stored.size)</size>")
            put("<encoding style=\"\(style)\"/>")
            put("<archived-checksum style=\"sha256\">\(Hexadecimal.encoded(stored.archived))</archived-checksum>")
            put("<extracted-checksum style=\"sha256\">\(Hexadecimal.encoded(stored.extracted))</extracted-checksum>")
            put("</data>")
        }
        put("</file>\n")
        try packIfLarge()
    }

    /// The packed table, and its unpacked length.
    mutating func finish() throws -> (packed: [UInt8], unpackedLength: Int) {
        put("</toc>\n</xar>\n")
        try pack(isLast: true)
        blocks += withUnsafeBytes(of: UInt32(truncatingIfNeeded: adler).bigEndian) { Array($0) }
        return (blocks, count)
    }

    private mutating func startFile(_ name: String, _ type: String, _ mode: String) {
        lastID += 1
        put("<file id=\"\(lastID)\"><name>\(Self.escaped(name))</name><type>\(type)</type><mode>\(mode)</mode>")
        put("<uid>0</uid><user>root</user><gid>0</gid><group>wheel</group><mtime>\(Self.time)</mtime>")
    }

    private mutating func put(_ string: String) { text += Array(string.utf8) }

    private mutating func packIfLarge() throws {
        if text.count >= 1 << 18 { try pack(isLast: false) }
    }

    private mutating func pack(isLast: Bool) throws {
        blocks += try deflater.pack(text, dictionary: tail, isLast: isLast)
        adler = Deflater.adler(adler, Deflater.adler(text), secondLength: text.count)
        count += text.count
        tail = Array(text.suffix(Deflater.window))
        text.removeAll(keepingCapacity: true)
    }

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { [UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">")].contains($0) })
        else { return text }
        return text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
