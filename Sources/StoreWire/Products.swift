/// Asks for the descriptions of products. Sent to ``StoreRoute/products``.
public struct ProductsRequest: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The products to describe, at most ``StoreLimits/productsInOneRequest``.
    public var productIDs: [ProductID]
    /// The app's preferred languages as BCP 47 or POSIX names, best first. The store answers in the first language that
    /// it has.
    public var languages: [String]
    /// The item numbers of apps or products to show on a page, from any app of the store; at most
    /// ``StoreLimits/itemsInOneRequest``. Nil asks for no items.
    public var itemIDs: [Int64]?
    /// True when a payment sheet asks. The response then includes ``ProductsResponse/customer``.
    public var isForSheet: Bool?

    /// Creates a products request.
    public init(
        bundleID: BundleID, productIDs: [ProductID], languages: [String], itemIDs: [Int64]? = nil,
        isForSheet: Bool? = nil
    ) {
        self.bundleID = bundleID
        self.productIDs = productIDs
        self.languages = languages
        self.itemIDs = itemIDs
        self.isForSheet = isForSheet
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case productIDs = "productIds"
        case languages
        case itemIDs = "itemIds"
        case isForSheet
    }
}

/// The store's descriptions of products.
public struct ProductsResponse: Codable, Sendable, Equatable {
    /// The products that were found.
    public var products: [ProductDescription]
    /// The identifiers that are unknown, not on sale, or not available in the storefront.
    public var invalidProductIDs: [ProductID]
    /// The storefront whose prices the answer uses.
    public var storefront: StorefrontDescription
    /// The items that match ``ProductsRequest/itemIDs``, in the order of the request. Unknown numbers are left out. Nil
    /// when the request asked for no items.
    public var items: [StoreItem]?
    /// The customer's state. Present only when a payment sheet asks and the device is signed in.
    public var customer: CustomerState?

    /// Creates a products response.
    public init(
        products: [ProductDescription], invalidProductIDs: [ProductID], storefront: StorefrontDescription,
        items: [StoreItem]? = nil, customer: CustomerState? = nil
    ) {
        self.products = products
        self.invalidProductIDs = invalidProductIDs
        self.storefront = storefront
        self.items = items
        self.customer = customer
    }

    private enum CodingKeys: String, CodingKey {
        case products
        case invalidProductIDs = "invalidProductIds"
        case storefront, items, customer
    }
}

/// An app, or a product of an app, that has a page in the store.
public struct StoreItem: Codable, Sendable, Equatable {
    /// The item number from the request.
    public var itemID: Int64
    /// The bundle identifier of the app.
    public var bundleID: BundleID
    /// The app's name; nil when the catalog has none.
    public var appName: String?
    /// The product; nil when the item is the app itself.
    public var product: ProductDescription?

    /// Creates a store item.
    public init(itemID: Int64, bundleID: BundleID, appName: String?, product: ProductDescription?) {
        self.itemID = itemID
        self.bundleID = bundleID
        self.appName = appName
        self.product = product
    }

    private enum CodingKeys: String, CodingKey {
        case itemID = "itemId"
        case bundleID = "bundleId"
        case appName, product
    }
}

/// The storefront of an account.
public struct StorefrontDescription: Codable, Sendable, Hashable {
    /// The country's ISO 3166-1 alpha-3 code, such as `USA`.
    public var countryCode: String
    /// Apple's storefront number, such as `143441`.
    public var identifier: String

    /// Creates a storefront description.
    public init(countryCode: String, identifier: String) {
        self.countryCode = countryCode
        self.identifier = identifier
    }
}

/// A product as the device shows it.
public struct ProductDescription: Codable, Sendable, Equatable {
    /// The product's identifier.
    public var productID: ProductID
    /// The product's type.
    public var kind: ProductKind
    /// The product's name in the language of the answer.
    public var displayName: String
    /// The product's description in the language of the answer.
    public var description: String
    /// The price of one item in the account's storefront.
    public var price: Money
    /// A locale identifier that formats the price, such as `en_US@currency=USD`.
    public var priceLocale: String
    /// Whether a family can share the product.
    public var isFamilyShareable: Bool
    /// The subscription's group, period and offers; nil for a product that is not an auto-renewable subscription.
    public var subscription: SubscriptionDescription?
    /// The product's hosted content; nil when no content can be downloaded now.
    public var content: HostedContent?

