import Foundation
import Synchronization
import TestSupport

/// A program at a terminal, with somebody who reads what it says and types.
// @unchecked: `heard` is a Mutex, and all else is constant; Foundation's Process is only asked for its ending.
final class PseudoTerminal: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private struct Heard {
        /// What was said and not yet waited for.
        var fresh: [UInt8] = []
        var all: [UInt8] = []
        var isOver = false
        var waiter: (text: [UInt8], continuation: CheckedContinuation<Bool, Never>)?

        /// Takes all up to the end of a text; nil while it was not said.
        mutating func take(_ text: [UInt8]) -> Bool? {
            guard let range = fresh.firstRange(of: text) else { return isOver ? false : nil }
            fresh.removeSubrange(..<range.upperBound)
            return true
        }
    }

    /// `TIOCSPTLCK` and `TIOCGPTN`, macros with a size in them, which Swift does not import.
    private static let lock: UInt = 0x4004_5431
    private static let numberOfOther: UInt = 0x8004_5430

    private let main: Int32
    private let process = Process()
    private let heard = Mutex(Heard())
    private let endings: AsyncStream<Int32>

    /// Starts the program with the terminal as its input, output and errors.
    init(_ program: URL, _ environment: [String: String]) throws {
        // Glibc's module has no posix_openpt; these are what it and its companions do (`man 4 pts`, `ioctl_tty`).
        main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (locked, number): (Int32, UInt32) = (0, 0)
        guard main >= 0, ioctl(main, Self.lock, &locked) == 0, ioctl(main, Self.numberOfOther, &number) == 0 else {
            throw Failure(description: "no terminal: \(String(cString: strerror(errno)))")
        }
        let side = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard side >= 0 else { throw Failure(description: "no terminal: \(String(cString: strerror(errno)))") }
        defer { close(side) }
        let handle = FileHandle(fileDescriptor: side, closeOnDealloc: false)
        process.executableURL = program
        process.environment = environment
        process.standardInput = handle
        process.standardOutput = handle
        process.standardError = handle
        let (endings, end) = AsyncStream.makeStream(of: Int32.self)
        self.endings = endings
        process.terminationHandler = {
            end.yield($0.terminationReason == .exit ? $0.terminationStatus : -$0.terminationStatus)
            end.finish()
        }
        ChildDescriptors.closeAll()
        try process.run()
        Thread { [self] in listen() }.start()
    }

    private func listen() {
        var part = [UInt8](repeating: 0, count: 1 << 12)
        while true {
            let count = read(main, &part, part.count)
            if count < 0, errno == EINTR { continue }
            // The terminal's other side is closed once the program has ended.
            let bytes = count > 0 ? part[..<count] : []
            let answered = heard.withLock { heard -> (CheckedContinuation<Bool, Never>, Bool)? in
                heard.fresh += bytes
                heard.all += bytes
                if bytes.isEmpty { heard.isOver = true }
                guard let waiter = heard.waiter, let answer = heard.take(waiter.text) else { return nil }
                heard.waiter = nil
                return (waiter.continuation, answer)
            }
            if let (continuation, answer) = answered { continuation.resume(returning: answer) }
            if bytes.isEmpty { return }
        }
    }

    /// Returns when the program has said `text` after all that was waited for before.
    ///
    /// - Throws: ``Failure`` when it ended without.
    func expect(_ text: String) async throws {
        let bytes = Array(text.utf8)
        let isSaid = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = heard.withLock { heard -> Bool? in
                    if let answer = heard.take(bytes) { return answer }
                    heard.waiter = (bytes, continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            // The test's time is over, and with the program the terminal ends.
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        guard isSaid else { throw Failure(description: "it ended without “\(text)”; it said:\n\(said)") }
    }

    /// Types a line.
    func type(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(main, bytes, bytes.count)
    }

    /// All that was to be seen on the terminal.
    var said: String { String(decoding: heard.withLock { $0.all }, as: UTF8.self) }

    /// The exit code, once it has ended; negative for a signal.
    func ending() async -> Int32 {
        for await status in endings { return status }
        return -1
    }

    deinit {
        if process.isRunning { process.terminate() }
        close(main)
    }
}

extension PseudoTerminal {
    /// Signs in to the store with the samples' account.
    func signIn(password: String = SampleStore.password) async throws {
        try await expect("E-mail (empty to cancel): ")
        type("ape@example.com")
        try await expect("Password: ")
        type(password)
    }
}
