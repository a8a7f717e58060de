import Foundation
import StoreServer
import TestSupport
import Testing

@testable import CornerstoreCommands

/// The built programs, run as a person runs them.
enum Program {
    /// The folder that they were built into: the one of the test bundle.
    static let folder: URL? = {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent()
        }
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        return [bundle, package.appendingPathComponent(".build/debug")].compactMap { $0 }.first {
            FileManager.default.isExecutableFile(atPath: $0.appendingPathComponent("cornerstore").path)
        }
    }()

    static let environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "en_US.UTF-8"]

    /// Runs `cornerstore` to its end.
    static func run(_ arguments: [String]) async throws -> ChildProcess.Result {
        let executable = try #require(folder).appendingPathComponent("cornerstore")
        return try await ChildProcess(executable: executable, arguments: arguments, environment: environment, input: "")
            .run(within: .seconds(60))
    }
}

/// `cornerstore serve` or `cornerstore merchant serve` as a process, until it is told to stop.
final class ServeProcess: Sendable {
    private let process: Process
    let report: [String: String]
    let data: String

    /// Starts `serve` on free ports and waits for its one document.
    convenience init(_ files: [String], data: String) async throws {
        try await SharedAuthority.copy(to: URL(fileURLWithPath: data).appendingPathComponent("authority"))
        try self.init(
            ["serve"] + files + [
                "--control-port", "0", "--sandbox-port", "0", "--production-port", "0", "--storefront-port", "0",
                "--merchant-port", "0", "--console-port", "0", "--password-cost", "16",
            ], in: data)
    }

    /// Starts a command and waits for its one document.
    init(_ command: [String], in data: String, environment: [String: String] = [:]) throws {
        self.data = data
        process = Process()
        process.executableURL = try #require(Program.folder).appendingPathComponent("cornerstore")
        process.arguments = command + ["--data", data, "--json"]
        process.environment = Program.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        ChildDescriptors.closeAll()
        try process.run()
        var text = Data()
        while let part = try output.fileHandleForReading.read(upToCount: 1), !part.isEmpty {
            text += part
            if text.suffix(3) == Data("\n}\n".utf8) { break }
        }
        let object = try String(decoding: text, as: UTF8.self).object()
        report = object.compactMapValues { $0 as? String }
        // Nobody reads what it prints from here on.
        try output.fileHandleForReading.close()
    }

    /// Ends it as a power failure would.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Whether it runs.
    var isRunning: Bool { process.isRunning }

    /// Sends SIGTERM.
    func terminate() { process.terminate() }

    /// - Returns: the exit code after SIGTERM.
    func stop() -> Int32 {
        process.terminate()
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }
}
