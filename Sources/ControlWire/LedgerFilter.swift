/// The rows of the ledger that ``ControlRoute/transactions(_:_:before:limit:)`` lists. Properties that are nil select
/// every row.
///
/// No index serves a filter other than the account. The store looks at 20,000 rows for one request, and then answers
/// with the cursor to look further.
public struct LedgerFilter: Sendable, Hashable {
    /// The state of a transaction.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// No device has finished the transaction, and it was not refunded.
        case unfinished
        /// A device finished the transaction, and it was not refunded. Every purchase of an item is finished.
        case finished
        /// The transaction was refunded.
        case refunded
    }

    /// The bundle identifier of the app. Items of the storefront belong to none.
    public var bundle: String?
    /// The identifier of the product; `item.1400000004` for an item of the storefront.
    public var product: String?
    /// The kind of product, such as `consumable`; `item` for items of the storefront.
    public var kind: String?
    /// The state.
    public var state: State?
    /// The first purchase date, in ISO 8601.
    public var from: String?
    /// The purchase date before which the list ends, in ISO 8601.
    public var until: String?
    /// The e-mail address or the identifier of the account.
    public var account: String?

    /// Creates a filter.
    public init(
        bundle: String? = nil, product: String? = nil, kind: String? = nil, state: State? = nil, from: String? = nil,
        until: String? = nil, account: String? = nil
    ) {
        self.bundle = bundle
        self.product = product
        self.kind = kind
        self.state = state
        self.from = from
        self.until = until
        self.account = account
    }

    var query: [(ControlRoute.Parameter, String?)] {
        [
            (.bundle, bundle), (.product, product), (.kind, kind), (.state, state?.rawValue), (.from, from),
            (.until, until), (.account, account),
        ]
    }
}

/// The attempts that ``ControlRoute/attempts(_:_:before:limit:)`` lists. Properties that are nil select every attempt.
/// The store looks at 20,000 rows for one request, and then answers with the cursor to look further.
public struct AttemptFilter: Sendable, Hashable {
    /// The bundle identifier of the app.
    public var bundle: String?
    /// The identifier of the product.
    public var product: String?
    /// The result. Nil lists the attempts that did not succeed at once, with their present state; `bought` lists the
    /// purchases of the ledger instead.
    public var state: ControlAPI.Attempt.State?
    /// The e-mail address or the identifier of the account.
    public var account: String?

    /// Creates a filter.
    public init(
        bundle: String? = nil, product: String? = nil, state: ControlAPI.Attempt.State? = nil, account: String? = nil
    ) {
        self.bundle = bundle
        self.product = product
        self.state = state
        self.account = account
    }

    var query: [(ControlRoute.Parameter, String?)] {
        [(.bundle, bundle), (.product, product), (.state, state?.rawValue), (.account, account)]
    }
}

/// A property by which ``ControlRoute/accounts(_:after:start:flag:limit:)`` selects accounts.
public enum AccountFlag: String, Codable, Sendable, CaseIterable {
    /// The account is locked.
    case locked
    /// Purchases wait for approval (Ask to Buy).
    case asksToBuy
    /// Each purchase is interrupted.
    case interruptsPurchases
    /// The account may not buy.
    case paymentsForbidden
    /// The account has bought no product for 180 days of the store's clock.
    case inactive
}

/// The current periods of subscriptions that ``ControlRoute/subscribers(_:_:before:limit:)`` lists. Properties that are
/// nil select every one. The store looks at 20,000 transactions for one request, and then answers with the cursor to
/// look further.
public struct SubscriberFilter: Sendable, Hashable {
    /// The bundle identifier of the app.
    public var bundle: String?
    /// The identifier of the subscription group.
    public var group: String?
    /// The identifier of the subscription product.
    public var product: String?

    /// Creates a filter.
    public init(bundle: String? = nil, group: String? = nil, product: String? = nil) {
        self.bundle = bundle
        self.group = group
        self.product = product
    }

    var query: [(ControlRoute.Parameter, String?)] {
        [(.bundle, bundle), (.group, group), (.product, product)]
    }
}

/// The products that ``ControlRoute/preview(_:_:)`` shows, with the storefront, languages and customer.
public struct PreviewQuery: Sendable, Hashable {
    /// The bundle identifier of the app.
    public var bundle: String
    /// The one identifier that the app asks for; nil for those of all products, also unsold ones.
    public var product: String?
    /// The storefront's country code; nil for the customer's, else the app's default.
    public var storefront: String?
    /// The device's languages, best first, with commas between them; nil for the storefront's.
    public var language: String?
    /// The customer's e-mail address or identifier; nil for somebody who is not signed in.
    public var account: String?
    /// The identifier after which the list begins.
    public var after: String?
    /// The most identifiers, 1 to 200.
    public var limit: Int?

    /// Creates a query.
    public init(
        bundle: String, product: String? = nil, storefront: String? = nil, language: String? = nil,
        account: String? = nil, after: String? = nil, limit: Int? = nil
    ) {
        self.bundle = bundle
        self.product = product
        self.storefront = storefront
        self.language = language
        self.account = account
        self.after = after
        self.limit = limit
    }

    var query: [(ControlRoute.Parameter, String?)] {
        [
            (.bundle, bundle), (.product, product), (.storefront, storefront), (.language, language),
            (.account, account), (.after, after), (.limit, limit.map(String.init)),
        ]
    }
}
