/// The result of `cornerstore buy`, with Apple's field names.
struct BuyReport: Encodable, Sendable {
    var transactionId: String
    var originalTransactionId: String
    var productId: String
    var quantity: Int
    var state: String
    /// The payment's `applicationUsername`; nil when the payment has none.
    var applicationUsername: String?
    /// The path of the app receipt. With `--receipt-out`, it is the copy made before the transaction was finished.
    var receiptFile: String
    /// The plan that the subscriber has until the bought one begins with the next renewal; nil for any other purchase.
    var until: Current?
    /// The ids of earlier purchases' transactions that this command finished; nil when it finished none.
    var alsoFinished: [String]?

    /// The period of a subscriber who has chosen another plan for the next renewal.
    struct Current: Encodable, Sendable {
        var productId: String
        /// The end of the period, in ISO 8601.
        var expiresDate: String
    }

    func text(_ style: Style) -> String {
        let bought = style.good("Bought \(productId)") + (quantity == 1 ? "." : ", quantity \(quantity).")
        let heading =
            until.map {
                style.good("\(productId) begins with the next renewal")
                    + ", on \($0.expiresDate). \($0.productId) is paid until then."
            } ?? bought
        let fields = Table.fields(
            [
                ("transaction", transactionId),
                ("original", originalTransactionId == transactionId ? nil : originalTransactionId),
                ("username", applicationUsername.map(Style.printable)),
                ("receipt", receiptFile),
                ("also finished", alsoFinished?.joined(separator: ", ")),
            ], style)
        return heading + "\n" + fields
    }
}
