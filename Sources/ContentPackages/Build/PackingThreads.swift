import Foundation
import Synchronization

/// A block of a file, which one of the threads packs.
final class PackingJob: Sendable {
    let block: [UInt8]
    fileprivate let dictionary: [UInt8]
    fileprivate let isLast: Bool
    private let outcome = Mutex<Result<Packed, any Error>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    struct Packed: Sendable {
        var bytes: [UInt8]
        var adler: UInt
    }

    /// - Parameters:
    ///   - dictionary: the last bytes before the block; empty for the first block of a file.
    ///   - isLast: whether the block is the last of the file.
    init(block: [UInt8], dictionary: [UInt8], isLast: Bool) {
        self.block = block
        self.dictionary = dictionary
        self.isLast = isLast
    }

    fileprivate func perform(_ deflater: Deflater) {
        let result = Result<Packed, any Error> {
            Packed(
                bytes: try deflater.pack(block, dictionary: dictionary, isLast: isLast), adler: Deflater.adler(block))
        }
        outcome.withLock { $0 = result }
        isDone.signal()
    }

    fileprivate func fail(_ error: any Error) {
        outcome.withLock { $0 = .failure(error) }
        isDone.signal()
    }

    /// Waits until the block is packed. Call it only once.
    func packed() throws -> Packed {
        isDone.wait()
        return try outcome.withLock { $0 }?.get() ?? Packed(bytes: [], adler: 1)
    }
}

/// Threads that pack blocks in the order of submission.
final class PackingThreads: Sendable {
    private struct State {
        var waiting: [PackingJob] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Signalled once for each job, and once for each thread at the end.
    private let work = DispatchSemaphore(value: 0)
    private let threads: Int

    init(_ threads: Int) {
        self.threads = threads
        _ = Threads.start(threads) { [self] in run() }
    }

    func submit(_ job: PackingJob) {
        state.withLock { $0.waiting.append(job) }
        work.signal()
    }

    /// Ends the threads and drops waiting jobs.
    func close() {
        state.withLock {
            $0.isClosed = true
            $0.waiting = []
        }
        for _ in 0..<threads { work.signal() }
    }

    private func run() {
        let deflater = Result { try Deflater() }
        while true {
            work.wait()
            let job = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            guard let job else {
                if state.withLock({ $0.isClosed }) { return }
                continue
            }
            switch deflater {
            case .success(let deflater): job.perform(deflater)
            case .failure(let error): job.fail(error)
            }
        }
    }
}
