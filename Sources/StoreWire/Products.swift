/// Asks for what the store tells of products. Sent to ``StoreRoute/products``.
public struct ProductsRequest: Codable, Sendable, Equatable {
    public var bundleID: BundleID
    /// At most ``StoreLimits/productsInOneRequest``.
    public var productIDs: [ProductID]
    /// The app's preferred languages as BCP 47 or POSIX names, best first; the store answers in the first it has.
    public var languages: [String]
    /// The numbers of apps or products, of any app of the store, for a page about them; at most ``StoreLimits/itemsInOneRequest``. Nil is none.
    public var itemIDs: [Int64]?
    /// True when a payment sheet asks, which needs ``ProductsResponse/customer`` too.
    public var isForSheet: Bool?

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
}

/// What the store tells of products.
public struct ProductsResponse: Codable, Sendable, Equatable {
    public var products: [ProductDescription]
    /// The identifiers that are unknown, not on sale, or not available in the storefront.
    public var invalidProductIDs: [ProductID]
    public var storefront: StorefrontDescription
    /// What ``ProductsRequest/itemIDs`` found, in their order; the unknown ones are left out. Nil when none were asked for.
    public var items: [StoreItem]?
    /// Only for a payment sheet, and when somebody is signed in.
    public var customer: CustomerState?

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
}

/// What the store has a page of: an app, or a product of an app.
public struct StoreItem: Codable, Sendable, Equatable {
    /// The number asked for.
    public var itemID: Int64
    public var bundleID: BundleID
    /// Nil when the catalog does not say.
    public var appName: String?
    /// Nil when the number is the app's own.
    public var product: ProductDescription?

    public init(itemID: Int64, bundleID: BundleID, appName: String?, product: ProductDescription?) {
        self.itemID = itemID
        self.bundleID = bundleID
        self.appName = appName
        self.product = product
    }
}

/// Where an account shops. `countryCode` is ISO 3166-1 alpha-3 (`USA`), `identifier` Apple's storefront number (`143441`).
public struct StorefrontDescription: Codable, Sendable, Hashable {
    public var countryCode: String
    public var identifier: String

    public init(countryCode: String, identifier: String) {
        self.countryCode = countryCode
        self.identifier = identifier
    }
}

/// One product as the device shows it.
public struct ProductDescription: Codable, Sendable, Equatable {
    public var productID: ProductID
    public var kind: ProductKind
    public var displayName: String
    public var description: String
    public var price: Money
    /// A locale identifier that formats the price, `en_US@currency=USD`.
    public var priceLocale: String
    public var isFamilyShareable: Bool
    /// Only for auto-renewable subscriptions.
    public var subscription: SubscriptionDescription?
    /// What the store hosts for it; nil when it hosts nothing that can be downloaded now.
    public var content: HostedContent?

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
}

/// What a subscription adds to its product.
public struct SubscriptionDescription: Codable, Sendable, Equatable {
    public var groupID: SubscriptionGroupID
    public var groupName: String
    /// 1 is the highest level of service.
    public var groupLevel: Int
    public var period: SubscriptionPeriod
    public var introductoryOffer: OfferDescription?
    public var promotionalOffers: [OfferDescription]

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
}

/// An offer of a subscription at another price for a time.
public struct OfferDescription: Codable, Sendable, Equatable {
    /// `free`, `payAsYouGo` or `payUpFront`, the words of `.storekit` files.
    public enum PaymentMode: String, Codable, Sendable, CaseIterable {
        case free
        case payAsYouGo
        case payUpFront
    }

    /// Nil for an introductory offer.
    public var offerID: String?
    public var price: Money
    public var paymentMode: PaymentMode
    public var period: SubscriptionPeriod
    public var numberOfPeriods: Int

    public init(
        offerID: String?, price: Money, paymentMode: PaymentMode, period: SubscriptionPeriod, numberOfPeriods: Int
    ) {
        self.offerID = offerID
        self.price = price
        self.paymentMode = paymentMode
        self.period = period
        self.numberOfPeriods = numberOfPeriods
    }
}

/// A length of time as calendars count it; travels as ISO 8601 (`P1W`, `P3M`, `P7D`).
public struct SubscriptionPeriod: Hashable, Sendable, Codable, CustomStringConvertible {
    public enum Unit: String, Sendable, CaseIterable {
        case day = "D"
        case week = "W"
        case month = "M"
        case year = "Y"
    }

    public var unit: Unit
    public var count: Int

    public init(unit: Unit, count: Int) {
        self.unit = unit
        self.count = count
    }

    /// Reads one ISO 8601 component from 1 to 999; nil for anything else.
    public init?(iso8601 text: some StringProtocol) {
        guard text.first == "P", let last = text.last, let unit = Unit(rawValue: String(last)) else { return nil }
        let digits = text.dropFirst().dropLast()
        guard (1...3).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Int(digits),
            count > 0
        else { return nil }
        self.init(unit: unit, count: count)
    }

    public var description: String { "P\(count)\(unit.rawValue)" }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(iso8601: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a period such as P1M")
        }
        self = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
