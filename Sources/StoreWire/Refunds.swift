/// A transaction whose refund the customer can request. The answer to ``StoreRoute/refundable(_:in:)``.
public struct RefundableTransaction: Codable, Sendable, Equatable {
    /// The product that was bought.
    public var productID: ProductID
    /// The price paid, for the whole quantity.
    public var price: Money

    /// Creates a description.
    public init(productID: ProductID, price: Money) { (self.productID, self.price) = (productID, price) }

    private enum CodingKeys: String, CodingKey {
        case productID = "productId"
        case price
    }
}

/// A customer's request for the refund of a transaction. Sent to ``StoreRoute/requestRefund(_:)``.
public struct RefundRequestMessage: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// Apple's `consumptionRequestReason`, such as `UNINTENDED_PURCHASE`.
    public var reason: String

    /// Creates a request.
    public init(bundleID: BundleID, reason: String) { (self.bundleID, self.reason) = (bundleID, reason) }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case reason
    }
}
