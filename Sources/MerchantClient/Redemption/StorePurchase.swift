import Foundation
import StoreKit

/// A paid transaction of StoreKit's, as values.
struct StorePurchase: Sendable {
    var transactionID: String
    /// Of a restored transaction: the first one of the purchase.
    var restoredFrom: String?
    var productID: String
    /// The transaction's own receipt.
    var receipt: Data?
    /// Tells StoreKit that it is settled.
    var finish: @Sendable () -> Void

    init(
        transactionID: String, restoredFrom: String? = nil, productID: String, receipt: Data?,
        finish: @escaping @Sendable () -> Void
    ) {
        self.transactionID = transactionID
        self.restoredFrom = restoredFrom
        self.productID = productID
        self.receipt = receipt
        self.finish = finish
    }

    /// Nil for a transaction that is not paid for.
    init?(_ transaction: SKPaymentTransaction, from queue: SKPaymentQueue) {
        let state = transaction.transactionState
        guard state == .purchased || state == .restored, let id = transaction.transactionIdentifier else { return nil }
        self.init(
            transactionID: id,
            restoredFrom: state == .restored ? transaction.original?.transactionIdentifier : nil,
            productID: transaction.payment.productIdentifier, receipt: transaction.transactionReceipt
        ) { queue.finishTransaction(transaction) }
    }

    var purchase: MerchantPurchase { MerchantPurchase(transactionID: transactionID, productID: productID) }
}
