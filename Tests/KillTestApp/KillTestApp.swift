import Crypto
import Foundation
import StoreKit
import Synchronization

/// An app as Apple's documentation has it: it observes the queue, delivers what was bought before it finishes the
/// transaction, and knows what it has delivered. It buys what its arguments say and ends when the queue is empty.
public enum KillTestApp {
    /// The variables of the environment beside those of StoreKit's configuration.
    public enum Variable {
        /// The file of ``AppLog``.
        public static let log = "KILL_TEST_LOG"
        /// A ``KillPoint``.
        public static let kill = "KILL_TEST_AT"
        /// `1`: at its kill point the app calls `exit(0)` instead of killing itself.
        public static let exits = "KILL_TEST_EXITS"
        /// `1`: the app writes each point it passes to standard output, a line each.
        public static let tells = "KILL_TEST_TELLS"
        /// `1`: the app restores once everything is bought.
        public static let restores = "KILL_TEST_RESTORES"
    }

    /// The products with hosted content, and whether the app pauses (true) or cancels their download once in each
    /// launch.
    public static let interruptions = ["wand": true, "lamp": false]

    /// As the log has it.
    public static func sha256(_ bytes: some DataProtocol) -> String {
        SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// - Parameter arguments: ``Order/argument``s.
    /// - Returns: the exit code: 0 when the queue is empty, 2 for arguments or a log that cannot be used, 4 when it was
    ///   called on another queue than the main one.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        let orders = arguments.compactMap(Order.init(argument:))
        let point = environment[Variable.kill].flatMap(KillPoint.init(text:))
        guard orders.count == arguments.count, point != nil || environment[Variable.kill] == nil,
            let file = environment[Variable.log].map({ URL(fileURLWithPath: $0) }),
            let known = try? AppLog.read(file), let log = AppLog.Writer(file)
        else { return 2 }
        let killer = Killer(
            point, exits: environment[Variable.exits] == "1", isTelling: environment[Variable.tells] == "1")
        let (steps, step) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        var configuration = StoreKitConfiguration(environment: environment, executable: nil)
        configuration.retryPace = 0.1
        configuration.onStep = {
            killer.pass($0.name)
            step.yield()
        }
        configuration.onDownloadStep = { killer.pass($0.name) }
        do { try StoreKitConfiguration.use(configuration) } catch { return 2 }

        // The app chose no callback queue: it is called on the main one, which an async `main` drains.
        DispatchQueue.main.setSpecific(key: KillTestObserver.isMain, value: true)
        let queue = SKPaymentQueue.default()
        let observer = KillTestObserver(known: known, log: log, killer: killer)
        observer.note(.launched)
        killer.pass(.launched)
        queue.add(observer)
        for order in orders {
            observer.note(.asked(order))
            let payment = SKMutablePayment()
            payment.productIdentifier = order.product
            payment.quantity = order.quantity
            payment.applicationUsername = order.name
            queue.add(payment)
            observer.note(.journaled(order: order.name))
            killer.pass(.added)
        }
        var events = steps.makeAsyncIterator()
        await drain(queue, &events)
        killer.pass(.drained)
        if environment[Variable.restores] == "1" {
            observer.note(.restoring)
            queue.restoreCompletedTransactions()
            killer.pass(.restoring)
            await observer.restoreEnded()
            killer.pass(.restored)
            await drain(queue, &events)
        }
        observer.note(.ended)
        return 0
    }

    /// Returns once everything is finished and the store knows it.
    private static func drain(_ queue: SKPaymentQueue, _ steps: inout AsyncStream<Void>.AsyncIterator) async {
        while true {
            await queue.quiet()
            if queue.isEmpty { return }
            _ = await steps.next()
        }
    }
}

