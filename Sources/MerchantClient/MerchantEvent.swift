import MerchantWire

/// An event during redemptions and downloads.
public enum MerchantEvent: Sendable, Equatable {
    /// The merchant has redeemed a purchase, for this user or for the owner named by its account token.
    case redeemed(RedeemedTransaction)
    /// The merchant could not be asked about a purchase. The client retries after so many seconds. Nil means after a
    /// refused token: it retries after ``MerchantClient/userChanged()`` or ``MerchantClient/tryAgain()``, or at the
    /// next launch.
    case waiting(MerchantPurchase, MerchantClientError, seconds: Double?)
    /// The merchant refused a purchase. The transaction stays in StoreKit's queue and is reported at each launch until
    /// the app finishes it.
    case refused(MerchantPurchase, MerchantClientError)
    /// A download began or progressed.
    case downloading(MerchantDownload)
    /// A download is complete and on the disk.
    case delivered(MerchantContent)
    /// A download failed. The client retries after so many seconds; nil as in `waiting`.
    case notDelivered(ContentItemID, MerchantClientError, seconds: Double?)
    /// All work for a purchase is done, and its StoreKit transaction was finished.
    case finished(MerchantPurchase)
    /// The state of unfinished work could not be saved. The work continues, and StoreKit's queue still has the
    /// transaction.
    case problem(MerchantClientError)
}

/// The identifiers of a purchase.
public struct MerchantPurchase: Sendable, Hashable {
    /// StoreKit's `transactionIdentifier`.
    public var transactionID: String
    /// The product that was bought.
    public var productID: String

    /// Creates a purchase from its identifiers.
    public init(transactionID: String, productID: String) {
        self.transactionID = transactionID
        self.productID = productID
    }
}

/// The progress of a download.
public struct MerchantDownload: Sendable, Equatable {
    /// The content item.
    public var item: ContentItemID
    /// The version number: 1, 2, 3…
    public var version: Int64
    /// The number of bytes received, including earlier attempts.
    public var received: Int64
    /// The size of the file in bytes.
    public var total: Int64
    /// The estimated number of seconds left; nil while it is unknown.
    public var secondsLeft: Double?

    /// Creates a download's progress.
    public init(item: ContentItemID, version: Int64, received: Int64, total: Int64, secondsLeft: Double?) {
        self.item = item
        self.version = version
        self.received = received
        self.total = total
        self.secondsLeft = secondsLeft
    }

    /// The received fraction of the file, from 0 to 1.
    public var progress: Double { total > 0 ? min(1, Double(received) / Double(total)) : 1 }
}
