import Foundation
import StoreKit
import StoreReceipts
import StoreWire
import Synchronization

/// One purchase through StoreKit, from the price to the finished transaction.
///
/// A process can configure StoreKit only once, so call ``perform()`` once.
struct ShellPurchase: Sendable {
    var device: ShellDevice
    var customer: StoreCredentials
    var productID: String
    var quantity: Int
    /// `applicationUsername` of the payment.
    var username: String?
    /// The promotional offer; nil for the product's price.
    var offer: OfferJWS?
    var receiptOut: URL?

    /// Buys the product and finishes the transaction.
    /// - Throws: ``CommandError`` with the reason when the store refuses or does not answer within 60 seconds.
    func perform() async throws -> BuyReport {
        try await device.use(
            as: customer, answer: .buy,
            late:
                "The store at \(device.store) did not complete the purchase in time. The device keeps the purchase, and the next "
                + "“cornerstore buy” of this account completes it."
        ) { try await buy() }
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
        if let offer { payment.setPromotionalOffer(offer.offerID, compactJWS: offer.compactJWS) }
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
                        // Transactions of earlier runs come first. The last match is the payment of this run.
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

    /// Handles this purchase's transaction after it left the state `purchasing`.
    /// - Returns: the report; nil when the transaction is not complete.
    /// - Throws: ``CommandError`` when the purchase failed or waits for approval.
    private func delivered(
        _ transaction: SKPaymentTransaction, _ state: SKPaymentTransactionState, _ queue: SKPaymentQueue
    ) throws -> BuyReport? {
        switch state {
        case .purchased, .restored:
            guard let id = transaction.transactionIdentifier else { return nil }
            let (receiptFile, current) = try keepReceipt(with: id)
            let report = BuyReport(
                transactionId: id, originalTransactionId: transaction.original?.transactionIdentifier ?? id,
                productId: productID,
                quantity: quantity, state: "purchased",
                applicationUsername: transaction.payment.applicationUsername, receiptFile: receiptFile, until: current)
            queue.finishTransaction(transaction)
            return report
        case .failed:
            let text = transaction.error?.localizedDescription ?? "The store returned no reason."
            queue.finishTransaction(transaction)
            throw CommandError(.refused, "The purchase of \(productID) failed: \(Style.printable(text))")
        case .deferred:
            throw CommandError(
                .refused,
                "The purchase of \(productID) is waiting for approval. See “cornerstore purchase pending”. After approval, the next "
                    + "“cornerstore buy” of this account delivers it.")
        case .purchasing:
            return nil
        }
    }

    /// Copies the app receipt before the transaction is finished, because finished consumables are removed from it.
    /// - Returns: the path of the receipt, and the current period when the bought plan begins with the next renewal:
    ///   then the purchase's transaction is that of the current plan.
    private func keepReceipt(with transactionID: String) throws -> (path: String, current: BuyReport.Current?) {
        guard let receipt = storeReceiptURL else { throw CommandError(.failed, "The device has no app receipt.") }
        let bytes: Data
        do { bytes = try Data(contentsOf: receipt) } catch {
            throw CommandError(.failed, "Cannot read the receipt \(receipt.path).")
        }
        let period = try? ReceiptContainer.parse(Array(bytes)).receipt.inApp.first {
            $0.transactionID == transactionID && $0.productID != productID
        }
        let current = period.flatMap { period in
            period.expiresDate.map {
                BuyReport.Current(
                    productId: Style.printable(period.productID), expiresDate: Moment.text(ReceiptDate($0).milliseconds)
                )
            }
        }
        guard let receiptOut else { return (receipt.path, current) }
        do {
            try bytes.write(to: receiptOut, options: .atomic)
        } catch {
            throw CommandError(
                .failed,
                "Cannot write the receipt to \(receiptOut.path). The purchase is complete, and its receipt is in \(receipt.path)."
            )
        }
        return (receiptOut.path, current)
    }
}

/// Answers the first sign-in prompt and records when the store rejects the password.
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

/// Collects StoreKit's diagnostics, which no StoreKit API reports.
final class Problems: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { if $0.count < 20 { $0.append(line) } } }

    var text: String { lines.withLock { $0.last.map { " The last problem was: \($0)" } ?? "" } }
}

/// Turns the payment queue's observer calls into a stream.
private final class PurchaseEvents: NSObject, SKPaymentTransactionObserver {
    enum Event: Sendable {
        /// The transactions with their states at the time of the call. The objects may change later.
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
