import ContentPackages
import Foundation

/// Builds, unpacks or checks a package: this program with other arguments, in a process of its own so that its memory
/// can be measured.
enum PackageProcess {
    static let subcommand = "package"

    enum Work: String {
        /// A folder into a file.
        case build
        /// A file into a folder.
        case unpack
        /// Unpacks, and waits until all files are on the disk.
        case unpackDurably = "unpack-durably"
        /// A file.
        case check
    }

    /// The process's result, as it prints it.
    struct Found: Codable, Sendable {
        var seconds: Double
        /// The highest resident memory.
        var mebibytes: Double
    }

    static func run(_ arguments: [String]) throws {
        guard let work = arguments.first.flatMap(Work.init(rawValue:)), arguments.count == 3 else {
            throw BenchmarkError("the package's process needs a task, a source and a target as arguments")
        }
        let (source, target) = (URL(filePath: arguments[1]), URL(filePath: arguments[2]))
        let start = ContinuousClock.now
        switch work {
        case .build: try ContentPackageBuilder().build(folder: source, into: target)
        case .unpack: try ContentPackage.open(file: source).unpack(into: target)
        case .unpackDurably: try ContentPackage.open(file: source).unpack(into: target, isDurable: true)
        case .check:
            let findings = try ContentCheck.findings(inPackage: source)
            guard findings.isEmpty else { throw BenchmarkError("the package is bad: \(findings[0].message)") }
        }
        let found = Found(
            seconds: (ContinuousClock.now - start).seconds,
            mebibytes: try ProgramRun.highestMemory(of: "self") ?? .nan)
        print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    }

    /// Does the work in a process of its own.
    static func found(_ work: Work, _ source: URL, _ target: URL) throws -> Found {
        let result = try ProgramRun.run(
            try ChildProcess.ownExecutable(), [subcommand, work.rawValue, source.path, target.path])
        return try JSONDecoder().decode(Found.self, from: result.output)
    }
}

/// A program run to its end on all processors, timed from outside.
enum ProgramRun {
    struct Result {
        var seconds: Double
        /// The highest resident memory, sampled every few milliseconds.
        var mebibytes: Double
        var output: Data
    }

    static func run(_ executable: URL, _ arguments: [String], in folder: URL? = nil) throws -> Result {
        let process = Process()
        let output = Pipe()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.standardError
        let start = ContinuousClock.now
        try process.run()
        var highest = 0.0
        while process.isRunning {
            highest = max(highest, (try? highestMemory(of: String(process.processIdentifier))) ?? 0)
            usleep(2000)
        }
        let seconds = (ContinuousClock.now - start).seconds
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("\(executable.lastPathComponent) ended with \(process.terminationStatus)")
        }
        return Result(seconds: seconds, mebibytes: highest, output: text)
    }

    /// In MiB; nil when the process is gone.
    static func highestMemory(of process: String) throws -> Double? {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }.map { $0 / 1024 }
    }
}
