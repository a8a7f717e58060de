import Foundation
import Synchronization

/// A server as a process that is killed and started again, and says in one JSON document that it answers.
actor ServerProcess {
    /// How it is started.
    struct Launch: Sendable {
        var program: URL
        var arguments: [String]
        var environment: [String: String]
        /// What it writes to standard error is appended to it.
        var log: URL
    }

    private var child: Child?
    private var end: Task<Child.Ending, Never>?
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Whether it answers, as far as this process knows.
    var isUp: Bool { child != nil }

    private enum Word: Sendable {
        case ready, late
        case ended(Child.Ending)
    }

    /// Starts it and returns when it answers.
    ///
    /// - Parameter mayDie: whether it may be killed before it answers.
    /// - Returns: whether it answers.
    /// - Throws: ``KillTestError`` with the end of its log when it does not start.
    @discardableResult
    func start(_ launch: Launch, mayDie: Bool = false) async throws -> Bool {
        guard child == nil else { return true }
        let (words, tell) = AsyncStream.makeStream(of: Word.self)
        let started = try Child(launch.program, launch.arguments, launch.environment, log: launch.log) { line in
            // The end of its one document.
            if line == "}" { tell.yield(.ready) }
        }
        let alarm = Task {
            try await Task.sleep(for: .seconds(60))
            tell.yield(.late)
        }
        let end = Task {
            let ending = await started.wait(within: .seconds(86_400))
            tell.yield(.ended(ending))
            return ending
        }
        var word = Word.late
        for await said in words {
            word = said
            break
        }
        alarm.cancel()
        switch word {
        case .ready: break
        case .ended(.killed) where mayDie: return false
        case .ended, .late:
            started.signal(SIGKILL)
            _ = await end.value
            throw KillTestError("\(launch.program.lastPathComponent) did not start: \(Self.end(of: launch.log))")
        }
        child = started
        self.end = end
        let ready = waiting
        waiting = []
        for continuation in ready { continuation.resume() }
        return true
    }

    /// Returns when it answers; at once when it does.
    func up() async {
        if child == nil { await withCheckedContinuation { waiting.append($0) } }
    }

    /// Lets go everyone who waits for it: it will not be started again.
    func giveUp() {
        let left = waiting
        waiting = []
        for continuation in left { continuation.resume() }
    }

    /// Sends it a signal and waits for its end.
    func stop(_ signal: Int32) async -> Child.Ending? {
        guard let child, let end else { return nil }
        self.child = nil
        self.end = nil
        child.signal(signal)
        // One that stands still handles the signal then.
        child.signal(SIGCONT)
        return await end.value
    }

    /// Sends it a signal that does not end it.
    func signal(_ signal: Int32) { child?.signal(signal) }

    /// Waits until it ends by itself; nil when it did not within `limit`, and goes on.
    func ending(within limit: Duration) async -> Child.Ending? {
        guard let end else { return nil }
        let (answers, answer) = AsyncStream.makeStream(of: Child.Ending?.self)
        let alarm = Task {
            try await Task.sleep(for: limit)
            answer.yield(nil)
        }
        Task { answer.yield(await end.value) }
        var ending: Child.Ending?
        for await found in answers {
            ending = found
            break
        }
        alarm.cancel()
        if ending != nil { (child, self.end) = (nil, nil) }
        return ending
    }

    /// Starts a server for each number, all at the same moment.
    /// - Returns: those that started, in the order of the numbers, and the error of the first that did not.
    static func startTogether<Server: Sendable>(
        _ numbers: some Sequence<Int>, _ start: @escaping @Sendable (Int) async throws -> Server
    ) async -> (servers: [Server], failure: (any Error)?) {
        await withTaskGroup(of: (Int, Result<Server, any Error>).self) { group in
            for number in numbers {
                group.addTask {
                    do {
                        return (number, .success(try await start(number)))
                    } catch {
                        return (number, .failure(error))
                    }
                }
            }
            var servers: [Int: Server] = [:]
            var failures: [Int: any Error] = [:]
            for await (number, end) in group {
                switch end {
                case .success(let server): servers[number] = server
                case .failure(let error): failures[number] = error
                }
            }
            let failure = failures.min { $0.key < $1.key }?.value
            return (servers.sorted { $0.key < $1.key }.map(\.value), failure)
        }
    }

    /// The last lines of a log.
    static func end(of log: URL) -> String {
        let text = (try? String(decoding: Data(contentsOf: log), as: UTF8.self)) ?? ""
        return String(text.suffix(1500))
    }
}
