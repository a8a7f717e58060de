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
    }
}

extension Transaction {
    /// The offer of a subscription's period, as the control port writes it.
    fileprivate var offerName: String? { promotionalOfferID ?? offer?.rawValue }
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
            period.revokedAt != nil ? .refunded : period.expiresDate ?? .max > now ? .current : .ended
        self.init(
            bundleId: period.bundleID.rawValue, groupId: period.subscriptionGroupID?.rawValue,
            productId: period.productID.rawValue, transactionId: period.transactionID.description,
            purchaseDate: ControlAPI.text(period.purchaseDate),
            expiresDate: period.expiresDate.map { ControlAPI.text($0) },
            revocationDate: period.revokedAt.map { ControlAPI.text($0) }, state: state, step: Step(plan.step),
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
