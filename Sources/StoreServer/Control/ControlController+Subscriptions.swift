import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for subscribers and their periods.
extension ControlController {
    func addSubscriptionRoutes(to router: Router<StoreRequestContext>) {
        on(router, .subscribers(.sandbox)) { store, request, _ in
            let page = try await store.subscribers(
                SubscriberQuery(
                    bundleID: request.query(.bundle).map { BundleID($0) },
                    groupID: request.query(.group).map { SubscriptionGroupID($0) },
                    productID: request.query(.product).map { ProductID($0) }, before: try request.before(),
                    limit: try request.limit(most: SubscriberQuery.most, usual: 50)))
            return try .json(
                ControlAPI.Page(rows: page.rows.map(ControlAPI.Subscriber.init), next: page.next?.description))
        }
        on(router, .subscriptionPeriods(.sandbox, email: "")) { store, request, context in
            let account = try await account(in: context, at: store)
            let page = try await store.subscriptionPeriods(
                of: account, before: try request.before(),
                limit: try request.limit(most: SubscriberQuery.most, usual: 50))
            let now = store.clock.milliseconds
            return try .json(
                ControlAPI.Page(
                    rows: page.rows.map { ControlAPI.SubscriptionPeriod($0, now: now) },
                    next: page.next?.description))
        }
        on(router, .subscriptions(.sandbox, account: "")) { store, request, _ in
            let account = try await account(request.query(.account), at: store)
            var rows: [ControlAPI.Subscription] = []
            let own = try await store.subscriptions(of: account)
            for subscription in try await own + store.sharedSubscriptions(of: account) {
                rows.append(try await Self.described(subscription, at: store))
            }
            return try .json(rows)
        }
        on(router, .changeSubscription(.sandbox, id: "")) { store, request, context in
            let change = try await request.decodeJSON(ControlAPI.SubscriptionChange.self, upTo: Self.bodyLimit)
            let id = try context.parameters.require("id")
            guard let original = TransactionID(id) else {
                throw StoreError(.unknownTransaction, "No subscription has this original transaction identifier.")
            }
            if let product = change.productId {
                guard change.willRenew == nil else {
                    throw StoreError(.invalidRequest, "Give either “willRenew” or “productId”.")
                }
                let answer = try await store.changePlan(original, to: ProductID(product))
                if let failure = answer.failure { throw StoreError(failure.code, failure.message) }
                context.note?.say(after: "changes to \(product)")
            } else if let willRenew = change.willRenew {
                _ = try await store.setAutoRenew(willRenew, of: original)
                context.note?.say(after: willRenew ? "renews" : "does not renew")
            } else {
                throw StoreError(.invalidRequest, "Give either “willRenew” or “productId”.")
            }
            return try .json(try await Self.described(try await store.subscription(original), at: store))
        }
        for action in SubscriptionAction.allCases {
            on(router, .actOnSubscription(.sandbox, id: "", action)) { store, request, context in
                try await act(action, at: store, request, context)
            }
        }
        on(router, .extendSubscriptions(.sandbox)) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.MassExtension.self, upTo: Self.bodyLimit)
            let result = try await store.extendAll(
                of: ProductID(new.productId), in: BundleID(new.bundleId), days: new.days)
            context.note?.say(subject: new.productId, after: "\(result.succeeded) extended by \(new.days) days")
            return try .json(ControlAPI.MassExtended(succeeded: result.succeeded, failed: result.failed))
        }
        addGracePeriodRoutes(to: router)
    }

    private func act(
        _ action: SubscriptionAction, at store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        guard let original = TransactionID(try context.parameters.require("id")) else {
            throw Store.unknownSubscription
        }
        let subscription: Subscription
        switch action {
        case .renew: subscription = try await store.renewNow(original)
        case .expire: subscription = try await store.expireNow(original)
        case .fail: subscription = try await store.failRenewal(original)
        case .recover: subscription = try await store.recover(original)
        case .extend:
            let days = try await request.decodeJSON(ControlAPI.SubscriptionExtension.self, upTo: Self.bodyLimit).days
            subscription = try await store.extend(original, days: days)
        }
        context.note?.say(after: subscription.state.rawValue)
        return try .json(try await Self.described(subscription, at: store))
    }

    // MARK: Grace periods

    private func addGracePeriodRoutes(to router: Router<StoreRequestContext>) {
        router.on(.setGracePeriod(bundle: "")) { request, context in
            let new = try await request.decodeJSON(ControlAPI.GracePeriod.self, upTo: Self.bodyLimit)
            guard let length = GracePeriod.Length(rawValue: new.days) else {
                throw StoreError(.invalidRequest, "A grace period has 3, 16 or 28 days.")
            }
            let grace = GracePeriod(
                length: length, inProduction: new.production ?? true, inSandbox: new.sandbox ?? true,
                paidToPaidOnly: new.paidToPaidOnly ?? false)
            try await apps.setGracePeriod(grace, of: context.bundleID)
            context.note?.say(after: "\(new.days) days")
            return try .json(ControlAPI.GracePeriod(grace))
        }
        router.on(.removeGracePeriod(bundle: "")) { _, context in
            try await apps.setGracePeriod(nil, of: context.bundleID)
            context.note?.say(after: "none")
            return Response(status: .noContent)
        }
    }
}

