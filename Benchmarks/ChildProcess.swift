import Foundation

/// A server in a process of its own, measured from outside.
final class ChildProcess: Sendable {
    private let process: Process
    private let input: Pipe
    /// The time when it was started.
    let started: ContinuousClock.Instant

    var identifier: Int32 { process.processIdentifier }

    /// Starts a program on the servers' cores, unless other cores are given. It ends when its standard input closes or
    /// ``stop()`` is called.
    init(
        _ executable: URL, _ arguments: [String], environment: [String: String] = [:], output: Pipe? = nil,
        on processors: Processors? = .forServers
    ) throws {
        process = Process()
        input = Pipe()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output ?? FileHandle.nullDevice
        process.standardError = FileHandle.standardError
        // A child inherits the cores of the thread that starts it.
        try processors?.claimCallingThread()
        defer { try? Processors.all.claimCallingThread() }
        started = .now
        try Self.run(process)
    }

    /// Starts a process without blocked signals. A process inherits the calling thread's blocked signals, and a pool's
    /// threads block nearly all: SIGTERM would not end it, and pgbench would wait for its alarm forever.
    static func run(_ process: Process) throws {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    /// Starts this very program with other arguments and waits for its line `ready PORT`.
    static func ownServer(
        _ arguments: [String], on processors: Processors? = .forServers
    ) throws -> (child: ChildProcess, port: Int) {
        let output = Pipe()
        let child = try ChildProcess(try Self.ownExecutable(), arguments, output: output, on: processors)
        var text = ""
        while !text.contains("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                throw BenchmarkError("\(arguments.joined(separator: " ")) ended before it was ready")
            }
            text += String(decoding: data, as: UTF8.self)
        }
        let words = text.split(separator: "\n")[0].split(separator: " ")
        guard words.count == 2, words[0] == "ready", let port = Int(words[1]) else {
            child.stop()
            throw BenchmarkError("\(arguments.joined(separator: " ")) said “\(text)” instead of its port")
        }
        return (child, port)
    }

    static func ownExecutable() throws -> URL {
        URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    }

    /// Asks the process to end, waits for its end, and kills it after ten seconds.
    func stop() {
        try? input.fileHandleForWriting.close()
        if process.isRunning { process.terminate() }
        let deadline = ContinuousClock.now + .seconds(10)
        while process.isRunning, ContinuousClock.now < deadline { usleep(2000) }
        if process.isRunning { kill(identifier, SIGKILL) }
        process.waitUntilExit()
    }

    var isRunning: Bool { process.isRunning }

    /// Waits until the process ends by itself.
    func exitStatus() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// The current and the highest resident memory, in bytes.
    func memory() throws -> (resident: Int, highest: Int) {
        let status = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)
        func bytes(_ name: String) throws -> Int {
            guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name + ":") }),
                let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
            else { throw BenchmarkError("no \(name) in /proc/\(identifier)/status") }
            return kibibytes * 1024
        }
        return (try bytes("VmRSS"), try bytes("VmHWM"))
    }

    /// Resets the kernel's count of the highest resident memory (proc(5), `clear_refs`).
    func forgetHighestMemory() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(identifier)/clear_refs"))
    }

    /// The processor time used, in seconds.
    func processorTime() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        // The name in parentheses may hold spaces; fields are counted after it. 14 and 15 are user and system time in
        // ticks.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw BenchmarkError("unreadable /proc/\(identifier)/stat")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The number of bytes written to storage.
    func bytesWritten() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(identifier)/io", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") }
        return line.flatMap { Int($0.dropFirst("write_bytes: ".count)) } ?? 0
    }
}
