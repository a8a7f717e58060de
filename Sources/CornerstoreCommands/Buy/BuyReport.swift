/// What was bought, in Apple's names.
struct BuyReport: Encodable, Sendable {
    var transactionId: String
    var originalTransactionId: String
    var productId: String
    var quantity: Int
    var state: String
    /// The payment's `applicationUsername`; nil when the payment has none.
    var applicationUsername: String?
    /// Where the app receipt lies, as it was before the transaction was finished if it was asked for.
    var receiptFile: String
    /// Transactions of earlier purchases that were finished on the way; nil when there were none.
    var alsoFinished: [String]?

    func text(_ style: Style) -> String {
        let heading = style.good("Bought \(productId)") + (quantity == 1 ? "." : ", \(quantity) of it.")
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
