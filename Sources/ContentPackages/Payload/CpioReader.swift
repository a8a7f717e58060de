/// Reads a cpio archive in the portable format of POSIX (`070707`, which productbuild writes) or the newer ones
/// (`070701`, `070702`).
final class CpioReader {
    struct Entry {
        /// The name without a leading `./`.
        var path: String
        var pathIsText: Bool
        /// The mode, including the bits of the file's kind.
        var mode: Int
        var size: Int64
    }

    private enum Format {
        case octal
        case hexadecimal
    }

    private static let trailer = "TRAILER!!!"
    /// The most bytes that may follow the end of the archive to fill a block.
    static let mostPadding = 1 << 16

    private let stream: PayloadStream
    private let limits: ContentLimits
    /// The unread bytes of the current entry, and the number of bytes that pad it.
    private var remaining: Int64 = 0
    private var padding = 0
    private var total: Int64 = 0
    private var count = 0

    init(_ stream: PayloadStream, limits: ContentLimits) {
        self.stream = stream
        self.limits = limits
    }

    /// Skips the rest of the current entry and reads the next one; nil at the end of the archive, after the whole
    /// payload has been read and verified.
    func next() throws -> Entry? {
        while try readChunk() != nil {}
        let magic = try stream.take(6)
        let entry =
            switch String(decoding: magic, as: UTF8.self) {
            case "070707": try entry(.octal)
            case "070701", "070702": try entry(.hexadecimal)
            default: throw stream.damaged("The payload is not a cpio archive, or is damaged.")
            }
        guard entry.path != Self.trailer else {
            try finish()
            return nil
        }
        count += 1
        guard count <= limits.entries else { throw ContentPackageError(refused: [.tooMany(limits)]) }
        guard entry.size <= limits.unpackedBytes - total else {
            throw ContentPackageError(refused: [.tooLarge(limits)])
        }
        total += entry.size
        return entry
    }

    /// The next bytes of the entry, valid until the next call; nil at its end.
    func readChunk() throws -> UnsafeRawBufferPointer? {
        guard remaining > 0 else {
            if padding > 0 { _ = try stream.take(padding) }
            padding = 0
            return nil
        }
        guard let bytes = try stream.next(atMost: Int(min(remaining, 1 << 18))) else {
            throw stream.damaged("The payload ends within a file.")
        }
        remaining -= Int64(bytes.count)
        return bytes
    }

    private func entry(_ format: Format) throws -> Entry {
        let mode: Int64
        let nameSize: Int64
        let size: Int64
        var namePadding = 0
        switch format {
        case .octal:
            // dev, ino, mode, uid, gid, nlink, rdev: 6 digits each; mtime 11, name's size 6, size 11.
            let fields = try stream.take(70)
            mode = try number(fields[12..<18], radix: 8)
            nameSize = try number(fields[53..<59], radix: 8)
            size = try number(fields[59..<70], radix: 8)
        case .hexadecimal:
            // ino, mode, uid, gid, nlink, mtime, size, dev (2), rdev (2), name's size, check: 8 digits each.
            let fields = try stream.take(104)
            mode = try number(fields[8..<16], radix: 16)
            size = try number(fields[48..<56], radix: 16)
            nameSize = try number(fields[88..<96], radix: 16)
            namePadding = Int((4 - (110 + nameSize) % 4) % 4)
        }
        guard (1...Int64(limits.pathBytes + 3)).contains(nameSize) else {
            throw stream.damaged("A name has \(nameSize) bytes, which is not a valid length.")
        }
        var name = try stream.take(Int(nameSize))[...]
        guard name.popLast() == 0 else { throw stream.damaged("A name does not end with a zero byte.") }
        if namePadding > 0 { _ = try stream.take(namePadding) }
        while name.starts(with: Array("./".utf8)) { name = name.dropFirst(2) }
        remaining = size
        padding = format == .hexadecimal ? Int((4 - size % 4) % 4) : 0
        return Entry(
            path: String(decoding: name, as: UTF8.self), pathIsText: String(validating: name, as: UTF8.self) != nil,
            mode: Int(mode), size: size)
    }

    private func number(_ digits: ArraySlice<UInt8>, radix: Int) throws -> Int64 {
        guard let number = Int64(String(decoding: digits, as: UTF8.self), radix: radix), number >= 0 else {
            throw stream.damaged("Invalid number in the header of a file.")
        }
        return number
    }

    private func finish() throws {
        remaining = 0
        padding = 0
        var filled = 0
        while let bytes = try stream.next(atMost: Self.mostPadding) {
            filled += bytes.count
            guard filled <= Self.mostPadding else { throw stream.damaged("Bytes follow the end of the archive.") }
        }
    }
}
