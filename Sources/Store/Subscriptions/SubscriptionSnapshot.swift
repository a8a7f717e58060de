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
    let period: Transaction
    private let environment: StoreEnvironment
    /// The product and price of the next renewal; nil when nothing renews.
    private let renewal: Store.RenewalTerms?
    /// The win-back offers that the customer can buy, the best first.
    private let winBackOffers: [String]

    /// Reads what the snapshot needs, in the database transaction that writes the subscription.
    /// - Parameters:
    ///   - period: the last period, if the caller has it. A purchaser's must have been bought just now, in the
    ///     account's storefront.
    ///   - date: when the news happened.
    /// - Returns: nil when the ledger does not have the last period.
    init?(
        _ subscription: Subscription, period: Transaction?, at date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        let isJustBought = period != nil
        guard let period = try period ?? Transactions.find(subscription.transactionID, connection) else { return nil }
        self.subscription = subscription
        self.period = period
        environment = recorder.environment
        let catalog = recorder.catalog.value
        // A member of a family pays nothing and has no offers.
        let isOwn = subscription.purchaserID == nil
        // The renewal is charged in the account's storefront, which may have changed since the last period.
        let account = isOwn && !isJustBought ? try Accounts.account(subscription.accountID, connection) : nil
        let storefront = Storefront.named(account?.storefront ?? period.storefront) ?? .unitedStates
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

    /// Apple's number of the state.
    var status: Int { subscription.state.status }
    /// The subscription group.
    var groupID: SubscriptionGroupID { subscription.groupID }
    /// The first transaction of the subscription.
    var originalTransactionID: TransactionID { subscription.originalTransactionID }

    /// The payload of the last period's transaction.
    /// - Parameter appTransactionID: the customer's in the app; nil to leave it out.
    func transactionPayload(signedDate: Int64, appTransactionID: AppTransactionID? = nil) -> [UInt8] {
        var json = JSONBytes(capacity: 1_536)
        json.beginObject()
        period.writePayload(environment, signedDate: signedDate, appTransactionID: appTransactionID, to: &json)
        json.endObject()
        return json.bytes
    }

    /// The payload of the renewal information.
    /// - Parameter appTransactionID: the customer's in the app; nil to leave it out.
    func renewalPayload(signedDate: Int64, appTransactionID: AppTransactionID? = nil) -> [UInt8] {
        var json = JSONBytes(capacity: 1_024)
        json.beginObject()
        writeRenewal(signedDate: signedDate, to: &json)
        if let appTransactionID { json.member("appTransactionId", appTransactionID.description) }
        json.endObject()
        return json.bytes
    }

    /// The snapshot for news of a transaction, which is the last period or an earlier one.
    /// - Parameter consumptionReason: why the customer asked for a refund; nil for other news.
    func json(_ transaction: Transaction?, _ consumptionReason: RefundReason? = nil) -> String {
        var json = JSONBytes(capacity: 2_048)
        json.beginObject()
        json.member("status", number: Int64(status))
        if let consumptionReason { json.member("consumptionRequestReason", consumptionReason.rawValue) }
        json.beginObject("transaction")
        (transaction ?? period).writePayload(environment, to: &json)
        json.endObject()
        json.beginObject("renewalInfo")
        writeRenewal(signedDate: nil, to: &json)
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    // MARK: Renewal information

    private func writeRenewal(signedDate: Int64?, to json: inout JSONBytes) {
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
        if let signedDate { json.member("signedDate", number: signedDate) }
        if let renewal { json.offer(renewal.offer, renewal.namedOffer, renewal.offerTerms) }
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