    /// Creates a product description.
    public init(
        productID: ProductID, kind: ProductKind, displayName: String, description: String, price: Money,
        priceLocale: String,
        isFamilyShareable: Bool, subscription: SubscriptionDescription?, content: HostedContent? = nil
    ) {
        self.productID = productID
        self.kind = kind
        self.displayName = displayName
        self.description = description
        self.price = price
        self.priceLocale = priceLocale
        self.isFamilyShareable = isFamilyShareable
        self.subscription = subscription
        self.content = content
    }

    private enum CodingKeys: String, CodingKey {
        case productID = "productId"
        case kind, displayName, description, price, priceLocale, isFamilyShareable, subscription, content
    }
}

/// The properties that only an auto-renewable subscription has.
public struct SubscriptionDescription: Codable, Sendable, Equatable {
    /// The identifier of the subscription's group.
    public var groupID: SubscriptionGroupID
    /// The name of the subscription's group.
    public var groupName: String
    /// The level of service within the group. 1 is the highest.
    public var groupLevel: Int
    /// The length of one renewal period.
    public var period: SubscriptionPeriod
    /// The introductory offer; nil when the subscription has none.
    public var introductoryOffer: OfferDescription?
    /// The promotional offers.
    public var promotionalOffers: [OfferDescription]

    /// Creates a subscription description.
    public init(
        groupID: SubscriptionGroupID, groupName: String, groupLevel: Int, period: SubscriptionPeriod,
        introductoryOffer: OfferDescription?, promotionalOffers: [OfferDescription]
    ) {
        self.groupID = groupID
        self.groupName = groupName
        self.groupLevel = groupLevel
        self.period = period
        self.introductoryOffer = introductoryOffer
        self.promotionalOffers = promotionalOffers
    }

    private enum CodingKeys: String, CodingKey {
        case groupID = "groupId"
        case groupName, groupLevel, period, introductoryOffer, promotionalOffers
    }
}

/// An offer that sells a subscription at another price for a limited time.
public struct OfferDescription: Codable, Sendable, Equatable {
    /// How an offer is paid. The raw values are the words of `.storekit` files.
    public enum PaymentMode: String, Codable, Sendable, CaseIterable {
        /// The offer costs nothing.
        case free
        /// The customer pays the offer's price once for each period.
        case payAsYouGo
        /// The customer pays the offer's price once, for all periods together.
        case payUpFront
    }

    /// The offer's identifier; nil for an introductory offer.
    public var offerID: String?
    /// The offer's price.
    public var price: Money
    /// How the offer is paid.
    public var paymentMode: PaymentMode
    /// The length of one period of the offer.
    public var period: SubscriptionPeriod
    /// How many periods the offer lasts.
    public var numberOfPeriods: Int

    /// Creates an offer description.
    public init(
        offerID: String?, price: Money, paymentMode: PaymentMode, period: SubscriptionPeriod, numberOfPeriods: Int
    ) {
        self.offerID = offerID
        self.price = price
        self.paymentMode = paymentMode
        self.period = period
        self.numberOfPeriods = numberOfPeriods
    }

    private enum CodingKeys: String, CodingKey {
        case offerID = "offerId"
        case price, paymentMode, period, numberOfPeriods
    }
}

/// A length of calendar time. Messages carry it in ISO 8601 (`P1W`, `P3M`, `P7D`).
public struct SubscriptionPeriod: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A calendar unit. The raw value is the letter of ISO 8601.
    public enum Unit: String, Sendable, CaseIterable {
        /// Days.
        case day = "D"
        /// Weeks.
        case week = "W"
        /// Months.
        case month = "M"
        /// Years.
        case year = "Y"
    }

    /// The calendar unit.
    public var unit: Unit
    /// How many units the period lasts.
    public var count: Int

    /// Creates a subscription period.
    public init(unit: Unit, count: Int) {
        self.unit = unit
        self.count = count
    }

    /// Reads one ISO 8601 component with a count from 1 to 999. Returns nil for anything else.
    public init?(iso8601 text: some StringProtocol) {
        guard text.first == "P", let last = text.last, let unit = Unit(rawValue: String(last)) else { return nil }
        let digits = text.dropFirst().dropLast()
        guard (1...3).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Int(digits),
            count > 0
        else { return nil }
        self.init(unit: unit, count: count)
    }

    /// The period in ISO 8601.
    public var description: String { "P\(count)\(unit.rawValue)" }

    /// Reads the period from a string in ISO 8601.
    /// - Throws: `DecodingError` when the string is not one component such as `P1M`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(iso8601: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a period such as P1M")
        }
        self = value
    }

    /// Writes the period as a string in ISO 8601.
    /// - Throws: the error of `encoder`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
