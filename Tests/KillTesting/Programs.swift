import Foundation

/// The built programs that are started and killed.
public struct Programs: Sendable {
    /// `cornerstore`.
    public var store: URL
    /// `kill-test-app`.
    public var app: URL
    /// `kill-test-merchant`.
    public var merchant: URL

    /// Those of a folder.
    ///
    /// - Throws: ``KillTestError`` when one is not there.
    public init(folder: URL) throws {
        store = folder.appendingPathComponent("cornerstore")
        app = folder.appendingPathComponent("kill-test-app")
        merchant = folder.appendingPathComponent("kill-test-merchant")
        for program in [store, app, merchant] where !FileManager.default.isExecutableFile(atPath: program.path) {
            throw KillTestError("\(program.path) is not there; build it first")
        }
    }

    /// Those that were built with this process: beside the test bundle, or else beside the program itself.
    public static func built() throws -> Programs {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) }
        guard let place = bundle ?? Bundle.main.executableURL else {
            throw KillTestError("where this program lies is not known")
        }
        let beside = place.deletingLastPathComponent()
        if let programs = try? Programs(folder: beside) { return programs }
        // A test runner that keeps bundles elsewhere.
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        return try Programs(folder: package.appendingPathComponent(".build/debug"))
    }

    static let environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "en_US.UTF-8"]
}

/// Why the test itself could not go on; what it finds out about others is in ``Verdict``.
public struct KillTestError: Error, CustomStringConvertible {
    /// What the test could not do.
    public var description: String

    init(_ description: String) { self.description = description }
}

extension Programs {
    /// Runs a program to its end, a minute at most.
    /// - Parameter program: nil for `cornerstore`.
    /// - Returns: the exit code, -1 when it was killed, and what it printed.
    func run(
        _ arguments: [String], _ environment: [String: String], log: URL, program: URL? = nil
    ) async throws -> (status: Int32, output: String) {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let child = try Child(program ?? store, arguments, environment, log: log) {
            line.yield(String($0))
        } onEnd: {
            line.finish()
        }
        async let ending = child.wait(within: .seconds(60))
        var output = ""
        for await text in lines { output += text + "\n" }
        guard case .exited(let status) = await ending else { return (-1, output) }
        return (status, output)
    }
}
