import StoreKit

/// Tells the screen what the payment queue tells its observers. It decides nothing: the app's own observer does.
@MainActor
final class ScreenObserver: NSObject, @MainActor SKPaymentTransactionObserver {
    private let tell: (String) -> Void
    private let restored: () -> Void
    /// The last state of each running download, so that only changes of state are told.
    private var downloads: [String: SKDownloadState] = [:]

    /// - Parameters:
    ///   - tell: takes a sentence for the screen.
    ///   - restored: called when a restore has ended.
    init(tell: @escaping (String) -> Void, restored: @escaping () -> Void) {
        (self.tell, self.restored) = (tell, restored)
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            tell("\(Self.name(transaction)): \(Self.outcome(transaction))")
        }
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions { tell("\(Self.name(transaction)): finished, and gone from the queue") }
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads all: [SKDownload]) {
        for download in all where downloads.updateValue(download.state, forKey: Self.id(download)) != download.state {
            let reason = download.error.map { ": \($0.localizedDescription)" } ?? ""
            tell("Download of \(download.contentIdentifier): \(Self.word(download.state))\(reason)")
        }
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        restored()
        tell("Restoring is complete")
    }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        restored()
        tell("Restoring failed: \(error.localizedDescription)")
    }

    func paymentQueue(_ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers identifiers: [String]) {
        tell("The store revoked \(identifiers.joined(separator: ", "))")
    }

    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { tell("The storefront changed") }

    /// The state, with the reason of a failure by the name that programmers know.
    private static func outcome(_ transaction: SKPaymentTransaction) -> String {
        let word = word(transaction.transactionState)
        guard let error = transaction.error else { return word }
        guard let code = (error as? SKError)?.code else { return "\(word): \(error.localizedDescription)" }
        if code == .paymentCancelled { return "cancelled by the customer (SKError.paymentCancelled)" }
        return "\(word): \(error.localizedDescription) (SKError.\(code))"
    }

    private static func id(_ download: SKDownload) -> String {
        download.contentIdentifier + " " + (download.transaction.transactionIdentifier ?? "")
    }

    nonisolated static func name(_ transaction: SKPaymentTransaction) -> String {
        let payment = transaction.payment
        return payment.productIdentifier + (payment.quantity > 1 ? " × \(payment.quantity)" : "")
    }

    nonisolated static func word(_ state: SKPaymentTransactionState) -> String {
        switch state {
        case .purchasing: "purchasing"
        case .purchased: "purchased"
        case .failed: "failed"
        case .restored: "restored"
        case .deferred: "deferred"
        }
    }

    nonisolated static func word(_ state: SKDownloadState) -> String {
        switch state {
        case .waiting: "waiting"
        case .active: "active"
        case .paused: "paused"
        case .finished: "finished"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }
}
