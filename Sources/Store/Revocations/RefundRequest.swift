import StoreWire

/// Why a customer asks for a refund: Apple's `consumptionRequestReason`.
public enum RefundReason: String, Sendable, CaseIterable {
    /// The customer did not intend to buy.
    case unintendedPurchase = "UNINTENDED_PURCHASE"
    /// The customer did not get the product, or cannot use it.
    case fulfillmentIssue = "FULFILLMENT_ISSUE"
    /// The customer is not satisfied with the product.
    case unsatisfied = "UNSATISFIED_WITH_PURCHASE"
    /// A legal reason.
    case legal = "LEGAL"
    /// Another reason.
    case other = "OTHER"

    /// The reason of the refund itself. Apple describes ``RevocationReason/app`` as an actual or perceived issue.
    var revocationReason: RevocationReason {
        switch self {
        case .fulfillmentIssue, .unsatisfied: .app
        case .unintendedPurchase, .legal, .other: .other
        }
    }
}

/// A customer's request for the refund of a transaction. Dates are milliseconds since 1970 by the store's clock.
public struct RefundRequest: Sendable, Equatable {
    /// The state of a request. The raw values are those of the database.
    public enum State: String, Sendable, CaseIterable {
        /// The request is not decided.
        case waiting
        /// The transaction was refunded.
        case approved
        /// The refund was refused.
        case declined
    }

    /// The identifier, from the series of transaction identifiers.
    public let requestID: TransactionID
    /// The transaction that the customer wants refunded.
    public let transactionID: TransactionID
    /// The customer.
    public let accountID: AccountID
    /// The app.
    public let bundleID: BundleID
    /// The product.
    public let productID: ProductID
    /// Why the customer asks.
    public let reason: RefundReason
    /// When the customer asked.
    public let requestedAt: Int64
    /// Until when the app's server can say how the purchase was used. Then the store decides by its rule.
    public let deadline: Int64
    /// The state of the request.
    public let state: State
    /// The last answer of the app's server; nil for none.
    public let consumption: ConsumptionAnswer?
    /// When the request was decided; nil while it waits.
    public let decidedAt: Int64?
}

/// A decision on a request for a refund.
public enum RefundDecision: Sendable, Equatable {
    /// Give the payment back, all of it or a part. A prorated refund of a product that is no subscription period gives
    /// back the part that the app's server says is not used; half, as Apple's sandbox does, when it does not say.
    case approve(RefundShare)
    /// Refuse the refund.
    case decline

    /// The state of a request after the decision.
    var state: RefundRequest.State {
        switch self {
        case .approve: .approved
        case .decline: .declined
        }
    }
}

/// How a request for a refund is approved.
struct RefundApproval: Sendable {
    /// The part of a product that counts as used when nobody says how much, in thousandths of a per cent.
    static let usualConsumption: Int64 = 50_000

    /// The request.
    let requestID: TransactionID
    /// How much of a product that is no subscription period was used, in thousandths of a per cent.
    let consumed: Int64
    /// The date after which a subscription period is unused: when the customer asked, if the rule decides; nil for the
    /// date of the refund.
    let unusedSince: Int64?
    /// When the refund is made, in milliseconds since 1970; nil for now.
    let date: Int64?

    init(_ request: RefundRequest, at date: Int64?) {
        unusedSince = date == nil ? nil : request.requestedAt
        requestID = request.requestID
        consumed = request.consumption?.consumed ?? Self.usualConsumption
        self.date = date
    }
}

/// The requests for refunds that the operator asks for. Properties that are nil select every request.
public struct RefundRequestFilter: Sendable, Equatable {
    /// The most requests of one answer.
    public static let most = 200

    /// The app.
    public var bundleID: BundleID?
    /// The state.
    public var state: RefundRequest.State?
    /// The request before which the list begins; nil for the newest.
    public var before: TransactionID?
    /// The most requests, 1 to ``most``.
    public var limit: Int

    /// Creates a filter.
    public init(
        bundleID: BundleID? = nil, state: RefundRequest.State? = nil, before: TransactionID? = nil, limit: Int = 50
    ) {
        self.bundleID = bundleID
        self.state = state
        self.before = before
        self.limit = min(max(limit, 1), Self.most)
    }
}