extension ControlAPI.GracePeriod {
    init(_ grace: GracePeriod) {
        self.init(
            days: grace.length.rawValue, production: grace.inProduction, sandbox: grace.inSandbox,
            paidToPaidOnly: grace.paidToPaidOnly)
    }
}

extension ControlController {
    private static func described(
        _ subscription: Subscription, at store: Store
    ) async throws -> ControlAPI.Subscription {
        ControlAPI.Subscription(
            subscription, news: try await store.news(of: subscription.originalTransactionID, limit: 20))
    }
}

extension ControlAPI.Subscription {
    init(_ subscription: Subscription, news: [SubscriptionNews]) {
        let state: State =
            switch subscription.state {
            case .active: .active
            case .gracePeriod: .gracePeriod
            case .billingRetry: .billingRetry
            case .expired: .expired
            case .revoked: .revoked
            }
        self.init(
            originalTransactionId: subscription.originalTransactionID.description,
            bundleId: subscription.bundleID.rawValue, groupId: subscription.groupID.rawValue, state: state,
            productId: subscription.productID.rawValue, transactionId: subscription.transactionID.description,
            expiresDate: ControlAPI.text(subscription.expiresDate), willRenew: subscription.willRenew,
            renewalProductId: subscription.renewalProductID.rawValue,
            gracePeriodExpiresDate: subscription.graceEnds.map { ControlAPI.text($0) },
            expirationIntent: subscription.expirationIntent?.rawValue,
            dueDate: subscription.dueAt.map { ControlAPI.text($0) },
            news: news.map {
                ControlAPI.SubscriptionNews(
                    type: $0.type.rawValue, subtype: $0.subtype?.rawValue, date: ControlAPI.text($0.date),
                    transactionId: $0.transactionID.description)
            },
            sharedBy: subscription.purchaserID?.rawValue)
    }
}

extension Transaction {
    /// The offer of a subscription's period, as the control port writes it.
    fileprivate var offerName: String? { namedOffer?.id ?? offer?.rawValue }
}

extension ControlAPI.Subscriber {
    init(_ subscriber: Subscriber) {
        let period = subscriber.period
        self.init(
            accountId: period.accountID.rawValue, account: subscriber.email, bundleId: period.bundleID.rawValue,
            groupId: period.subscriptionGroupID?.rawValue, productId: period.productID.rawValue,
            transactionId: period.transactionID.description, purchaseDate: ControlAPI.text(period.purchaseDate),
            expiresDate: ControlAPI.text(period.expiresDate ?? period.purchaseDate), price: period.price.decimal,
            currency: period.price.currency, offer: period.offerName)
    }
}

extension ControlAPI.SubscriptionPeriod {
    /// - Parameter now: the time by the store's clock.
    init(_ plan: SubscriptionPlan, now: Int64) {
        let period = plan.period
        let state: State =
            period.isCurrent(at: now)
            ? .current : period.revokedAt != nil ? .refunded : period.isUpgraded ? .replaced : .ended
        self.init(
            bundleId: period.bundleID.rawValue, groupId: period.subscriptionGroupID?.rawValue,
            productId: period.productID.rawValue, transactionId: period.transactionID.description,
            purchaseDate: ControlAPI.text(period.purchaseDate),
            expiresDate: period.expiresDate.map { ControlAPI.text($0) },
            revocationDate: period.revokedAt.map { ControlAPI.text($0) },
            replacedDate: plan.replacedAt.map { ControlAPI.text($0) }, state: state, step: Step(plan.step),
            previousProductId: plan.previous == plan.period.productID ? nil : plan.previous?.rawValue,
            price: period.price.decimal, currency: period.price.currency, offer: period.offerName)
    }
}

extension ControlAPI.SubscriptionPeriod.Step {
    init(_ step: SubscriptionPlan.Step) {
        self =
            switch step {
            case .first: .first
            case .again: .again
            case .returned: .returned
            case .upgrade: .upgrade
            case .downgrade: .downgrade
            case .crossgrade: .crossgrade
            }
    }
}
