import Foundation

/// Opens the page of an item in an app. Sent to ``StoreRoute/openVisit``.
public struct VisitRequest: Codable, Sendable, Equatable {
    /// The item's number.
    public var item: Int64
    /// The in-app purchase to show first on an app's page; ignored when the app has no such purchase.
    public var productID: ProductID?
    /// The campaign that led to the page; nil without one. Counted as the campaign of a link.
    public var campaign: VisitCampaign?
    /// The address to which the browser returns from the page, such as the app's own page. Only a loopback address of
    /// the customer's machine is accepted: `http` or `https`, and `127.0.0.1`, `localhost` or a name under `localhost`.
    public var returnAddress: String?

    /// Creates a request.
    public init(item: Int64, productID: ProductID? = nil, campaign: VisitCampaign? = nil) {
        self.item = item
        self.productID = productID
        self.campaign = campaign
    }

    private enum CodingKeys: String, CodingKey {
        case item
        case productID = "productId"
        case campaign
        case returnAddress
    }
}

/// The campaign that led a customer to an item's page.
public struct VisitCampaign: Codable, Sendable, Equatable {
    /// The affiliate's token, `at` in links.
    public var affiliate: String?
    /// The campaign's name, `ct` in links.
    public var campaign: String?
    /// The provider's number, `pt` in links.
    public var provider: String?

    /// Creates a campaign.
    public init(affiliate: String? = nil, campaign: String? = nil, provider: String? = nil) {
        self.affiliate = affiliate
        self.campaign = campaign
        self.provider = provider
    }

    private enum CodingKeys: String, CodingKey {
        case affiliate = "at"
        case campaign = "ct"
        case provider = "pt"
    }
}

/// A page that was opened for a customer.
public struct VisitDescription: Codable, Sendable, Equatable {
    /// The visit's identifier, which only the device and the page know.
    public var id: String
    /// The page's address. Anyone who knows it can buy the item with the customer's account for half an hour.
    public var url: String
    /// The item's name in the customer's language.
    public var name: String
    /// The item's creator.
    public var creator: String
    /// The price as the customer reads it; nil when the item is not sold by itself.
    public var price: String?
    /// The price; nil when the item is not sold by itself.
    public var amount: Money?
    /// Whether the customer owns the item.
    public var isOwned: Bool
    /// The files that the item's owner downloads, a whole album's for an album; nil when there are none.
    public var files: [ItemFileDescription]?
    /// The item's ratings and newest reviews in the customer's storefront.
    public var reviews: ItemReviews?

    /// Creates a description.
    public init(
        id: String, url: String, name: String, creator: String, price: String?, amount: Money?, isOwned: Bool,
        files: [ItemFileDescription]? = nil, reviews: ItemReviews? = nil
    ) {
        self.reviews = reviews
        self.id = id
        self.url = url
        self.name = name
        self.creator = creator
        self.price = price
        self.amount = amount
        self.isOwned = isOwned
        self.files = files
    }
}

/// The state of a visit.
public enum VisitState: String, Codable, Sendable {
    /// The customer looks at the page.
    case open
    /// The customer bought the item. The page stays usable.
    case bought
    /// The customer closed the page without buying.
    case closed
}

/// Buys an item. Sent to ``StoreRoute/buyItem``.
public struct ItemPurchaseMessage: Codable, Sendable, Equatable {
    /// The item's number.
    public var item: Int64
    /// The price that the customer agreed to; nil for whatever it costs.
    public var agreedPrice: Money?
    /// Repeating a request with the same key returns the first answer and buys nothing again.
    public var idempotencyKey: UUID

    /// Creates a request.
    public init(item: Int64, agreedPrice: Money? = nil, idempotencyKey: UUID) {
        self.item = item
        self.agreedPrice = agreedPrice
        self.idempotencyKey = idempotencyKey
    }
}

/// A file that the owner of an item downloads.
public struct ItemFileDescription: Codable, Sendable, Hashable {
    /// The number of the item whose file it is: for a file of an album, the song's.
    public var item: Int64
    /// The item's name in the account's storefront.
    public var title: String
    /// The file's name, such as `first-branch.wav`.
    public var name: String
    /// The file's length in bytes.
    public var length: Int64
    /// The SHA-256 in lower-case hexadecimal; nil until a device first asks for the file's address, which makes the
    /// store import and hash the file.
    public var sha256: String?

    /// Creates a description.
    public init(item: Int64, title: String, name: String, length: Int64, sha256: String? = nil) {
        self.item = item
        self.title = title
        self.name = name
        self.length = length
        self.sha256 = sha256
    }
}

/// An item that an account owns.
public struct OwnedItem: Codable, Sendable, Equatable {
    /// The identifier of its purchase.
    public var transactionID: TransactionID
    /// The item's number.
    public var item: Int64
    /// The item's name in the account's storefront; nil when the catalog no longer has the item.
    public var name: String?
    /// The kind of item, such as `song`; nil when the catalog no longer has it.
    public var kind: String?
    /// The amount that was paid.
    public var price: Money
    /// When it was bought, in milliseconds since 1970.
    public var purchaseDate: Int64
    /// The item's file, or those of an album's songs or a season's episodes; nil when there are none.
    public var files: [ItemFileDescription]?

    /// Creates a description.
    public init(
        transactionID: TransactionID, item: Int64, name: String?, kind: String?, price: Money, purchaseDate: Int64,
        files: [ItemFileDescription]? = nil
    ) {
        self.transactionID = transactionID
        self.item = item
        self.name = name
        self.kind = kind
        self.price = price
        self.purchaseDate = purchaseDate
        self.files = files
    }

    private enum CodingKeys: String, CodingKey {
        case transactionID = "transactionId"
        case item, name, kind, price, purchaseDate, files
    }
}

/// A page of the account's items, in the order of their purchases.
public struct LibraryResponse: Codable, Sendable, Equatable {
    /// The items.
    public var items: [OwnedItem]
    /// Whether more follow; ask again with the last one's transaction.
    public var hasMore: Bool

    /// Creates a response.
    public init(items: [OwnedItem], hasMore: Bool) {
        self.items = items
        self.hasMore = hasMore
    }
}
