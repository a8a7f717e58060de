import Foundation
import StoreKit
import StoreWire
import Synchronization

/// One purchase through StoreKit, from the price to the finished transaction. StoreKit is configured once a process, so this is performed once.
struct ShellPurchase: Sendable {
    var store: String
    var environment: StoreEnvironment
    var bundleID: String
    var bundleVersion: String
    var productID: String
    var quantity: Int
    /// `applicationUsername` of the payment.
    var username: String?
    var email: String
    var password: String
    var device: URL
    var root: URL
    var receiptOut: URL?

    private static let timeLimit = Duration.seconds(60)

    /// - Throws: ``CommandError`` that says why the store refused.
    func perform() async throws -> BuyReport {
        let signIn = SignIn(StoreCredentials(email: email, password: password))
        let problems = Problems()
        var configuration = StoreKitConfiguration(
            store: URL(string: store), bundleIdentifier: bundleID, deviceFolder: device,
            sheet: ProgrammedPaymentSheet(confirm: { _ in .buy }, signIn: { signIn.answer($0) }))
        configuration.environment = environment
        configuration.bundleVersion = bundleVersion
        configuration.roots = [root]
        configuration.callbackQueue = DispatchQueue(label: "cornerstore buy")
        configuration.diagnostics = { problems.add($0) }
        try StoreKitConfiguration.use(configuration)
        do {
            return try await withTimeLimit(
                Self.timeLimit,
                else: CommandError(
                    .failed,
                    "The store at \(store) did not complete the purchase in time. It is kept on the device, and the next “cornerstore buy” of "
                        + "this account completes it.\(problems.text)")
            ) { try await buy() }
        } catch let error as CommandError {
            guard signIn.wasRefused else { throw error }
            throw CommandError(.refused, "The store does not take this password of \(email).")
        }
    }

    private func buy() async throws -> BuyReport {
        let events = PurchaseEvents()
        let queue = SKPaymentQueue.default()
        queue.add(events)
        defer { queue.remove(events) }
        let payment = SKMutablePayment()
        payment.productIdentifier = productID
        payment.quantity = quantity
        payment.applicationUsername = username
        queue.add(payment)
        return try await finish(events, queue)
    }

    private func finish(_ events: PurchaseEvents, _ queue: SKPaymentQueue) async throws -> BuyReport {
        var own: SKPaymentTransaction?
        var report: BuyReport?
        var others: [String] = []
        for await event in events.stream {
            switch event {
            case .updated(let transactions):
                for (transaction, state) in transactions {
                    if state == .purchasing {
                        // What an earlier run left comes first; ours was added last.
                        let payment = transaction.payment
                        if payment.productIdentifier == productID, payment.quantity == quantity,
                            payment.applicationUsername == username
                        {
                            own = transaction
                        }
                    } else if transaction === own {
                        report = try delivered(transaction, state, queue) ?? report
                    } else if state != .deferred {
                        if let id = transaction.transactionIdentifier { others.append(id) }
                        queue.finishTransaction(transaction)
                    }
                }
            case .removed(let transactions):
                guard var report, transactions.contains(where: { $0 === own }) else { continue }
                report.alsoFinished = others.isEmpty ? nil : others
                return report
            }
        }
        throw CancellationError()
    }

    /// Our transaction is no more under way.
    private func delivered(
        _ transaction: SKPaymentTransaction, _ state: SKPaymentTransactionState, _ queue: SKPaymentQueue
    ) throws -> BuyReport? {
        switch state {
        case .purchased, .restored:
            guard let id = transaction.transactionIdentifier else { return nil }
            let report = BuyReport(
                transactionId: id, originalTransactionId: transaction.original?.transactionIdentifier ?? id,
                productId: productID,
                quantity: quantity, state: "purchased",
                applicationUsername: transaction.payment.applicationUsername, receiptFile: try keepReceipt())
            queue.finishTransaction(transaction)
            return report
        case .failed:
            let text = transaction.error?.localizedDescription ?? "The store gave no reason."
            queue.finishTransaction(transaction)
            throw CommandError(.refused, "The purchase of \(productID) failed: \(Style.printable(text))")
        case .deferred:
            throw CommandError(
                .refused,
                "The purchase of \(productID) waits for approval: see “cornerstore purchase pending”. Once approved, the next “cornerstore buy” of "
                    + "this account delivers it.")
        case .purchasing:
            return nil
        }
    }

    /// Copies the app receipt before the finish takes consumables out of it.
    private func keepReceipt() throws -> String {
        guard let receipt = storeReceiptURL else { throw CommandError(.failed, "The device has no app receipt.") }
        guard let receiptOut else { return receipt.path }
        do {
            try Data(contentsOf: receipt).write(to: receiptOut, options: .atomic)
        } catch {
            throw CommandError(
                .failed,
                "\(receiptOut.path) cannot be written; the purchase is kept, and the receipt is \(receipt.path).")
        }
        return receiptOut.path
    }
}

/// Answers the sign-in once, and remembers that the password was wrong.
final class SignIn: Sendable {
    private let credentials: StoreCredentials
    private let refused = Mutex(false)

    init(_ credentials: StoreCredentials) { self.credentials = credentials }

    var wasRefused: Bool { refused.withLock { $0 } }

    func answer(_ prompt: SignInPrompt) -> StoreCredentials? {
        guard prompt.passwordWasWrong else { return credentials }
        refused.withLock { $0 = true }
        return nil
    }
}

/// What StoreKit had to say that no API reports.
final class Problems: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { if $0.count < 20 { $0.append(line) } } }

    var text: String { lines.withLock { $0.last.map { " The last problem was: \($0)" } ?? "" } }
}

/// Turns the queue's calls into a stream.
private final class PurchaseEvents: NSObject, SKPaymentTransactionObserver {
    enum Event: Sendable {
        /// With the states at the time of the call: the objects change.
        case updated([(SKPaymentTransaction, SKPaymentTransactionState)])
        case removed([SKPaymentTransaction])
    }

    let stream: AsyncStream<Event>
    private let send: AsyncStream<Event>.Continuation

    override init() {
        (stream, send) = AsyncStream.makeStream(of: Event.self)
        super.init()
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        send.yield(.updated(transactions.map { ($0, $0.transactionState) }))
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        send.yield(.removed(transactions))
    }
}
