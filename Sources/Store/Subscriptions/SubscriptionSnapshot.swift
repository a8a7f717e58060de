import CornerstoreEncoding
import Database
import StoreWire

/// The state of a subscription when news of it is written: what a server notification of the news says.
///
/// The text is JSON with three members: `status`, Apple's number of the state, and `transaction` and `renewalInfo`,
/// which have the members of Apple's `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload` without
/// `signedDate` and `appTransactionId`. Dates are milliseconds since 1970, and prices milliunits.
struct SubscriptionSnapshot {
    private let subscription: Subscription
    /// The last period.
    private let period: Transaction
    private let environment: StoreEnvironment
    /// What the next renewal buys; nil when nothing renews.
    private let renewal: Store.RenewalTerms?
    /// The win-back offers that the customer can buy, the best first.
    private let winBackOffers: [String]

    /// Reads what the snapshot needs, in the database transaction that writes the subscription.
    /// - Parameters:
    ///   - period: the last period, if the caller has it.
    ///   - date: when the news happened.
    /// - Returns: nil when the ledger does not have the last period.
    init?(
        _ subscription: Subscription, period: Transaction?, at date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        guard let period = try period ?? Transactions.find(subscription.transactionID, connection) else { return nil }
        self.subscription = subscription
        self.period = period
        environment = recorder.environment
        let catalog = recorder.catalog.value
        let storefront = Storefront.named(period.storefront) ?? .unitedStates
        // A member of a family pays nothing and has no offers.
        let isOwn = subscription.purchaserID == nil
        if isOwn, subscription.nextChargeDate(after: date, recorder.policy) != nil {
            // An increase counts only while it is announced, or after it was charged.
            let usual = catalog.product(subscription.renewalProductID, of: subscription.bundleID)?.price(in: storefront)
            let isUsual = subscription.priceIncrease == nil && subscription.price == usual
            let increase = isUsual ? nil : try PriceIncreases.next(of: subscription, connection)
            renewal = try? Store.RenewalTerms.make(
                of: subscription, after: period, increase, in: storefront, rate: subscription.rate, catalog, at: date
            ).get()
        } else {
            renewal = nil
        }
        winBackOffers =
            isOwn
            ? try WinBackChoice.all(
                after: subscription, in: storefront, catalog, at: date, recorder.environment, connection
            ).compactMap(\.offer?.offerID) : []
    }

