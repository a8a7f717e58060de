/// The catalog in full.
extension ControlAPI {
    /// The catalog's files and their problems.
    public struct CatalogState: Codable, Sendable, Equatable {
        /// The files that the store loads and watches.
        public var files: [String]
        /// The date on which the catalog in use was loaded, as ISO 8601 with milliseconds in UTC.
        public var loadedDate: String
        /// Notes on the files for the operator, such as a bundle identifier that was derived.
        public var notes: [String]
        /// The problems that kept changed files from being loaded; empty when the catalog in use matches the files. The
        /// old catalog stays in use meanwhile.
        public var problems: [CatalogProblem]
        /// The date on which the problems were found; nil without problems.
        public var problemsDate: String?

        /// Creates the catalog's state.
        public init(
            files: [String], loadedDate: String, notes: [String], problems: [CatalogProblem],
            problemsDate: String? = nil
        ) {
            self.files = files
            self.loadedDate = loadedDate
            self.notes = notes
            self.problems = problems
            self.problemsDate = problemsDate
        }
    }

    /// A problem in a catalog file.
    public struct CatalogProblem: Codable, Sendable, Equatable {
        /// The file's path.
        public var file: String
        /// The line, from 1; nil when the problem concerns no place in the file.
        public var line: Int?
        /// The column in characters, from 1; nil when the problem concerns no place in the file.
        public var column: Int?
        /// The path in the document, such as `products[2].displayPrice`; empty for the whole file.
        public var keyPath: String
        /// A sentence: what is wrong, and how to correct it.
        public var message: String

        /// Creates a problem.
        public init(file: String, line: Int? = nil, column: Int? = nil, keyPath: String, message: String) {
            self.file = file
            self.line = line
            self.column = column
            self.keyPath = keyPath
            self.message = message
        }
    }

    /// An app of the catalog with its products in full.
    public struct CatalogApp: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The app's name for customers; nil when the file has none.
        public var name: String?
        /// The app's Apple ID (“adam id”).
        public var appId: Int64?
        /// The default storefront, as an ISO 3166-1 alpha-3 code.
        public var storefront: String
        /// The app's catalog file; nil when the app does not come from a file.
        public var file: String?
        /// The subscription groups.
        public var groups: [CatalogGroup]
        /// The products in the order of the catalog.
        public var products: [CatalogProduct]

        /// Creates an app.
        public init(
            bundleId: String, name: String? = nil, appId: Int64? = nil, storefront: String, file: String? = nil,
            groups: [CatalogGroup], products: [CatalogProduct]
        ) {
            self.bundleId = bundleId
            self.name = name
            self.appId = appId
            self.storefront = storefront
            self.file = file
            self.groups = groups
            self.products = products
        }
    }

    /// A group of subscriptions.
    public struct CatalogGroup: Codable, Sendable, Equatable {
        /// The group's identifier.
        public var id: String
        /// The seller's name of the group.
        public var name: String
        /// The names for customers.
        public var texts: [CatalogText]

        /// Creates a group.
        public init(id: String, name: String, texts: [CatalogText]) {
            self.id = id
            self.name = name
            self.texts = texts
        }
    }

    /// A name and description in one language.
    public struct CatalogText: Codable, Sendable, Equatable {
        /// The language, such as `en_US`.
        public var locale: String
        /// The name that customers see.
        public var displayName: String
        /// The description that customers see.
        public var description: String?

        /// Creates a text.
        public init(locale: String, displayName: String, description: String? = nil) {
            self.locale = locale
            self.displayName = displayName
            self.description = description
        }
    }

    /// The price in one storefront.
    public struct CatalogPrice: Codable, Sendable, Equatable {
        /// The storefront's country, as an ISO 3166-1 alpha-3 code.
        public var storefront: String
        /// The price as a decimal.
        public var price: String
        /// The currency, as an ISO 4217 code.
        public var currency: String

        /// Creates a price.
        public init(storefront: String, price: String, currency: String) {
            self.storefront = storefront
            self.price = price
            self.currency = currency
        }
    }

    /// A product of the catalog: its kind, prices, texts and subscription.
    public struct CatalogProduct: Codable, Sendable, Equatable {
        /// The identifier of the product.
        public var productId: String
        /// The product's kind, such as `consumable`.
        public var kind: String
        /// The seller's own name for the product.
        public var referenceName: String?
        /// The product's number (`item_id` of a receipt).
        public var itemId: Int64
        /// The prices, one for each storefront that sells the product. A request for the whole app
        /// (``ControlRoute/app(bundle:product:)`` without `product`) lists only the app's default storefront. Empty
        /// when no listed storefront sells the product.
        public var prices: [CatalogPrice]
        /// Whether the file marks the product for Family Sharing.
        public var familyShareable: Bool
        /// Whether the file says that the store hosts content for the product.
        public var hosted: Bool
        /// The names and descriptions.
        public var texts: [CatalogText]
        /// The subscription's properties; nil for other kinds.
        public var subscription: CatalogSubscription?
        /// The line of the app's file that describes the product; nil when unknown, and in answers about the whole app.
        public var line: Int?

        /// Creates a product.
        public init(
            productId: String, kind: String, referenceName: String? = nil, itemId: Int64, prices: [CatalogPrice],
            familyShareable: Bool, hosted: Bool, texts: [CatalogText], subscription: CatalogSubscription? = nil,
            line: Int? = nil
        ) {
            self.productId = productId
            self.kind = kind
            self.referenceName = referenceName
            self.itemId = itemId
            self.prices = prices
            self.familyShareable = familyShareable
            self.hosted = hosted
            self.texts = texts
            self.subscription = subscription
            self.line = line
        }
    }

    /// The properties of an auto-renewable subscription.
    public struct CatalogSubscription: Codable, Sendable, Equatable {
        /// The identifier of the subscription's ``CatalogGroup``.
        public var groupId: String
        /// The level of service; 1 is the highest.
        public var level: Int
        /// The length of a period, such as `P1M`.
        public var period: String
        /// The offers of all kinds.
        public var offers: [CatalogOffer]

        /// Creates a subscription's properties.
        public init(groupId: String, level: Int, period: String, offers: [CatalogOffer]) {
            self.groupId = groupId
            self.level = level
            self.period = period
            self.offers = offers
        }
    }

    /// An offer of a subscription.
    public struct CatalogOffer: Codable, Sendable, Equatable {
        /// The kind: `introductory`, `promotional`, `code` or `winBack`.
        public var kind: String
        /// The offer's identifier; nil for an introductory offer.
        public var offerId: String?
        /// The seller's own name for the offer.
        public var referenceName: String?
        /// The payment mode: `payAsYouGo`, `payUpFront` or `free`.
        public var paymentMode: String
        /// The length of one period of the offer, such as `P1W`.
        public var period: String
        /// The number of periods.
        public var numberOfPeriods: Int
        /// The prices: of a period, or with `payUpFront` of all periods together; empty when the offer is free. The
        /// storefronts are those of ``CatalogProduct/prices``.
        public var prices: [CatalogPrice]

        /// Creates an offer.
        public init(
            kind: String, offerId: String? = nil, referenceName: String? = nil, paymentMode: String, period: String,
            numberOfPeriods: Int, prices: [CatalogPrice]
        ) {
            self.kind = kind
            self.offerId = offerId
            self.referenceName = referenceName
            self.paymentMode = paymentMode
            self.period = period
            self.numberOfPeriods = numberOfPeriods
            self.prices = prices
        }
    }
}
