import Foundation
import Synchronization

/// A program that runs to its end. Its output is captured.
struct ChildProcess: Sendable {
    var executable: URL
    var arguments: [String]
    var environment: [String: String]
    /// The text on standard input.
    var input: String
    /// Whether the text on standard error is captured in its place in the output, as a terminal shows it.
    var mergesErrors = false

    struct Result: Sendable {
        /// The exit code, or the negative number of the signal that ended the process.
        var status: Int32
        var output: String
        var errors: String
    }

    /// The maximum length of captured output in bytes. The rest is dropped.
    private static let outputLimit = 1 << 20

    /// Runs the program.
    /// - Parameter limit: the time limit, after which the process is killed.
    /// - Throws: ``CommandError`` when the program cannot be started or does not end in time.
    func run(within limit: Duration) async throws -> Result {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = mergesErrors ? output : errors
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        do {
            try process.run()
        } catch {
            throw CommandError(.failed, "Cannot start \(executable.path): \(error.localizedDescription)")
        }
        try? input.fileHandleForWriting.write(contentsOf: Data(self.input.utf8))
        try? input.fileHandleForWriting.close()
        async let printed = Self.read(output)
        async let complaints = mergesErrors ? "" : Self.read(errors)
        let identifier = process.processIdentifier
        let alarm = Task {
            try await Task.sleep(for: limit)
            kill(identifier, SIGKILL)
        }
        var status: Int32 = 0
        for await code in ended { status = code }
        alarm.cancel()
        let result = Result(status: status, output: await printed, errors: await complaints)
        if status == -SIGKILL {
            throw CommandError(
                .failed,
                "\(executable.lastPathComponent) did not end within \(limit.components.seconds) seconds and was killed."
            )
        }
        return result
    }

    private static func read(_ pipe: Pipe) async -> String {
        let file = pipe.fileHandleForReading
        return await withCheckedContinuation { continuation in
            let thread = Thread {
                var bytes = Data()
                while let part = try? file.read(upToCount: 1 << 16), !part.isEmpty {
                    if bytes.count < outputLimit { bytes += part }
                }
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
            thread.start()
        }
    }
}
