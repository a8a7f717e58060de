import Database
import StoreWire

/// Offers for customers who no longer subscribe.
extension Store {
    /// The most win-back offers that one subscription lists.
    static let mostWinBackOffers = 20

    /// Returns the win-back offers that a customer can buy, the best first: preferred ones before the others, then the
    /// cheapest by the day.
    /// - Parameter subscription: the customer's subscription in the group.
    func winBackOffers(
        after subscription: Subscription, in storefront: Storefront
    ) async throws -> [SubscriptionPlanChoice] {
        let (catalog, now, environment) = (catalog.value, clock.milliseconds, environment)
        return try await database.read { connection in
            try WinBackChoice.all(
                after: subscription, in: storefront, catalog, at: now, environment, connection
            ).prefix(Self.mostWinBackOffers).map(\.self)
        }
    }
}

/// A win-back offer among others.
struct WinBackChoice {
    private var offer: CatalogOffer
    private var terms: OfferDescription
    private var choice: SubscriptionPlanChoice

    /// All win-back offers that a customer can buy, the best first; none while the customer subscribes.
    static func all(
        after subscription: Subscription, in storefront: Storefront, _ catalog: Catalog, at date: Int64,
        _ environment: StoreEnvironment, _ connection: Connection
    ) throws -> [SubscriptionPlanChoice] {
        guard subscription.state == .expired || subscription.state == .revoked,
            let app = catalog.app(subscription.bundleID)
        else { return [] }
        let products = app.products.filter { product in
            product.subscription.map { $0.groupID == subscription.groupID && !$0.winBackOffers.isEmpty } ?? false
        }
        guard !products.isEmpty else { return [] }
        let periods = try Transactions.lasting(of: subscription.accountID, in: subscription.bundleID, connection)
            .filter { $0.subscriptionGroupID == subscription.groupID }
        let customer = OfferCustomer(
            subscription, lasting: periods, current: app.product(subscription.productID)?.subscription, at: date)
        var found: [WinBackChoice] = []
        for product in products {
            guard let plan = product.subscription, let price = product.price(in: storefront) else { continue }
            for offer in plan.winBackOffers {
                guard let id = offer.offerID else { continue }
                let chosen = ChosenOffer(name: NamedOffer(.winBack, id), offer: offer)
                let described = offer.description(in: storefront)
                guard !described.isDearer(than: price, for: plan.period),
                    customer.refusal(of: chosen, plan, at: date, in: environment) == nil
                else { continue }
                let choice = SubscriptionPlanChoice(
                    productID: product.productID, name: app.name(of: product.productID, in: storefront), price: price,
                    period: plan.period, effect: .now, offer: described)
                found.append(WinBackChoice(offer: offer, terms: described, choice: choice))
            }
        }
        let sorted = found.enumerated().sorted { left, right in
            left.element.isBetter(than: right.element) ?? (left.offset < right.offset)
        }
        return sorted.map(\.element.choice)
    }

    /// Whether the offer comes before those of normal priority. Xcode's files say so with `priority`.
    private var isPreferred: Bool { offer.winBack?.isPreferred ?? (offer.unknown["priority"] == .string("HIGH")) }

    /// Whether the offer comes before another one; nil when both are as good.
    private func isBetter(than other: WinBackChoice) -> Bool? {
        guard isPreferred == other.isPreferred else { return isPreferred }
        if other.terms.isDearer(than: terms.price, for: terms.firstPeriod) { return true }
        return terms.isDearer(than: other.terms.price, for: other.terms.firstPeriod) ? false : nil
    }
}