/// The app's observer.
// @unchecked: `known` and `end` are Mutexes, and all else is constant.
final class KillTestObserver: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    static let isMain = DispatchSpecificKey<Bool>()

    private let log: AppLog.Writer
    private let killer: Killer
    /// The transactions whose goods were given, in this launch or an earlier one.
    private let granted: Mutex<Set<String>>
    private let (ends, end) = AsyncStream.makeStream(of: Void.self)
    /// The transactions whose download was interrupted in this launch.
    private let interrupted = Mutex<Set<String>>([])

    init(known: [AppLog.Event], log: AppLog.Writer, killer: Killer) {
        self.log = log
        self.killer = killer
        let granted = known.compactMap { event -> String? in
            switch event {
            case .granted(let transaction, _), .regranted(let transaction, _, _): transaction
            default: nil
            }
        }
        self.granted = Mutex(Set(granted))
    }

    func note(_ event: AppLog.Event) {
        // An app that cannot save must not finish either.
        guard log.append(event) else { exit(3) }
    }

    /// Returns when the restore that was asked for has ended, well or not.
    func restoreEnded() async { for await _ in ends { return } }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        guard DispatchQueue.getSpecific(key: Self.isMain) == true else { exit(4) }
        for transaction in transactions {
            let order = transaction.payment.applicationUsername ?? "none"
            switch transaction.transactionState {
            case .purchasing, .deferred: note(.journaled(order: order))
            case .failed:
                note(.failed(order: order, code: (transaction.error as? SKError)?.code.rawValue ?? -1))
                queue.finishTransaction(transaction)
            case .purchased, .restored: deliver(transaction, queue)
            @unknown default: break
            }
        }
    }

    private func deliver(_ transaction: SKPaymentTransaction, _ queue: SKPaymentQueue) {
        guard let identifier = transaction.transactionIdentifier else { return }
        note(.delivered(transaction: identifier))
        killer.pass(.beforeGrant)
        let isGranted = granted.withLock { $0.contains(identifier) }
        guard isGranted || transaction.downloads.isEmpty else { return queue.start(transaction.downloads) }
        if !isGranted {
            note(grant(transaction, identifier))
            _ = granted.withLock { $0.insert(identifier) }
        }
        killer.pass(.afterGrant)
        queue.finishTransaction(transaction)
        note(.finished(transaction: identifier))
        killer.pass(.afterFinish)
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        guard DispatchQueue.getSpecific(key: Self.isMain) == true else { exit(4) }
        for download in downloads {
            guard let identifier = download.transaction.transactionIdentifier,
                granted.withLock({ !$0.contains(identifier) })
            else { continue }
            switch download.state {
            case .active:
                guard let isPause = KillTestApp.interruptions[download.contentIdentifier],
                    interrupted.withLock({ $0.insert(identifier).inserted })
                else { continue }
                if isPause { queue.pause([download]) } else { queue.cancel([download]) }
            case .paused: queue.resume([download])
            case .cancelled: queue.start([download])
            case .failed: note(.downloadFailed(transaction: identifier))
            case .finished: take(download, identifier, queue)
            case .waiting: break
            }
        }
    }

    /// Reads what came, gives it and finishes.
    private func take(_ download: SKDownload, _ identifier: String, _ queue: SKPaymentQueue) {
        let file = download.contentURL?.appendingPathComponent("Contents/chapter.txt")
        let bytes = file.flatMap { FileManager.default.contents(atPath: $0.path) } ?? Data()
        note(.content(transaction: identifier, sha256: KillTestApp.sha256(bytes)))
        note(grant(download.transaction, identifier))
        _ = granted.withLock { $0.insert(identifier) }
        killer.pass(.afterGrant)
        queue.finishTransaction(download.transaction)
        note(.finished(transaction: identifier))
        killer.pass(.afterFinish)
    }

    private func grant(_ transaction: SKPaymentTransaction, _ identifier: String) -> AppLog.Event {
        let payment = transaction.payment
        if transaction.transactionState == .restored {
            return .regranted(
                transaction: identifier, original: transaction.original?.transactionIdentifier ?? "none",
                product: payment.productIdentifier)
        }
        return .granted(
            transaction: identifier,
            Order(
                name: payment.applicationUsername ?? "none", product: payment.productIdentifier,
                quantity: payment.quantity))
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            guard let identifier = transaction.transactionIdentifier else { continue }
            note(.removed(transaction: identifier))
            killer.pass(.removed)
        }
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        note(.restored)
        end.yield()
    }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        note(.restoreFailed(code: (error as? SKError)?.code.rawValue ?? -1))
        end.yield()
    }
}
