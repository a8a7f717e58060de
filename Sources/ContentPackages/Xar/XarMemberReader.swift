import Foundation

/// Reads and unpacks the files of an archive one after another, and verifies lengths and checksums at the same time.
final class XarMemberReader {
    private static let inputSize = 1 << 17
    private static let outputSize = 1 << 18

    private let archive: XarArchive
    /// Whether to verify the checksum of the packed bytes even if there is one of the unpacked bytes.
    private let checksEverything: Bool
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: inputSize, alignment: 16)
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: outputSize, alignment: 16)
    private var inflater: Inflater?

    private var data = XarData(offset: 0, length: 0, size: 0, encoding: .raw)
    private var path = ""
    private var archivedSum = RunningChecksum.none
    private var extractedSum = RunningChecksum.none
    /// The number of packed bytes that were read from the file, and the range of those still in ``input``.
    private var taken: Int64 = 0
    private var waiting: Range<Int> = 0..<0
    private var produced: Int64 = 0
    private var isAtEnd = true

    init(_ archive: XarArchive, checksEverything: Bool) {
        self.archive = archive
        self.checksEverything = checksEverything
    }

    deinit {
        input.deallocate()
        output.deallocate()
    }

    /// Starts a file, whose range has been checked.
    func begin(_ data: XarData, path: String) throws {
        self.data = data
        self.path = path
        let checksArchived = checksEverything || (data.extracted ?? .none).style == .none
        archivedSum = RunningChecksum(checksArchived ? data.archived?.style ?? .none : .none)
        extractedSum = RunningChecksum(data.extracted?.style ?? .none)
        (taken, waiting, produced, isAtEnd) = (0, 0..<0, 0, false)
        if data.encoding == .zlib {
            if let inflater { inflater.reset() } else { inflater = try Inflater(.zlib) }
        }
    }

    /// The next unpacked bytes, valid until the next call; nil at the end of the file, after everything has been
    /// verified.
    /// - Throws: ``ContentPackageError`` with one finding when lengths, checksums or the packed bytes are wrong.
    func next() throws -> UnsafeRawBufferPointer? {
        guard !isAtEnd else { return nil }
        return data.encoding == .raw ? try nextRaw() : try nextUnpacked()
    }

    private func nextRaw() throws -> UnsafeRawBufferPointer? {
        guard try fill() else { return try finish() }
        let bytes = UnsafeRawBufferPointer(rebasing: input[waiting])
        waiting = 0..<0
        return try pass(bytes)
    }

    private func nextUnpacked() throws -> UnsafeRawBufferPointer? {
        guard let inflater else { return nil }
        while true {
            let hasInput = try !waiting.isEmpty || fill()
            let step: Inflater.Step
            do {
                step = try inflater.step(UnsafeRawBufferPointer(rebasing: input[waiting]), into: output)
            } catch is Inflater.Damage {
                throw try damage("The file's packed bytes are damaged.")
            }
            waiting = (waiting.lowerBound + step.consumed)..<waiting.upperBound
            if step.isAtEnd {
                guard waiting.isEmpty, taken == data.length else {
                    throw try damage("Bytes follow the end of the file's packed bytes.")
                }
                isAtEnd = true
            }
            if step.produced > 0 { return try pass(UnsafeRawBufferPointer(rebasing: output[0..<step.produced])) }
            if isAtEnd { return try finish() }
            guard hasInput else { throw try damage("The file's packed bytes end too early.") }
        }
    }

    /// Adds unpacked bytes to the count and the checksum.
    private func pass(_ bytes: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
        produced += Int64(bytes.count)
        guard produced <= data.size else {
            throw ContentPackageError.damaged(
                .length, path: path, "The file unpacks to more than the stated \(data.size) bytes.")
        }
        extractedSum.update(bytes)
        if isAtEnd {
            // The stream ended with these bytes, so all checksums are complete.
            _ = try finish()
        }
        return bytes
    }

    /// Reads packed bytes. Returns false when there are no more.
    private func fill() throws -> Bool {
        let count = Int(min(Int64(Self.inputSize), data.length - taken))
        guard count > 0 else { return false }
        let read = try archive.file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: input[0..<count]), at: archive.heapStart + data.offset + taken
        )
        guard read == count else {
            throw ContentPackageError.damaged(.range, path: path, "The package ends within the file.")
        }
        archivedSum.update(UnsafeRawBufferPointer(rebasing: input[0..<count]))
        taken += Int64(count)
        waiting = 0..<count
        return true
    }

    /// The reason why bytes cannot be unpacked. A checksum that does not match shows that they were changed after they
    /// were packed.
    private func damage(_ message: String) throws -> ContentPackageError {
        while try fill() {}
        if let archived = data.archived, archived.style != .none, case let sum = archivedSum.finish(), !sum.isEmpty,
            sum != archived.bytes
        {
            return .damaged(.checksum, path: path, "Its packed bytes do not match their checksum.")
        }
        return .damaged(.data, path: path, message)
    }

    private func finish() throws -> UnsafeRawBufferPointer? {
        isAtEnd = true
        if let archived = data.archived, case let sum = archivedSum.finish(), !sum.isEmpty, sum != archived.bytes {
            throw ContentPackageError.damaged(
                .checksum, path: path, "Its packed bytes do not match their checksum.")
        }
        guard produced == data.size else {
            throw ContentPackageError.damaged(
                .length, path: path, "The file unpacks to \(produced) bytes instead of \(data.size).")
        }
        if let extracted = data.extracted, extractedSum.finish() != extracted.bytes {
            throw ContentPackageError.damaged(.checksum, path: path, "The file does not match its checksum.")
        }
        return nil
    }
}
