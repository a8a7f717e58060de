import Database
import Foundation
import StoreWire

/// The customer's actions on Apple's page of subscriptions: see the next charge, turn renewal off, and change plans.
extension Store {
    /// The most subscriptions of one page, and the most plans of one subscription.
    static let (mostManaged, mostPlans) = (100, 100)
    /// How long a subscription that is over stays on the page, in days (Apple's year).
    private static let daysShown = 365

    /// Returns a page of an account's subscriptions as their owner manages them, in the order of their first purchases.
    /// Those that ended more than 365 days ago are left out.
    /// - Parameters:
    ///   - bundleID: the app; nil for all apps.
    ///   - after: the last one's original transaction of the page before; nil for the first page.
    /// - Throws: ``DatabaseError``.
    public func managedSubscriptions(
        of account: Account, in bundleID: BundleID? = nil, after: TransactionID? = nil
    ) async throws -> SubscriptionsResponse {
        let all = try await subscriptions(of: account)
        let oldest = SubscriptionPeriod(unit: .day, count: -Self.daysShown).end(from: clock.milliseconds)
        let listed = all.filter { subscription in
            (bundleID == nil || subscription.bundleID == bundleID)
                && (after.map { subscription.originalTransactionID.rawValue > $0.rawValue } ?? true)
                && (subscription.isRunning || subscription.expiresDate > oldest)
        }
        var described: [ManagedSubscription] = []
        for subscription in listed.prefix(Self.mostManaged) {
            described.append(try await describe(subscription, for: account))
        }
        return SubscriptionsResponse(subscriptions: described, hasMore: listed.count > described.count)
    }

    /// Returns one of the account's subscriptions as its owner manages it.
    /// - Throws: ``StoreError`` `unknown_transaction` when the account has no such subscription; ``DatabaseError``.
    public func managedSubscription(
        _ original: TransactionID, of account: Account
    ) async throws -> ManagedSubscription {
        try await describe(try await owned(original, by: account), for: account)
    }

    /// Turns the renewal of the customer's own subscription on or off.
    /// - Returns: the subscription in its new state.
    /// - Throws: ``StoreError`` `unknown_transaction` when the account has no such subscription, or as
    ///   ``setAutoRenew(_:of:)``; ``DatabaseError``.
    public func setRenewal(
        _ isOn: Bool, of original: TransactionID, by account: Account
    ) async throws -> ManagedSubscription {
        _ = try await owned(original, by: account)
        return try await describe(try await setAutoRenew(isOn, of: original), for: account)
    }

    /// Buys another plan of the customer's own subscription, or chooses it for the next renewal when it is a lower
    /// plan. The purchase keeps the `applicationUsername` of the subscription.
    /// - Returns: the answer to the purchase.
    /// - Throws: ``StoreError`` `unknown_transaction` when the account has no such subscription, `invalid_request` for
    ///   a product of another group, or as ``purchase(_:by:)``; ``DatabaseError``.
    public func changePlan(
        of original: TransactionID, _ request: PlanChangeRequest, by account: Account
    ) async throws -> PurchaseResponse {
        let subscription = try await owned(original, by: account)
        if let product = catalog.value.app(subscription.bundleID)?.product(request.productID) {
            guard product.subscription?.groupID == subscription.groupID else {
                throw StoreError(.invalidRequest, "The product does not belong to the subscription's group.")
            }
        }
        return try await change(
            subscription, to: request.productID, agreedPrice: request.agreedPrice, key: request.idempotencyKey,
            winBackOfferID: request.winBackOfferID, by: account)
    }

    /// Buys another product of a subscription's group.
    func change(
        _ subscription: Subscription, to productID: ProductID, agreedPrice: Money?, key: UUID,
        winBackOfferID: String? = nil, by account: Account
    ) async throws -> PurchaseResponse {
        let username = try await database.read {
            try Transactions.find(subscription.transactionID, $0)?.applicationUsername
        }
        defer { tell(account.accountID) }
        return try await purchase(
            PurchaseRequest(
                idempotencyKey: key, bundleID: subscription.bundleID, productID: productID, quantity: 1,
                applicationUsername: username, simulatesAskToBuy: false, agreedPrice: agreedPrice,
                winBackOfferID: winBackOfferID), by: account)
    }

    /// The account's own subscription, after everything that is due for it is done.
    private func owned(_ original: TransactionID, by account: Account) async throws -> Subscription {
        let owner = try await database.read { try Subscriptions.find(original, $0)?.accountID }
        guard owner == account.accountID else { throw Self.unknownSubscription }
        return try await found(original)
    }

