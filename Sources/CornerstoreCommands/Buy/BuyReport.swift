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
    /// The ids of earlier purchases' transactions that this command finished; nil when it finished none.
    var alsoFinished: [String]?

    func text(_ style: Style) -> String {
        let heading = style.good("Bought \(productId)") + (quantity == 1 ? "." : ", quantity \(quantity).")
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
