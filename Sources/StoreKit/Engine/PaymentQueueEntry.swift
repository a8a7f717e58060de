import Foundation
import StoreWire

/// One payment or transaction in the queue, as the journal stores it.
struct PaymentQueueEntry: Codable, Sendable, Equatable {
    /// The phase of the entry. The app sees `queued`, `confirming`, `sending` and `collecting` as `purchasing`.
    enum Phase: String, Codable, Sendable, CaseIterable {
        /// The payment waits for the sheet.
        case queued
        /// The sheet is shown.
        case confirming
        /// The customer agreed. The purchase request is repeated until the store responds.
        case sending
        /// The payment waits for approval at the store.
        case deferred
        /// The store was paid. The receipts are being fetched.
        case collecting
        /// The store was paid, and the receipts are on this device. The app may deliver.
        case purchased
        /// An earlier purchase, delivered again. The app receipt is on this device. The app may deliver.
        case restored
        /// The payment failed.
        case failed
        /// The app finished the transaction. The finish is repeated until the store responds.
        case finishing
    }

    /// The payment's idempotency key, created once, before anything else. A transaction without a payment of this
    /// device has a key of its own.
    let key: UUID
    /// The place in the queue.
    var position: Int64
    var payment: PaymentValues
    /// The account that agreed to pay. Retries use the same account.
    var account: AccountID?
    /// The unit price that the customer agreed to.
    var agreedPrice: Money?
    var phase: Phase
    var transaction: TransactionDescription?
    var transactionReceipt: Data?
    var failure: PaymentFailure?
    /// Whether a restore delivered the transaction; nil means no.
    var isRestored: Bool?
    /// The account's storefront when the app added the payment; nil if it was unknown.
    var storefront: StorefrontDescription?
}

extension PaymentValues {
    /// The payment that leads to a transaction of the store.
    init(of transaction: TransactionDescription) {
        self.init(
            productIdentifier: transaction.productID.rawValue, quantity: transaction.quantity,
            applicationUsername: transaction.applicationUsername)
    }
}
