import Foundation
import Subprocess
import SystemPackage

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
    /// - Throws: ``BackupError`` `noTools` when a program cannot be started.
    static func run(_ commands: [Command], environment: [String: String]) async throws -> Result {
        var pipes: [Ends] = []
        for (index, _) in commands.enumerated() {
            let input = try pipes.last?.next ?? .open("/dev/null", .readOnly)
            guard index < commands.count - 1 else {
                pipes.append(Ends(input: input))
                break
            }
            let (next, output) = try FileDescriptor.pipe()
            pipes.append(Ends(input: input, output: output, next: next))
        }
        let endings = try await withThrowingTaskGroup(of: (Int, Ending).self) { group in
            for (index, (command, ends)) in zip(commands, pipes).enumerated() {
                group.addTask { (index, try await end(of: command, environment, ends)) }
            }
            var endings: [(Int, Ending)] = []
            for try await ending in group { endings.append(ending) }
            return endings.sorted { $0.0 < $1.0 }.map(\.1)
        }
        try Task.checkCancellation()
        return Result(
            failed: zip(commands, endings).first { !$1.succeeded }?.0.program.lastPathComponent,
            output: endings.last?.output ?? "", errors: endings.map(\.errors).joined())
    }

    /// The descriptors of a program. The program closes the ones that it uses.
    private struct Ends: Sendable {
        var input: FileDescriptor
        /// Nil for the last program, whose output is read.
        var output: FileDescriptor?
        /// The other end of `output`: the next program's input.
        var next: FileDescriptor?
    }

    private struct Ending: Sendable {
        var succeeded: Bool
        var output = ""
        var errors: String
    }

    private static func end(
        of command: Command, _ environment: [String: String], _ ends: Ends
    ) async throws -> Ending {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(10))]
        let variables = environment.map { (Environment.Key(stringLiteral: $0), $1) }
        let configuration = Configuration(
            executable: .path(FilePath(command.program.path)), arguments: Arguments(command.arguments),
            environment: .custom(Dictionary(uniqueKeysWithValues: variables)), platformOptions: options)
        let input = FileDescriptorInput.fileDescriptor(ends.input, closeAfterSpawningProcess: true)
        do {
            guard let output = ends.output else {
                let last = try await Subprocess.run(configuration, input: input, output: .sequence, error: .sequence) {
                    async let output = beginning(of: $0.standardOutput)
                    return (errors: try await beginning(of: $0.standardError), output: try await output)
                }
                let (errors, printed) = last.closureResult
                return Ending(succeeded: last.terminationStatus.isSuccess, output: printed, errors: errors)
            }
            let result = try await Subprocess.run(
                configuration, input: input, output: .fileDescriptor(output, closeAfterSpawningProcess: true),
                error: .sequence
            ) { try await beginning(of: $0.standardError) }
            return Ending(succeeded: result.terminationStatus.isSuccess, errors: result.closureResult)
        } catch let error as SubprocessError where error.code == .executableNotFound || error.code == .spawnFailed {
            throw BackupError(.noTools, "\(command.program.path) cannot be started.")
        }
    }

    /// Reads a stream to its end, and keeps its beginning.
    private static func beginning(of stream: SubprocessOutputSequence) async throws -> String {
        var bytes: [UInt8] = []
        for try await part in stream {
            part.withUnsafeBytes { bytes += $0.prefix(kept - bytes.count) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
