import Crypto
import Foundation
import StoreWire

/// An app with its products.
public struct CatalogApp: Sendable, Equatable {
    /// The app's bundle identifier.
    public let bundleID: BundleID
    /// The app's name for customers. `.storekit` files do not contain it.
    public var name: String?
    /// Consumables and non-consumables first, then non-renewing and free subscriptions, then the groups' subscriptions,
    /// group by group, each in the file's order.
    public private(set) var products: [CatalogProduct]
    /// The subscription groups, in the file's order.
    public private(set) var groups: [CatalogSubscriptionGroup]
    /// The settings of the file, such as the default storefront.
    public var settings: CatalogSettings
    /// The app's number in the catalog: that of its item, else App Store Connect's number if the file has it, else ten
    /// digits generated from the bundle id. Unique in a ``Catalog``. Receipts have ``AppRecord/appID`` instead.
    public internal(set) var itemID: Int64
    /// The other top-level keys: `appPolicies`, unknown keys, and `subscriptionOffersKeyPair`, the key that signs
    /// promotional offers.
    public var unknown: [String: JSONValue]
    private var indices: [ProductID: Int]

    /// Creates an app, and sorts and numbers its products. If products have the same identifier, ``product(_:)`` finds
    /// the first; the readers refuse such files.
    public init(
        bundleID: BundleID, name: String?, products: [CatalogProduct], groups: [CatalogSubscriptionGroup],
        settings: CatalogSettings, unknown: [String: JSONValue]
    ) {
        self.bundleID = bundleID
        self.name = name
        self.groups = groups
        self.settings = settings
        self.unknown = unknown
        itemID = CatalogItemID.app(bundleID, settings.applicationInternalID)
        let ranks = Dictionary(groups.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let sorted = products.enumerated().sorted { left, right in
            let (first, second) = (Self.rank(left.element, ranks), Self.rank(right.element, ranks))
            return (first, left.offset) < (second, right.offset)
        }
        self.products = CatalogItemID.numbered(sorted.map(\.element), of: bundleID)
        indices = Dictionary(
            self.products.enumerated().map { ($1.productID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The product with this identifier; nil when the app has none.
    public func product(_ productID: ProductID) -> CatalogProduct? { indices[productID].map { products[$0] } }

    /// The subscription group with this identifier; nil when the app has none.
    public func group(_ groupID: SubscriptionGroupID) -> CatalogSubscriptionGroup? { groups.first { $0.id == groupID } }

    /// The groups' subscriptions, each group's in their order.
    var subscriptions: [SubscriptionGroupID: [CatalogProduct]] {
        products.reduce(into: [:]) { groups, product in
            if let groupID = product.subscription?.groupID { groups[groupID, default: []].append(product) }
        }
    }

    /// The storefront in the file's settings; the United States when the file names none.
    public var storefront: Storefront { settings.storefront.flatMap(Storefront.named) ?? .unitedStates }

    /// Changes a product's number. ``Catalog`` uses this to resolve collisions with other apps.
    mutating func setItemID(_ itemID: Int64, ofProductAt index: Int) { products[index].itemID = itemID }

    /// The app with these of its products only. They keep their numbers.
    func selling(_ products: [CatalogProduct]) -> CatalogApp {
        var app = self
        app.products = products
        app.indices = Dictionary(
            products.enumerated().map { ($1.productID, $0) }, uniquingKeysWith: { first, _ in first })
        return app
    }

    private static func rank(_ product: CatalogProduct, _ groups: [SubscriptionGroupID: Int]) -> Int {
        switch product.kind {
        case .consumable, .nonConsumable: 0
        case .nonRenewingSubscription: 1
        case .freeSubscription: 2
        case .autoRenewableSubscription: 3 + (product.subscription.flatMap { groups[$0.groupID] } ?? groups.count)
        }
    }
}

/// The settings of a catalog file for an app.
public struct CatalogSettings: Sendable, Hashable {
    /// The `.storekit` file's `identifier`: eight hexadecimal digits, or a name.
    public var identifier: String?
    /// The `.storekit` file's version; 4.0 when the file has none.
    public var version: StoreKitFileVersion
    /// ISO 3166-1 alpha-3 (`_storefront`).
    public var storefront: String?
    /// The language of the prices (`_locale`).
    public var locale: String?
    /// App Store Connect's number of the app (`_applicationInternalID`), in synchronised files.
    public var applicationInternalID: String?
    /// The other settings, with their underscores: `_timeRate`, `_askToBuyEnabled`, `_storeKitErrors` and so on.
    public var unknown: [String: JSONValue]

    /// Creates settings.
    public init(
        identifier: String?, version: StoreKitFileVersion, storefront: String?, locale: String?,
        applicationInternalID: String?,
        unknown: [String: JSONValue]
    ) {
        self.identifier = identifier
        self.version = version
        self.storefront = storefront
        self.locale = locale
        self.applicationInternalID = applicationInternalID
        self.unknown = unknown
    }
}

/// The version of a `.storekit` file.
public struct StoreKitFileVersion: Sendable, Hashable {
    /// The major version, 1 to 5.
    public var major: Int
    /// The minor version.
    public var minor: Int

    /// Creates a version.
    public init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// The major versions that can be read.
    public static let majors = 1...5
    static let minors = 0...1_000_000
    /// The default version, 4.0.
    public static let usual = StoreKitFileVersion(major: 4, minor: 0)
}

/// The numbers of apps and products, which App Store Connect assigns in Apple's store.
enum CatalogItemID {
    /// Parses App Store Connect's number, 9 to 15 digits. Eight digits could be an Xcode identifier, which has eight
    /// hexadecimal digits.
    static func number(_ text: String?) -> Int64? {
        guard let text, (9...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            text.first != "0"
        else { return nil }
        return Int64(text)
    }

    /// The number of an app. Generated numbers begin with 1.
    static func app(_ bundleID: BundleID, _ internalID: String?) -> Int64 {
        number(internalID) ?? 1_000_000_000 + nineDigits(bundleID.rawValue)
    }

    /// The generated number of a product, which begins with 6. Another `attempt` gives another number.
    static func product(_ productID: ProductID, of bundleID: BundleID, attempt: Int) -> Int64 {
        6_000_000_000 + nineDigits("\(bundleID)\n\(productID)\n\(attempt)")
    }

    /// Numbers the products. If several have the same App Store Connect number, the first keeps it and the others get
    /// generated numbers.
    static func numbered(_ products: [CatalogProduct], of bundleID: BundleID) -> [CatalogProduct] {
        var products = products
        var taken: Set<Int64> = []
        for index in products.indices {
            guard let itemID = number(products[index].internalID), taken.insert(itemID).inserted else { continue }
            products[index].itemID = itemID
        }
        for index in products.indices where products[index].itemID == 0 {
            products[index].itemID = free(products[index].productID, of: bundleID, in: &taken)
        }
        return products
    }

    /// Returns the first generated number that is not taken, and marks it as taken.
    static func free(_ productID: ProductID, of bundleID: BundleID, in taken: inout Set<Int64>) -> Int64 {
        var attempt = 0
        while true {
            let itemID = product(productID, of: bundleID, attempt: attempt)
            if taken.insert(itemID).inserted { return itemID }
            attempt += 1
        }
    }

    private static func nineDigits(_ text: String) -> Int64 {
        let digest = SHA256.hash(data: Data(text.utf8))
        return Int64(digest.prefix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000_000)
    }
}
