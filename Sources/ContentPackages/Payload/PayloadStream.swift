import Foundation

/// The cpio archive in a component's `Payload`, unpacked from the xar member and its gzip.
final class PayloadStream {
    private static let outputSize = 1 << 18

    private enum Packing {
        case unknown
        case none
        case gzip(Inflater)
        case ended
    }

    private let member: XarMemberReader
    private let path: String
    private var packing = Packing.unknown
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: outputSize, alignment: 16)
    /// The packed bytes that have not been unpacked yet.
    private var packed = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The unpacked bytes that have not been read yet.
    private var rest = UnsafeRawBufferPointer(start: nil, count: 0)

    init(_ archive: XarArchive, _ data: XarData, path: String) throws {
        member = XarMemberReader(archive, checksEverything: true)
        self.path = path
        try member.begin(data, path: path)
    }

    deinit { output.deallocate() }

    /// The next bytes, at most `limit`, valid until the next call; nil at the end.
    func next(atMost limit: Int) throws -> UnsafeRawBufferPointer? {
        while rest.isEmpty {
            guard let bytes = try more() else { return nil }
            rest = bytes
        }
        let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(limit))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken.count))
        return taken
    }

    /// Reads exactly `count` bytes.
    /// - Throws: ``ContentPackageError`` when the payload ends earlier.
    func take(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            guard let more = try next(atMost: count - bytes.count) else { throw damaged("The payload ends too early.") }
            bytes += more
        }
        return bytes
    }

    func damaged(_ message: String) -> ContentPackageError { .damaged(.payload, path: path, message) }

    private func more() throws -> UnsafeRawBufferPointer? {
        switch packing {
        case .unknown:
            try begin()
            return try more()
        case .none:
            defer { packed = UnsafeRawBufferPointer(start: nil, count: 0) }
            return try !packed.isEmpty || refill() ? packed : nil
        case .gzip(let inflater): return try unpack(inflater)
        case .ended: return nil
        }
    }

    /// Detects the compression of the payload.
    private func begin() throws {
        packing = .none
        guard try refill() else { return }
        if packed.starts(with: Self.gzipMagic) {
            packing = .gzip(try Inflater(.gzip))
        } else if let other = Self.others.first(where: { packed.starts(with: $0.magic) }) {
            throw ContentPackageError(refused: [
                ContentFinding(
                    .encoding, path: path,
                    "The payload is packed with \(other.name), which is not supported. Only gzip is.",
                    "Build the package with cornerstore content build, or with productbuild --content.")
            ])
        }
    }

    /// The compressions that other tools use for payloads, and their first bytes.
    private static let others: [(name: String, magic: [UInt8])] = [
        ("bzip2", Array("BZh".utf8)), ("xz", [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]), ("pbzx", Array("pbzx".utf8)),
        ("lzma", [0x5D, 0x00, 0x00]), ("zstd", [0x28, 0xB5, 0x2F, 0xFD]),
    ]

    private static let gzipMagic: [UInt8] = [0x1F, 0x8B]

    private func unpack(_ inflater: Inflater) throws -> UnsafeRawBufferPointer? {
        while true {
            let hasInput = try !packed.isEmpty || refill()
            let step: Inflater.Step
            do {
                step = try inflater.step(packed, into: output)
            } catch is Inflater.Damage {
                throw try damage("The payload's gzip is damaged.")
            }
            packed = UnsafeRawBufferPointer(rebasing: packed.dropFirst(step.consumed))
            if step.isAtEnd { try endMember(inflater) }
            if step.produced > 0 { return UnsafeRawBufferPointer(rebasing: output[0..<step.produced]) }
            if case .ended = packing { return nil }
            guard hasInput else { throw damaged("The payload's gzip ends too early.") }
        }
    }

    /// Another gzip member may follow, and nothing else.
    private func endMember(_ inflater: Inflater) throws {
        if try packed.isEmpty && !refill() {
            packing = .ended
        } else if packed.first == Self.gzipMagic.first {
            inflater.reset()
        } else {
            throw damaged("Bytes follow the end of the payload's gzip.")
        }
    }

    private func refill() throws -> Bool {
        guard let bytes = try member.next() else { return false }
        packed = bytes
        return true
    }

    /// The checksum of the member shows whether the payload was changed after it was made. It is complete at the
    /// member's end.
    private func damage(_ message: String) throws -> ContentPackageError {
        while try refill() {}
        return damaged(message)
    }
}
