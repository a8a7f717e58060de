/// The limits that both the device and the store enforce.
public enum StoreLimits {
    /// The largest quantity of one payment (Apple's receipts document 10).
    public static let quantity = 10
    /// The most product identifiers in one product request.
    public static let productsInOneRequest = 1000
    /// The most item numbers of apps and products in one product request.
    public static let itemsInOneRequest = 20
    /// The most bytes of UTF-8 in the signature of a ``SignedOffer``: Base64 of at most 72 bytes of DER.
    public static let offerSignature = 128
    /// The most bytes in an ``OfferJWS``. Those of Apple's libraries have about 500.
    public static let offerJWS = 4_096
    /// The most bytes of UTF-8 in `applicationUsername`.
    public static let applicationUsername = 512
    /// The most bytes of UTF-8 in a product or bundle identifier.
    public static let identifier = 255
    /// The most characters in a redemption code.
    public static let redemptionCode = 64
    /// The most transactions in one page.
    public static let page = 200
    /// The most bytes in the body of a device's request.
    public static let deviceRequest = 1 << 20
    /// The most bytes in the body of a `verifyReceipt` request: a receipt of several thousand purchases in Base64.
    public static let verifyReceiptRequest = 16 << 20
}
