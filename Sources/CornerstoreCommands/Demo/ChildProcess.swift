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
    /// Whether the text on standard error is captured in its place in the output, as a terminal shows it.
    var mergesErrors = false

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
        if mergesErrors {
            let ended = try await run(errors: .combinedWithOutput)
            return Result(status: Self.status(ended.terminationStatus), output: ended.standardOutput, errors: "")
        }
        let ended = try await run(errors: .string(limit: Self.outputLimit))
        return Result(
            status: Self.status(ended.terminationStatus), output: ended.standardOutput, errors: ended.standardError)
    }

    private func run<Errors: ErrorOutputProtocol>(
        errors: Errors
    ) async throws -> ExecutionResult<Void, StringOutput<UTF8>, Errors> {
        let variables = environment.map { (Environment.Key(stringLiteral: $0), $1) }
        do {
            return try await Subprocess.run(
                .path(FilePath(executable.path)), arguments: Arguments(arguments),
                environment: .custom(Dictionary(uniqueKeysWithValues: variables)), input: .string(input),
                output: .string(limit: Self.outputLimit), error: errors)
        } catch let error as SubprocessError {
            throw CommandError(.failed, "Cannot run \(executable.path): \(error)")
        }
    }

    private static func status(_ status: TerminationStatus) -> Int32 {
        switch status {
        case .exited(let code): code
        case .signaled(let signal): -signal
        }
    }
}
