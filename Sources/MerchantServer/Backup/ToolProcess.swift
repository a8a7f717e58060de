import Foundation
import Glibc

/// Runs other programs to their end.
enum ToolProcess {
    struct Command: Sendable {
        var program: URL
        var arguments: [String]
    }

    struct Result: Sendable {
        /// The name of the first program that failed; nil when all succeeded.
        var failed: String?
        /// The output of the last program.
        var output: String
        /// The error output of all programs.
        var errors: String
    }

    /// How many bytes of each stream are kept.
    private static let kept = 16 << 10

    /// Runs the programs concurrently, each with the output of the one before as its input. Terminates them when the
    /// task is cancelled.
    /// - Throws: ``MerchantServerError`` `noTools` when a program cannot be started.
    static func run(_ commands: [Command], environment: [String: String]) async throws -> Result {
        let (output, errors) = (Pipe(), Pipe())
        var input: Pipe?
        var running: [Running] = []
        for (index, command) in commands.enumerated() {
            let process = Process()
            process.executableURL = command.program
            process.arguments = command.arguments
            process.environment = environment
            if let input { process.standardInput = input } else { process.standardInput = FileHandle.nullDevice }
            let next = index == commands.count - 1 ? output : Pipe()
            process.standardOutput = next
            // Pass a file handle: with a pipe, the first process to start would close this end for the others.
            process.standardError = errors.fileHandleForWriting
            let (endings, end) = AsyncStream.makeStream(of: Int32.self)
            process.terminationHandler = { process in
                end.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
                end.finish()
            }
            do {
                try process.run()
            } catch {
                for started in running { kill(started.identifier, SIGTERM) }
                try? errors.fileHandleForWriting.close()
                throw MerchantServerError(.noTools, "\(command.program.path) cannot be started.")
            }
            running.append(
                Running(
                    name: command.program.lastPathComponent, identifier: process.processIdentifier, endings: endings))
            input = next
        }
        try? errors.fileHandleForWriting.close()
        let started = running
        return try await withTaskCancellationHandler {
            async let words = read(output.fileHandleForReading)
            async let complaints = read(errors.fileHandleForReading)
            let (printed, complained) = await (words, complaints)
            var failed: String?
            for program in started {
                var status: Int32 = -1
                for await ending in program.endings { status = ending }
                if status != 0 { failed = failed ?? program.name }
            }
            try Task.checkCancellation()
            return Result(failed: failed, output: printed, errors: complained)
        } onCancel: {
            for program in started { kill(program.identifier, SIGTERM) }
        }
    }

    private struct Running: Sendable {
        var name: String
        var identifier: Int32
        var endings: AsyncStream<Int32>
    }

    /// Reads a stream to its end, and keeps its beginning.
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