    // MARK: The next charge

    /// Decides what the store charges for a subscription next, as the renewal itself does: with what is left of an
    /// offer, a chosen plan or offer, an accepted price increase, and otherwise today's price.
    /// - Returns: the charge, or why there is none although the customer wants the subscription to renew; nil when
    ///   renewal is off.
    /// - Throws: ``DatabaseError``.
    public func nextCharge(of subscription: Subscription) async throws -> Result<NextCharge, RenewalObstacle>? {
        guard subscription.willRenew else { return nil }
        guard let date = subscription.nextChargeDate(after: clock.milliseconds, policy) else {
            return .failure(subscription.state == .active ? .renewalLimit : .other)
        }
        return try await renewalTerms(of: subscription, at: date).map { terms in
            NextCharge(
                productID: terms.product.productID,
                productName: name(of: terms.product.productID, in: subscription.bundleID, terms.storefront),
                price: terms.amount, date: date, period: terms.period)
        }
    }

    // MARK: Descriptions

    private func describe(_ subscription: Subscription, for account: Account) async throws -> ManagedSubscription {
        let now = clock.milliseconds
        let storefront = try storefront(of: account)
        let app = catalog.value.app(subscription.bundleID)
        var charge: NextCharge?
        var obstacle: RenewalObstacle?
        switch try await nextCharge(of: subscription) {
        case .success(let next): charge = next
        case .failure(let reason): obstacle = reason
        case nil: break
        }
        let offers = try await winBackOffers(after: subscription, in: storefront)
        return ManagedSubscription(
            originalTransactionID: subscription.originalTransactionID, bundleID: subscription.bundleID,
            appName: app?.name, groupID: subscription.groupID,
            groupName: app?.name(of: subscription.groupID, in: storefront) ?? subscription.groupID.rawValue,
            productID: subscription.productID,
            productName: name(of: subscription.productID, in: subscription.bundleID, storefront),
            state: ManagedSubscription.State(subscription.state), expiresDate: subscription.expiresDate,
            gracePeriodExpiresDate: subscription.state == .gracePeriod ? subscription.graceEnds : nil,
            willRenew: subscription.willRenew,
            canTurnRenewalOn: !subscription.willRenew && subscription.isInPeriod(at: now),
            nextCharge: charge, obstacle: obstacle,
            plans: offers + (app.map { plans(after: subscription, $0, storefront, at: now) } ?? []))
    }

    /// The plans that the customer can change to, the highest level first.
    private func plans(
        after subscription: Subscription, _ app: CatalogApp, _ storefront: Storefront, at now: Int64
    ) -> [SubscriptionPlanChoice] {
        let current = app.product(subscription.productID)?.subscription
        let found: [(level: Int, choice: SubscriptionPlanChoice)] = app.products.compactMap { product in
            guard let plan = product.subscription, plan.groupID == subscription.groupID,
                let price = product.price(in: storefront)
            else { return nil }
            let effect: SubscriptionPlanChoice.Effect
            switch subscription.start(ofBuying: product.productID, plan, replacing: current, at: now) {
            case .held: return nil
            case .now: effect = .now
            case .later:
                // The next renewal buys this product already, or does when renewal is turned on.
                guard product.productID != subscription.renewalProductID else { return nil }
                effect = .nextRenewal
            }
            return (
                plan.level,
                SubscriptionPlanChoice(
                    productID: product.productID, name: app.name(of: product.productID, in: storefront), price: price,
                    period: plan.period, effect: effect)
            )
        }
        let sorted = found.enumerated().sorted { ($0.element.level, $0.offset) < ($1.element.level, $1.offset) }
        return sorted.prefix(Self.mostPlans).map(\.element.choice)
    }

    private func name(of productID: ProductID, in bundleID: BundleID, _ storefront: Storefront) -> String {
        catalog.value.app(bundleID)?.name(of: productID, in: storefront) ?? productID.rawValue
    }
}

extension Subscription {
    /// Whether the store still gives or tries to charge something.
    fileprivate var isRunning: Bool {
        switch state {
        case .active, .gracePeriod, .billingRetry: true
        case .expired, .revoked: false
        }
    }
}

extension ManagedSubscription.State {
    fileprivate init(_ state: Subscription.State) {
        self =
            switch state {
            case .active: .active
            case .gracePeriod: .gracePeriod
            case .billingRetry: .billingRetry
            case .expired: .expired
            case .revoked: .revoked
            }
    }
}
