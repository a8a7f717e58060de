import Foundation
import StoreKit

/// A transaction in a device's queue, with Apple's field names.
struct TransactionReport: Encodable, Sendable {
    var state: String
    var productId: String
    var quantity: Int
    var transactionId: String?
    /// The id of the original transaction; nil when this is the original.
    var originalTransactionId: String?
    /// The time at which the store created the transaction, in ISO 8601 and UTC.
    var transactionDate: String?
    var applicationUsername: String?
    /// The error of a failed transaction.
    var error: String?

    init(_ transaction: SKPaymentTransaction) {
        state = "\(transaction.transactionState)"
        productId = transaction.payment.productIdentifier
        quantity = transaction.payment.quantity
        transactionId = transaction.transactionIdentifier
        originalTransactionId = transaction.original?.transactionIdentifier
        transactionDate = transaction.transactionDate.map { $0.formatted(.iso8601) }
        applicationUsername = transaction.payment.applicationUsername
        error = transaction.error?.localizedDescription
    }

    static func table(_ transactions: [TransactionReport], _ style: Style) -> String {
        Table(
            heading: ["state", "product", "quantity", "transaction", "original", "date", "user", "error"],
            rows: transactions.map {
                [
                    $0.state, $0.productId, String($0.quantity), $0.transactionId ?? "",
                    $0.originalTransactionId ?? "", $0.transactionDate ?? "", $0.applicationUsername ?? "",
                    $0.error ?? "",
                ]
            }
        ).text(style)
    }
}