    /// The snapshot for news of a transaction, which is the last period or an earlier one.
    func json(_ transaction: Transaction?) -> String {
        var json = JSONBytes(capacity: 2_048)
        json.beginObject()
        json.member("status", number: Int64(subscription.state.status))
        json.beginObject("transaction")
        Self.write(transaction ?? period, environment, to: &json)
        json.endObject()
        json.beginObject("renewalInfo")
        writeRenewal(to: &json)
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    // MARK: Transaction

    private static func write(
        _ transaction: Transaction, _ environment: StoreEnvironment, to json: inout JSONBytes
    ) {
        json.member("transactionId", quotedNumber: transaction.transactionID.rawValue)
        json.member("originalTransactionId", quotedNumber: transaction.originalTransactionID.rawValue)
        if let id = transaction.webOrderLineItemID { json.member("webOrderLineItemId", quotedNumber: id) }
        json.member("bundleId", transaction.bundleID.rawValue)
        json.member("productId", transaction.productID.rawValue)
        if let group = transaction.subscriptionGroupID { json.member("subscriptionGroupIdentifier", group.rawValue) }
        json.member("purchaseDate", number: transaction.purchaseDate)
        json.member("originalPurchaseDate", number: transaction.originalPurchaseDate)
        if let date = transaction.expiresDate { json.member("expiresDate", number: date) }
        json.member("quantity", number: Int64(transaction.quantity))
        json.member("type", transaction.kind.signedName)
        if let token = transaction.appAccountToken { json.member("appAccountToken", token) }
        json.member("inAppOwnershipType", transaction.sharedFrom == nil ? "PURCHASED" : "FAMILY_SHARED")
        if let date = transaction.revokedAt { writeRevocation(of: transaction, at: date, to: &json) }
        if transaction.isUpgraded { json.member("isUpgraded", true) }
        write(transaction.offer, transaction.namedOffer, transaction.offerTerms, to: &json)
        json.member("environment", environment.signedName)
        json.member("storefront", transaction.storefront)
        if let storefront = Storefront.named(transaction.storefront) {
            json.member("storefrontId", storefront.identifier)
        }
        json.member("transactionReason", transaction.isRenewal ? "RENEWAL" : "PURCHASE")
        json.member("price", number: transaction.price.milliunits)
        json.member("currency", transaction.price.currency)
    }

    private static func writeRevocation(of transaction: Transaction, at date: Int64, to json: inout JSONBytes) {
        json.member("revocationDate", number: date)
        json.member("revocationReason", number: transaction.revocationReason ?? 0)
        let (paid, refunded) = (transaction.price.milliunits, transaction.refunded)
        if transaction.sharedFrom != nil {
            json.member("revocationType", "FAMILY_REVOKE")
        } else if refunded >= paid {
            json.member("revocationType", "REFUND_FULL")
        } else {
            json.member("revocationType", "REFUND_PRORATED")
            // Milliunits of a per cent.
            let percentage = refunded.multipliedReportingOverflow(by: 100_000)
            if !percentage.overflow {
                json.member("revocationPercentage", number: percentage.partialValue / max(paid, 1))
            }
        }
    }

    private static func write(
        _ introductory: Transaction.Offer?, _ named: NamedOffer?, _ terms: OfferTerms?, to json: inout JSONBytes
    ) {
        if let named {
            json.member("offerType", number: named.kind.offerType)
            json.member("offerIdentifier", named.id)
        } else if introductory != nil {
            json.member("offerType", number: 1)
        } else {
            return
        }
        guard let terms else { return }
        json.member("offerDiscountType", terms.paymentMode.discountType)
        if let period = terms.period { json.member("offerPeriod", period.description) }
    }

    // MARK: Renewal information

    private func writeRenewal(to json: inout JSONBytes) {
        let isOverdue = subscription.isOverdue
        json.member("originalTransactionId", quotedNumber: subscription.originalTransactionID.rawValue)
        json.member("productId", subscription.productID.rawValue)
        json.member("autoRenewProductId", subscription.renewalProductID.rawValue)
        json.member("autoRenewStatus", number: subscription.willRenew ? 1 : 0)
        if isOverdue || subscription.state == .expired { json.member("isInBillingRetryPeriod", isOverdue) }
        let intent: Subscription.Intent? = isOverdue ? .billingError : subscription.expirationIntent
        if let intent {
            json.member("expirationIntent", number: intent.rawValue)
        }
        if let date = subscription.graceEnds { json.member("gracePeriodExpiresDate", number: date) }
        if let increase = subscription.priceIncrease {
            json.member("priceIncreaseStatus", number: increase == .asked ? 0 : 1)
        }
        if let renewal { Self.write(renewal.offer, renewal.namedOffer, renewal.offerTerms, to: &json) }
        json.member("environment", environment.signedName)
        json.member(
            "recentSubscriptionStartDate",
            number: subscription.recentStartDate ?? subscription.originalPurchaseDate)
        json.member("renewalDate", number: subscription.expiresDate)
        if let renewal {
            json.member("renewalPrice", number: renewal.amount.milliunits)
            json.member("currency", renewal.amount.currency)
        }
        if !winBackOffers.isEmpty {
            json.beginArray("eligibleWinBackOfferIds")
            for id in winBackOffers { json.element(id) }
            json.endArray()
        }
        if let token = period.appAccountToken { json.member("appAccountToken", token) }
    }
}

extension Subscription.State {
    /// Apple's `status`.
    fileprivate var status: Int {
        switch self {
        case .active: 1
        case .expired: 2
        case .billingRetry: 3
        case .gracePeriod: 4
        case .revoked: 5
        }
    }
}

extension StoreEnvironment {
    /// Apple's `environment`.
    fileprivate var signedName: String { self == .sandbox ? "Sandbox" : "Production" }
}

extension ProductKind {
    /// Apple's `type`.
    fileprivate var signedName: String {
        switch self {
        case .consumable: "Consumable"
        case .nonConsumable: "Non-Consumable"
        case .nonRenewingSubscription, .freeSubscription: "Non-Renewing Subscription"
        case .autoRenewableSubscription: "Auto-Renewable Subscription"
        }
    }
}

extension NamedOffer.Kind {
    /// Apple's `offerType`. An introductory offer is 1.
    fileprivate var offerType: Int64 {
        switch self {
        case .promotional: 2
        case .code: 3
        case .winBack: 4
        }
    }
}

extension OfferDescription.PaymentMode {
    /// Apple's `offerDiscountType`.
    fileprivate var discountType: String {
        switch self {
        case .free: "FREE_TRIAL"
        case .payAsYouGo: "PAY_AS_YOU_GO"
        case .payUpFront: "PAY_UP_FRONT"
        }
    }
}
