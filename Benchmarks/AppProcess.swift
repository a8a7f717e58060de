import Foundation
import StoreKit

/// An app on a device: this program with other arguments, in a process of its own so that its memory can be measured.
enum AppProcess {
    static let subcommand = "app"

    /// The process's task.
    enum Work: String {
        /// Restore everything, then finish it.
        case restore
        /// Sign in, and fetch this number of unfinished transactions into the journal.
        case fetch
        /// Receive this number of unfinished transactions, and leave them unfinished.
        case start
    }

    /// The process's result, as it prints it.
    struct Found: Codable, Sendable {
        var transactions: Int
        /// From the first use of the queue to the last delivered transaction, or to the end of the restore.
        var seconds: Double
        /// The time until all are finished at the store and removed from the journal.
        var secondsToFinish: Double?
        /// The highest resident memory.
        var mebibytes: Double
    }

    /// Runs the task in this process. The environment holds the app's settings, as `StoreKitConfiguration` reads them.
    static func run(_ arguments: [String]) async throws {
        guard let work = arguments.first.flatMap(Work.init(rawValue:)), let count = arguments.dropFirst().first,
            let count = Int(count)
        else { throw BenchmarkError("the app's process needs a task and a number as arguments") }
        let found = try await perform(work, count)
        print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    }

    private static func perform(_ work: Work, _ count: Int) async throws -> Found {
        let start = ContinuousClock.now
        let events = QueueEvents()
        let queue = SKPaymentQueue.default()
        queue.add(events)
        if work != .start { queue.restoreCompletedTransactions() }
        var told: [SKPaymentTransaction] = []
        var removed = 0
        var isRestored = false
        var found: Found?
        for await event in events.stream {
            switch event {
            case .updated(let transactions): told += transactions
            case .removed(let number): removed += number
            case .failed(let text): throw BenchmarkError("the restore failed: \(text)")
            case .restored: isRestored = true
            }
            if var done = found {
                guard removed >= told.count else { continue }
                done.secondsToFinish = (ContinuousClock.now - start).seconds - done.seconds
                return done
            }
            guard work == .restore ? isRestored : told.count >= count else { continue }
            let seconds = (ContinuousClock.now - start).seconds
            guard told.count == count else { throw BenchmarkError("\(told.count) transactions came, not \(count)") }
            let done = Found(
                transactions: told.count, seconds: seconds, secondsToFinish: nil, mebibytes: try mebibytes())
            guard work == .restore else { return done }
            found = done
            for transaction in told { queue.finishTransaction(transaction) }
        }
        throw BenchmarkError("the queue stopped calling its observer")
    }

    private static func mebibytes() throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? .nan) / 1024
    }

    /// The environment of an app's process.
    static func environment(store: String, data: URL, device: URL) throws -> [String: String] {
        [
            "CORNERSTORE_STORE": store, "CORNERSTORE_DEVICE": device.path, "CORNERSTORE_SHEET": "approve",
            "CORNERSTORE_ROOTS": data.appending(path: "roots/receipt-root.der").path,
            "CORNERSTORE_BUNDLE_ID": SampleReceipts.bundleID, "CORNERSTORE_BUNDLE_VERSION": "1",
            "CORNERSTORE_ACCOUNT": try Tester.read(data).email,
            "CORNERSTORE_PASSWORD_FILE": try Tester.passwordFile(data).path,
        ]
    }

    /// Starts the process for a device and returns its result.
    static func found(_ work: Work, _ count: Int, store: String, data: URL, device: URL) throws -> Found {
        let output = Pipe()
        let child = try ChildProcess(
            try ChildProcess.ownExecutable(), [subcommand, work.rawValue, String(count)],
            environment: try environment(store: store, data: data, device: device), output: output)
        defer { child.stop() }
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        do { return try JSONDecoder().decode(Found.self, from: text) } catch {
            throw BenchmarkError("the app's process said “\(String(decoding: text.prefix(200), as: UTF8.self))”")
        }
    }
}

/// Turns the queue's calls into a stream.
private final class QueueEvents: NSObject, SKPaymentTransactionObserver {
    enum Event: Sendable {
        case updated([SKPaymentTransaction])
        case removed(Int)
        case restored
        case failed(String)
    }

    let stream: AsyncStream<Event>
    private let send: AsyncStream<Event>.Continuation

    override init() {
        (stream, send) = AsyncStream.makeStream(of: Event.self)
        super.init()
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        send.yield(.updated(transactions))
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        send.yield(.removed(transactions.count))
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { send.yield(.restored) }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        send.yield(.failed(error.localizedDescription))
    }
}
