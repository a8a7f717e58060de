import Foundation
import StoreKit

/// The values of a paid StoreKit transaction.
struct StorePurchase: Sendable {
    var transactionID: String
    /// For a restored transaction, the identifier of the original transaction.
    var restoredFrom: String?
    var productID: String
    /// The transaction's own receipt.
    var receipt: Data?
    /// Finishes the transaction in StoreKit's queue.
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

    /// Creates the values of a transaction; nil when it is not paid.
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
