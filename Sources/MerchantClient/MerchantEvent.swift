import MerchantWire

/// What happens while purchases are redeemed and content comes.
public enum MerchantEvent: Sendable, Equatable {
    /// The merchant has a purchase down in its books, for this user or for the one whom it names as its owner.
    case redeemed(RedeemedTransaction)
    /// The merchant could not be asked about a purchase. It is asked again by itself, after so many seconds; after a refused
    /// token (nil), when ``MerchantClient/userChanged()`` or ``MerchantClient/tryAgain()`` says so, or at the next launch.
    case waiting(MerchantPurchase, MerchantClientError, seconds: Double?)
    /// The merchant will not have it. The transaction stays in StoreKit's queue, and comes again at the next launch, until
    /// the app finishes it.
    case refused(MerchantPurchase, MerchantClientError)
    /// A download began, or moved on.
    case downloading(MerchantDownload)
    /// Content is on the disk, whole.
    case delivered(MerchantContent)
    /// Content did not come. It is tried again after so many seconds; nil as in `waiting`.
    case notDelivered(ContentItemID, MerchantClientError, seconds: Double?)
    /// A purchase is settled, and its StoreKit transaction was finished.
    case finished(MerchantPurchase)
    /// What was begun could not be written down. It goes on; StoreKit's queue knows of it, too.
    case problem(MerchantClientError)
}

/// A purchase by its names.
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

/// How far a download is.
public struct MerchantDownload: Sendable, Equatable {
    /// The content item.
    public var item: ContentItemID
    /// 1, 2, 3…
    public var version: Int64
    /// Bytes that have come, those of earlier attempts included.
    public var received: Int64
    /// Bytes in all.
    public var total: Int64
    /// Nil while it cannot be told.
    public var secondsLeft: Double?

    /// Creates a download's progress.
    public init(item: ContentItemID, version: Int64, received: Int64, total: Int64, secondsLeft: Double?) {
        self.item = item
        self.version = version
        self.received = received
        self.total = total
        self.secondsLeft = secondsLeft
    }

    /// From 0 to 1.
    public var progress: Double { total > 0 ? min(1, Double(received) / Double(total)) : 1 }
}
