/// The limits that apps and the merchant's server both enforce.
public enum MerchantLimits {
    /// Bytes of UTF-8 in a user's name, a currency, an entitlement, a content item or a product identifier.
    public static let identifier = 255
    /// Bytes of UTF-8 in the key of a spend.
    public static let spendKey = 128
    /// Bytes of UTF-8 in the note of a spend or an adjustment.
    public static let note = 500
    /// The largest number of credits in one grant, spend or adjustment. A balance can hold a billion times as many.
    public static let amount: Int64 = 1_000_000_000
    /// Bytes of a receipt or signed transaction.
    public static let evidence = 4 << 20
    /// Bytes in the body of a redemption request: the receipt in Base64 inside JSON.
    public static let redemption = 6 << 20
    /// Bytes in the body of any other JSON request.
    public static let request = 64 << 10
    /// Bytes in the body of a server notification.
    public static let notification = 1 << 20
    /// Transactions in one receipt. A receipt with more is refused as too large.
    public static let transactions = 2_000
    /// Entries in one page of history.
    public static let page = 200
    /// Rows in one page of users, redemptions or webhook events when the request names no other number.
    public static let usualPage = 50
    /// Bytes of an answer to a webhook that are kept.
    public static let webhookAnswer = 4 << 10
    /// Attempts of a webhook event that are kept.
    public static let webhookAttempts = 50
    /// Products of one app that are on sale.
    public static let products = 5_000
    /// Grants of one product.
    public static let grants = 16
    /// Bytes of one version of a content item.
    public static let content: Int64 = 4 << 30
}
