import Foundation
import Synchronization

/// A program run to its end, with what it printed.
struct ChildProcess: Sendable {
    var executable: URL
    var arguments: [String]
    var environment: [String: String]
    /// What it finds on standard input.
    var input: String

    struct Result: Sendable {
        /// The exit code; negative: the signal that ended it.
        var status: Int32
        var output: String
        var errors: String
    }

    /// Output beyond this is cut off.
    private static let outputLimit = 1 << 20

    /// - Throws: ``CommandError`` when it cannot be started, or is not done in time; it is ended then.
    func run(within limit: Duration) async throws -> Result {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        do {
            try process.run()
        } catch {
            throw CommandError(.failed, "\(executable.path) cannot be started: \(error.localizedDescription)")
        }
        try? input.fileHandleForWriting.write(contentsOf: Data(self.input.utf8))
        try? input.fileHandleForWriting.close()
        async let printed = Self.read(output)
        async let complaints = Self.read(errors)
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
                "\(executable.lastPathComponent) was not done in \(limit.components.seconds) seconds and was ended.")
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
