/// Codes for offers of subscriptions.
extension ControlAPI {
    /// An order for a batch of one-time codes, or for a custom code.
    public struct NewOfferCodes: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription product.
        public var productId: String
        /// The reference name of the product's offer.
        public var offer: String
        /// The custom code; nil for a batch of one-time codes.
        public var customCode: String?
        /// The number of one-time codes, or how often the custom code can be redeemed.
        public var count: Int
        /// The date on which the codes expire; nil for never.
        public var expiresDate: String?

        /// Creates an order.
        public init(
            bundleId: String, productId: String, offer: String, customCode: String? = nil, count: Int,
            expiresDate: String? = nil
        ) {
            self.bundleId = bundleId
            self.productId = productId
            self.offer = offer
            self.customCode = customCode
            self.count = count
            self.expiresDate = expiresDate
        }
    }

    /// A batch of one-time codes, or a custom code.
    public struct OfferCodeBatch: Codable, Sendable, Equatable {
        /// The batch's identifier.
        public var batchId: String
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription product.
        public var productId: String
        /// The reference name of the product's offer.
        public var offer: String
        /// The custom code; nil for a batch of one-time codes.
        public var customCode: String?
        /// The number of one-time codes, or how often the custom code can be redeemed.
        public var count: Int
        /// How many codes were redeemed, or how often the custom code was.
        public var redeemed: Int
        /// The date on which the batch was created.
        public var createdDate: String
        /// The date on which the codes expire; nil for never.
        public var expiresDate: String?
        /// Whether the codes can be redeemed, as long as they have not expired.
        public var isActive: Bool

        /// Creates a batch.
        public init(
            batchId: String, bundleId: String, productId: String, offer: String, customCode: String? = nil,
            count: Int, redeemed: Int, createdDate: String, expiresDate: String? = nil, isActive: Bool
        ) {
            self.batchId = batchId
            self.bundleId = bundleId
            self.productId = productId
            self.offer = offer
            self.customCode = customCode
            self.count = count
            self.redeemed = redeemed
            self.createdDate = createdDate
            self.expiresDate = expiresDate
            self.isActive = isActive
        }
    }

    /// A one-time code.
    public struct OfferCode: Codable, Sendable, Equatable {
        /// The code.
        public var code: String
        /// The account that redeemed the code; nil until then.
        public var accountId: String?

        /// Creates a code.
        public init(code: String, accountId: String? = nil) { (self.code, self.accountId) = (code, accountId) }
    }
}
