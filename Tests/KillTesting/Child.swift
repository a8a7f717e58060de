import Foundation
import Synchronization
import TestSupport

/// A running program, whose output comes line by line, and which can be killed.
// @unchecked: Foundation's Process is used by one thread after another, under `gate` where it may have ended.
final class Child: @unchecked Sendable {
    enum Ending: Sendable, Equatable {
        case exited(Int32)
        case killed
        case signalled(Int32)
    }

    private let process = Process()
    private let gate = Mutex(false)
    private let endings: AsyncStream<Ending>

    /// Starts it. `onLine` is called for each line on a thread of its own, which goes on until the output is closed,
    /// and calls `onEnd` then; what it writes to standard error is appended to `log`.
    init(
        _ program: URL, _ arguments: [String], _ environment: [String: String], log: URL,
        onLine: @escaping @Sendable (Substring) -> Void, onEnd: @escaping @Sendable () -> Void = {}
    ) throws {
        let (endings, end) = AsyncStream.makeStream(of: Ending.self)
        self.endings = endings
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        // Not FileHandle's: two programs that write at once, such as one and its successor, would overwrite each other.
        let descriptor = open(log.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        let errors = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        process.standardError = errors
        process.terminationHandler = { process in
            let status = process.terminationStatus
            let ending: Ending =
                process.terminationReason == .exit
                ? .exited(status) : status == SIGKILL ? .killed : .signalled(status)
            end.yield(ending)
            end.finish()
        }
        ChildDescriptors.closeAll()
        try process.run()
        try? errors.close()
        try? output.fileHandleForWriting.close()
        let reader = output.fileHandleForReading
        Thread {
            var rest: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 1 << 12)
            // Not FileHandle's: it waits until it has all that it was asked for.
            while true {
                let count = read(reader.fileDescriptor, &part, part.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += part[..<count]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    onLine(Substring(decoding: rest[..<end], as: UTF8.self))
                    rest.removeSubrange(...end)
                }
            }
            try? reader.close()
            onEnd()
        }.start()
    }

    /// Sends a signal, unless it has ended.
    func signal(_ number: Int32) {
        gate.withLock { hasEnded in
            if !hasEnded, process.isRunning { kill(process.processIdentifier, number) }
        }
    }

    /// How it ended. To be called once. After `limit` it is killed, and `.exited(-1)` returned. It is killed, too, when
    /// the caller's task is cancelled, as at a test's time limit.
    func wait(within limit: Duration) async -> Ending {
        let isLate = Mutex(false)
        let alarm = Task {
            try await Task.sleep(for: limit)
            isLate.withLock { $0 = true }
            signal(SIGKILL)
        }
        let ending = await withTaskCancellationHandler {
            // In a task of its own: that of a cancelled caller would not wait for the end.
            await Task { [endings] in
                var ending = Ending.exited(-1)
                for await end in endings { ending = end }
                return ending
            }.value
        } onCancel: {
            signal(SIGKILL)
        }
        gate.withLock { $0 = true }
        alarm.cancel()
        return isLate.withLock { $0 } ? .exited(-1) : ending
    }
}
