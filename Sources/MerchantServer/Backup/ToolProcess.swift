import Foundation
import Glibc

/// Another program, run to its end.
enum ToolProcess {
    struct Result: Sendable {
        var status: Int32
        var output: String
        var errors: String
    }

    /// Of each stream so much is kept, in bytes.
    private static let kept = 16 << 10

    /// Runs it. When the task is cancelled the program is told to stop.
    /// - Throws: ``MerchantServerError`` `noTools` when it cannot be started.
    static func run(_ program: URL, _ arguments: [String], environment: [String: String]) async throws -> Result {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        let (endings, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            end.finish()
        }
        do {
            try process.run()
        } catch {
            throw MerchantServerError(.noTools, "\(program.path) cannot be started.")
        }
        let running = process.processIdentifier
        return try await withTaskCancellationHandler {
            async let words = read(output.fileHandleForReading)
            async let complaints = read(errors.fileHandleForReading)
            let (printed, complained) = await (words, complaints)
            var status: Int32 = -1
            for await ending in endings { status = ending }
            try Task.checkCancellation()
            return Result(status: status, output: printed, errors: complained)
        } onCancel: {
            kill(running, SIGTERM)
        }
    }

    /// All that comes, of which the beginning is kept.
    private static func read(_ handle: FileHandle) async -> String {
        await withCheckedContinuation { continuation in
            Thread {
                var bytes: [UInt8] = []
                var part = [UInt8](repeating: 0, count: 4_096)
                while true {
                    let count = Glibc.read(handle.fileDescriptor, &part, part.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { break }
                    bytes += part.prefix(min(count, kept - bytes.count))
                }
                try? handle.close()
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }.start()
        }
    }
}
