/// The bounds that both ends keep to.
public enum StoreLimits {
    /// The largest quantity of one payment (Apple's receipts document 10).
    public static let quantity = 10
    /// Identifiers in one product request.
    public static let productsInOneRequest = 1000
    /// Numbers of apps and products in one product request.
    public static let itemsInOneRequest = 20
    /// Bytes of UTF-8 in the signature of a ``SignedOffer``: Base64 of at most 72 bytes of DER.
    public static let offerSignature = 128
    /// Bytes of UTF-8 in `applicationUsername`.
    public static let applicationUsername = 512
    /// Bytes of UTF-8 in a product or bundle identifier.
    public static let identifier = 255
    /// Characters in a code that is redeemed.
    public static let redemptionCode = 64
    /// Transactions in one page.
    public static let page = 200
    /// Bytes in the body of a request of the device.
    public static let deviceRequest = 1 << 20
    /// Bytes in the body of a `verifyReceipt` request: a receipt of several thousand purchases in Base64.
    public static let verifyReceiptRequest = 16 << 20
}
