import Foundation
import StoreWire
import Subprocess
import SystemPackage

/// A program that runs to its end. Its output is captured.
struct ChildProcess: Sendable {
    var executable: URL
    var arguments: [String]
    var environment: [String: String]
    /// The text on standard input.
    var input: String

    struct Result: Sendable {
        /// The exit code, or the negative number of the signal that ended the process.
        var status: Int32
        var output: String
        var errors: String
    }

    /// The maximum length of captured output in bytes.
    private static let outputLimit = 1 << 20

    /// Runs the program.
    /// - Parameter limit: the time limit, after which the process is killed.
    /// - Throws: ``CommandError`` when the program cannot be started, prints too much or does not end in time.
    func run(within limit: Duration) async throws -> Result {
        let late = CommandError(
            .failed,
            "\(executable.lastPathComponent) did not end within \(limit.components.seconds) seconds and was killed.")
        return try await withTimeLimit(limit, else: late) { try await run() }
    }

    private func run() async throws -> Result {
        let variables = environment.map { (Environment.Key(stringLiteral: $0), $1) }
        let ended: ExecutionResult<Void, StringOutput<UTF8>, StringOutput<UTF8>>
        do {
            ended = try await Subprocess.run(
                .path(FilePath(executable.path)), arguments: Arguments(arguments),
                environment: .custom(Dictionary(uniqueKeysWithValues: variables)), input: .string(input),
                output: .string(limit: Self.outputLimit), error: .string(limit: Self.outputLimit))
        } catch let error as SubprocessError {
            throw CommandError(.failed, "Cannot run \(executable.path): \(error)")
        }
        let status =
            switch ended.terminationStatus {
            case .exited(let code): code
            case .signaled(let signal): -signal
            }
        return Result(status: status, output: ended.standardOutput, errors: ended.standardError)
    }
}
