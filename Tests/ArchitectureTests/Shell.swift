import Foundation

/// Runs the project's scripts.
enum Shell {
    /// Runs a script with `/bin/sh`, without input.
    /// - Returns: the exit code, and everything that the script printed.
    static func run(
        _ arguments: [String], in folder: URL? = nil, environment: [String: String]
    ) throws -> (status: Int32, said: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = arguments
        if let folder { process.currentDirectoryURL = folder }
        process.environment = environment
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, said)
    }
}
