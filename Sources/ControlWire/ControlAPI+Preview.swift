/// An app's products as a device gets them.
extension ControlAPI {
    /// The answer to an app's request for products.
    public struct Preview: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The app's name for customers.
        public var name: String?
        /// The app's Apple ID (“adam id”).
        public var appId: Int64?
        /// The storefront's country code, three letters.
        public var storefront: String
        /// The storefront's number, such as `143441`.
        public var storefrontId: String
        /// The e-mail address of the customer; nil for somebody who is not signed in.
        public var account: String?
        /// Whether the customer may make payments; nil without a customer.
        public var paymentsAllowed: Bool?
        /// The products of the answer (`SKProductsResponse.products`).
        public var products: [PreviewProduct]
        /// The other identifiers (`SKProductsResponse.invalidProductIdentifiers`), each with the reason.
        public var invalid: [InvalidProduct]
        /// The identifier after which the list continues: the next request's `after`. Nil at the end.
        public var next: String?

        /// Creates a preview.
        public init(
            bundleId: String, name: String?, appId: Int64?, storefront: String, storefrontId: String,
            account: String?, paymentsAllowed: Bool?, products: [PreviewProduct], invalid: [InvalidProduct],
            next: String?
        ) {
            self.bundleId = bundleId
            self.name = name
            self.appId = appId
            self.storefront = storefront
            self.storefrontId = storefrontId
            self.account = account
            self.paymentsAllowed = paymentsAllowed
            self.products = products
            self.invalid = invalid
            self.next = next
        }
    }

    /// A price, and the text that customers read.
    public struct PreviewPrice: Codable, Sendable, Equatable {
        /// The price as a decimal.
        public var price: String
        /// The currency, as an ISO 4217 code.
        public var currency: String
        /// The price in the locale of the answer, such as `0,99 €`.
        public var text: String

        /// Creates a price.
        public init(price: String, currency: String, text: String) {
            self.price = price
            self.currency = currency
            self.text = text
        }
    }

    /// A product as `SKProduct` describes it.
    public struct PreviewProduct: Codable, Sendable, Equatable {
        /// The identifier of the product.
        public var productId: String
        /// The product's kind, such as `consumable`.
        public var kind: String
        /// The name in the language of the answer (`localizedTitle`).
        public var displayName: String
        /// The description in the language of the answer (`localizedDescription`).
        public var description: String
        /// The price.
        public var price: PreviewPrice
        /// The locale that formats the price (`priceLocale`), such as `en_US@currency=USD`.
        public var priceLocale: String
        /// Whether a family can share the product.
        public var familyShareable: Bool
        /// The version of the hosted content; nil when the product has none to download now.
        public var contentVersion: String?
        /// The size of the hosted content in bytes.
        public var contentLength: Int64?
        /// The subscription's properties; nil for other kinds.
        public var subscription: PreviewSubscription?
        /// Whether the customer owns the product for good; nil without a customer.
        public var owned: Bool?

        /// Creates a product.
        public init(
            productId: String, kind: String, displayName: String, description: String, price: PreviewPrice,
            priceLocale: String, familyShareable: Bool, contentVersion: String?, contentLength: Int64?,
            subscription: PreviewSubscription?, owned: Bool?
        ) {
            self.productId = productId
            self.kind = kind
            self.displayName = displayName
            self.description = description
            self.price = price
            self.priceLocale = priceLocale
            self.familyShareable = familyShareable
            self.contentVersion = contentVersion
            self.contentLength = contentLength
            self.subscription = subscription
            self.owned = owned
        }
    }

    /// The properties of a subscription as `SKProduct` describes them.
    public struct PreviewSubscription: Codable, Sendable, Equatable {
        /// The identifier of the group.
        public var groupId: String
        /// The group's name in the language of the answer.
        public var groupName: String
        /// The level of service; 1 is the highest.
        public var level: Int
        /// The length of a period, such as `P1M`.
        public var period: String
        /// The introductory and promotional offers.
        public var offers: [PreviewOffer]
        /// Whether the store would sell the introductory offer to the customer; nil without a customer.
        public var isNewSubscriber: Bool?

        /// Creates a subscription's properties.
        public init(
            groupId: String, groupName: String, level: Int, period: String, offers: [PreviewOffer],
            isNewSubscriber: Bool?
        ) {
            self.groupId = groupId
            self.groupName = groupName
            self.level = level
            self.period = period
            self.offers = offers
            self.isNewSubscriber = isNewSubscriber
        }
    }

    /// An offer as `SKProductDiscount` describes it.
    public struct PreviewOffer: Codable, Sendable, Equatable {
        /// The kind: `introductory` or `promotional`.
        public var kind: String
        /// The offer's identifier; nil for an introductory offer.
        public var offerId: String?
        /// The payment mode: `payAsYouGo`, `payUpFront` or `free`.
        public var paymentMode: String
        /// The length of one period of the offer, such as `P1W`.
        public var period: String
        /// The number of periods.
        public var numberOfPeriods: Int
        /// The price of a period.
        public var price: PreviewPrice

        /// Creates an offer.
        public init(
            kind: String, offerId: String?, paymentMode: String, period: String, numberOfPeriods: Int,
            price: PreviewPrice
        ) {
            self.kind = kind
            self.offerId = offerId
            self.paymentMode = paymentMode
            self.period = period
            self.numberOfPeriods = numberOfPeriods
            self.price = price
        }
    }

    /// An invalid identifier with the reason, which a device does not learn.
    public struct InvalidProduct: Codable, Sendable, Equatable {
        /// The identifier that the app asks for.
        public var productId: String
        /// The reason: `unknown`, `storefront`, `in_app_purchase_off`, `checklist`, `removed`, `incomplete` or
        /// `not_approved`.
        public var reason: String
        /// A sentence: what keeps the product from being sold, and what to do.
        public var message: String

        /// Creates an invalid identifier.
        public init(productId: String, reason: String, message: String) {
            self.productId = productId
            self.reason = reason
            self.message = message
        }
    }
}
