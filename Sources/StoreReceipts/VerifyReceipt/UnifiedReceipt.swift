import StoreWire

/// The member `unified_receipt` of App Store Server Notifications V1: what an answer of `verifyReceipt` says of a
/// customer's purchases, with the newest transactions only. ``json`` is its value.
public struct UnifiedReceipt: Sendable, Equatable {
    /// The most transactions in `latest_receipt_info`.
    public static let mostPurchases = 100

    /// The store that made the receipt: `environment`.
    public var environment: StoreEnvironment
    /// The transactions, the receipt and the renewals.
    public var latest: AppReceiptResponse.Latest

    /// Creates a unified receipt with the first ``mostPurchases`` transactions of `latest`.
    /// - Parameter transactionID: a transaction that must be among them. It takes the place of the last one if it comes
    ///   later in `latest`.
    public init(
        environment: StoreEnvironment, latest: AppReceiptResponse.Latest, including transactionID: String? = nil
    ) {
        self.environment = environment
        self.latest = latest
        let rest = latest.purchases.dropFirst(Self.mostPurchases)
        guard !rest.isEmpty else { return }
        var shown = Array(latest.purchases.prefix(Self.mostPurchases))
        if let included = rest.first(where: { $0.transactionID == transactionID }) {
            shown[shown.count - 1] = included
        }
        self.latest.purchases = shown
    }
}
