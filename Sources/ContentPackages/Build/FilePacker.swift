import Crypto
import Foundation

/// Packs files into the heap. Several threads pack the blocks, which are written in order; a few blocks are in progress
/// at a time.
struct FilePacker: ~Copyable {
    private static let blockSize = 1 << 19
    /// The size of the samples that show whether a large file gets smaller.
    private static let sampleSize = 1 << 16
    private static let underWay = 2 * Threads.count + 2

    /// A step of the writing, in order.
    private enum Step {
        case block(PackingJob, isFirst: Bool, isLast: Bool)
        /// A whole file, stored unpacked.
        case raw
        /// A file without bytes.
        case empty
    }

    /// A file that is being written.
    private struct Current {
        var size: Int64 = 0
        var adler: UInt = 1
        var sum = SHA256()
    }

    private let root: String
    private let infoBytes: [UInt8]?
    private let isCancelled: () -> Bool
    private let progress: (Int64) -> Void
    private var heap: HeapWriter
    private let threads: PackingThreads
    private let sampler: Deflater
    /// The files in the order in which they are written. A file of several blocks occurs once for each block.
    private var steps: [(path: String, step: Step)] = []
    private var stored: [XarTableWriter.Stored?] = []
    private var current = Current()
    private var done: Int64 = 0

    /// - Parameters:
    ///   - heap: the path of the temporary file for the heap.
    ///   - infoBytes: the contents of `ContentInfo.plist`; nil for the folder's own file.
    init(
        root: String, heap: String, infoBytes: [UInt8]?, isCancelled: @escaping () -> Bool,
        progress: @escaping (Int64) -> Void
    ) throws {
        // Everything that may fail comes first.
        let sampler = try Deflater()
        unlink(heap)
        let writer = try HeapWriter(heap, base: ChecksumStyle.sha256.length)
        self.sampler = sampler
        self.heap = writer
        threads = PackingThreads(Threads.count)
        self.root = root
        self.infoBytes = infoBytes
        self.isCancelled = isCancelled
        self.progress = progress
    }

    deinit { threads.close() }

    /// Packs the files, and returns their locations in the same order.
    mutating func pack(_ paths: [String]) throws -> [XarTableWriter.Stored?] {
        for path in paths {
            if isCancelled() { throw ContentPackageError.cancelled }
            try begin(path)
        }
        while !steps.isEmpty { try writeNext() }
        try heap.flush()
        return stored
    }

    /// Reads everything that was written, in pieces.
    func readHeap(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < heap.length {
            let count = try heap.file.read(into: buffer, at: offset)
            guard count > 0 else {
                throw ContentPackageError(.unreadable, "The temporary file with the packed files cannot be read.")
            }
            try body(UnsafeRawBufferPointer(rebasing: buffer[0..<count]))
            offset += Int64(count)
        }
    }

    // MARK: Ahead: reading and handing out blocks

    private mutating func begin(_ path: String) throws {
        if let infoBytes, path == ContentInfo.fileName {
            try add(path, .block(job(infoBytes, [], isLast: true), isFirst: true, isLast: true))
            return
        }
        let file = try ReadableFile(root + "/" + path, followsLink: false)
        guard try file.length <= Self.blockSize || getsSmaller(file) else { return try add(path, .raw) }
        var offset: Int64 = 0
        var tail: [UInt8] = []
        var block = try file.read(Self.blockSize, at: 0)
        guard !block.isEmpty else { return try add(path, .empty) }
        while !block.isEmpty {
            if isCancelled() { throw ContentPackageError.cancelled }
            let isFirst = offset == 0
            offset += Int64(block.count)
            // The next block is read first, so that the last one is detected without relying on the stated size.
            let next = block.count == Self.blockSize ? try file.read(Self.blockSize, at: offset) : []
            try add(path, .block(job(block, tail, isLast: next.isEmpty), isFirst: isFirst, isLast: next.isEmpty))
            tail = Array(block.suffix(Deflater.window))
            block = next
        }
    }

    private func job(_ block: [UInt8], _ dictionary: [UInt8], isLast: Bool) -> PackingJob {
        let job = PackingJob(block: block, dictionary: dictionary, isLast: isLast)
        threads.submit(job)
        return job
    }

    private mutating func add(_ path: String, _ step: Step) throws {
        steps.append((path, step))
        if steps.count >= Self.underWay { try writeNext() }
    }

    /// Whether the file's beginning, middle or end gets at least a fiftieth smaller.
    private func getsSmaller(_ file: ReadableFile) throws -> Bool {
        let last = file.length - Int64(Self.sampleSize)
        for place in [0, last / 2, last] {
            let sample = try file.read(Self.sampleSize, at: place)
            let packed = try sampler.pack(sample, dictionary: [], isLast: true)
            if packed.count * 50 < sample.count * 49 { return true }
        }
        return false
    }

    // MARK: Behind: writing in order

    private mutating func writeNext() throws {
        let (path, step) = steps.removeFirst()
        switch step {
        case .empty: stored.append(nil)
        case .raw: try writeRaw(path)
        case .block(let job, let isFirst, let isLast):
            let packed = try job.packed()
            if isFirst {
                current = Current()
                heap.begin()
                try heap.write(Deflater.streamHeader)
            }
            job.block.withUnsafeBytes { current.sum.update(bufferPointer: $0) }
            current.size += Int64(job.block.count)
            current.adler = Deflater.adler(current.adler, packed.adler, secondLength: job.block.count)
            try heap.write(packed.bytes)
            report(job.block.count)
            guard isLast else { return }
            try heap.write(withUnsafeBytes(of: UInt32(truncatingIfNeeded: current.adler).bigEndian) { Array($0) })
            try end(path, isFirst ? job.block : nil)
        }
    }

    /// - Parameter whole: the whole file, when it was one block.
    private mutating func end(_ path: String, _ whole: [UInt8]?) throws {
        let (offset, length, sum) = heap.written()
        guard length >= current.size else {
            stored.append(
                XarTableWriter.Stored(
                    offset: offset, length: length, size: current.size, isPacked: true, archived: sum,
                    extracted: Array(current.sum.finalize())))
            return
        }
        try heap.goBack()
        done -= current.size
        if let whole {
            try heap.write(whole)
            report(whole.count)
            endRaw()
        } else {
            try writeRaw(path)
        }
    }

    private mutating func writeRaw(_ path: String) throws {
        heap.begin()
        let file = try ReadableFile(root + "/" + path, followsLink: false)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockSize, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while case let count = try file.read(into: buffer, at: offset), count > 0 {
            if isCancelled() { throw ContentPackageError.cancelled }
            try heap.write(UnsafeRawBufferPointer(rebasing: buffer[0..<count]))
            offset += Int64(count)
            report(count)
        }
        endRaw()
    }

    private mutating func endRaw() {
        let (offset, length, sum) = heap.written()
        stored.append(
            XarTableWriter.Stored(
                offset: offset, length: length, size: length, isPacked: false, archived: sum, extracted: sum))
    }

    private mutating func report(_ count: Int) {
        done += Int64(count)
        progress(done)
    }
}
