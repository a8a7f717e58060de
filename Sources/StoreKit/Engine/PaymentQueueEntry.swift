import Foundation
import StoreWire

/// One payment or transaction in the queue, as the journal keeps it.
struct PaymentQueueEntry: Codable, Sendable, Equatable {
    /// How far it is. `confirming`, `sending` and `collecting` are all `purchasing` to the app.
    enum Phase: String, Codable, Sendable, CaseIterable {
        /// Waits for the sheet.
        case queued
        /// The sheet is up.
        case confirming
        /// Agreed to; the store is asked until it answers.
        case sending
        /// The store waits for somebody's approval.
        case deferred
        /// Paid; the receipts are being fetched.
        case collecting
        /// Paid, and the receipts are on this device: the app may deliver.
        case purchased
        /// Bought earlier and delivered again; the app receipt is on this device: the app may deliver.
        case restored
        /// Not paid.
        case failed
        /// The app is done with it; the store is told until it answers.
        case finishing
    }

    /// The payment's idempotency key, made once, before anything else. For a transaction that no payment of this
    /// device made, a name of its own.
    let key: UUID
    /// Its place in the queue.
    var position: Int64
    var payment: PaymentValues
    /// The account that agreed to pay; retries are under the same.
    var account: AccountID?
    /// The unit price that was agreed to.
    var agreedPrice: Money?
    var phase: Phase
    var transaction: TransactionDescription?
    var transactionReceipt: Data?
    var failure: PaymentFailure?
    /// Whether a restore brought it, in whatever phase it is; nil is no.
    var isRestored: Bool?
    /// Where the account shopped when the payment was added, as far as it was known.
    var storefront: StorefrontDescription?
}

extension PaymentValues {
    /// The payment that a transaction of the store's answers.
    init(of transaction: TransactionDescription) {
        self.init(
            productIdentifier: transaction.productID.rawValue, quantity: transaction.quantity,
            applicationUsername: transaction.applicationUsername)
    }
}
