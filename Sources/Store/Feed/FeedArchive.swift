import Foundation

/// An archive of a feed: tables in a tar (POSIX ustar) that is compressed with bzip2, and its MD5 beside it.
struct FeedArchive: Sendable {
    /// The archive's path in the feed's folder, such as `v5/itunes20260107/application.tbz`.
    var path: String
    /// The names in the archive and their tables. There is no entry for a folder: some readers take the first entry for
    /// the table.
    var members: [(name: String, table: FeedTableFile)]

    /// The bytes before compression, by which work is shared out.
    var length: Int64 { members.reduce(0) { $0 + $1.table.length } }

    /// Writes the archive and its MD5 file.
    /// - Parameters:
    ///   - folder: the feed's folder, which has the archive's folder.
    ///   - isStopped: whether to give up.
    /// - Returns: the two files.
    func write(into folder: URL, day: FeedDay, isStopped: () throws -> Void) throws -> [FeedManifest.File] {
        let url = folder.appendingPathComponent(path)
        let file = try BZip2File(url.path)
        for member in members {
            try file.write(Self.header(member.name, length: member.table.length, day))
            try member.table.read { bytes in
                try isStopped()
                try file.write(bytes)
            }
            let padding = Int(-member.table.length & 511)
            if padding > 0 { try file.write([UInt8](repeating: 0, count: padding)) }
        }
        try file.write([UInt8](repeating: 0, count: 1024))
        let (length, md5) = try file.finish()
        let sum = Array("MD5 (\(url.lastPathComponent)) = \(md5)\n".utf8)
        try FeedFile.write(sum, to: url.path + ".md5")
        return [
            FeedManifest.File(path: path, length: length, tag: md5),
            FeedManifest.File(path: path + ".md5", length: Int64(sum.count), tag: md5 + "-md5"),
        ]
    }

    /// A header of 512 bytes (POSIX.1-1988, ustar). The time is the feed's day.
    static func header(_ name: String, length: Int64, _ day: FeedDay) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, at offset: Int) {
            for (index, byte) in text.utf8.enumerated() { header[offset + index] = byte }
        }
        func octal(_ number: Int64, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
        }
        put(String(name.prefix(99)), at: 0)
        put("0000644", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        if length < 1 << 33 {
            put(octal(length, 11), at: 124)
        } else {
            // GNU tar's form for more than 8 GiB, which other programs read as well: the number itself, big-endian.
            header[124] = 0x80
            for index in 0..<8 { header[135 - index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
        }
        put(octal(max(0, day.milliseconds / 1000), 11), at: 136)
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        let sum = header.reduce(0) { $0 + Int64($1) }
        put(octal(sum, 6), at: 148)
        header[154] = 0
        return header
    }
}
