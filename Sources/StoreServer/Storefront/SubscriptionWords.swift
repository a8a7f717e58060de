import ConsolePages
import CornerstoreEncoding
import Store
import StoreWire

/// Puts subscriptions into words for their owner.
struct SubscriptionWords: Sendable {
    let prices: ItemPriceText
    let storefront: Storefront

    /// A date with its time, which tells shortened periods apart.
    static func date(_ milliseconds: Int64) -> String {
        let time = CivilTime(secondsSince1970: milliseconds.flooredQuotient(1000))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(ItemPages.date(milliseconds).dateText), \(two(time.hour)):\(two(time.minute)) UTC"
    }

    /// The price of a period: “$5.99 a month”; with an offer, “$0.99 a month for 3 months, then $5.99 a month”.
    func price(_ plan: SubscriptionPlanChoice) -> String {
        let usual = "\(prices.text(plan.price, in: storefront)) \(Self.each(plan.period))"
        return plan.offer.map { "\(price($0)), then \(usual)" } ?? usual
    }

    /// The price and the time of an offer.
    private func price(_ offer: OfferDescription) -> String {
        let whole = SubscriptionPeriod(unit: offer.period.unit, count: offer.period.count * offer.numberOfPeriods)
        let price = prices.text(offer.price, in: storefront)
        return switch offer.paymentMode {
        case .free: "Free for \(Self.time(whole))"
        case .payUpFront: "\(price) for \(Self.time(whole))"
        case .payAsYouGo: "\(price) \(Self.each(offer.period)) for \(Self.time(whole))"
        }
    }

    /// A length of time: “3 months”.
    private static func time(_ period: SubscriptionPeriod) -> String {
        "\(period.count) \(name(period.unit))\(period.count == 1 ? "" : "s")"
    }

    private static func each(_ period: SubscriptionPeriod) -> String {
        let unit = name(period.unit)
        return period.count == 1 ? "a \(unit)" : "every \(period.count) \(unit)s"
    }

    private static func name(_ unit: SubscriptionPeriod.Unit) -> String {
        switch unit {
        case .day: "day"
        case .week: "week"
        case .month: "month"
        case .year: "year"
        }
    }

    /// The verb for the choice of a plan.
    static func verb(_ plan: SubscriptionPlanChoice, _ subscription: ManagedSubscription) -> String {
        switch subscription.state {
        case .expired, .revoked: "Subscribe to"
        case .billingRetry, .gracePeriod: plan.productID == subscription.productID ? "Pay" : "Change to"
        case .active: plan.productID == subscription.productID ? "Keep" : "Change to"
        }
    }

    /// - Parameter base: the path of the page.
    func subscription(_ subscription: ManagedSubscription, _ base: String) -> PageSubscription {
        let path = "\(base)/\(subscription.originalTransactionID)"
        let isOver = subscription.state == .expired || subscription.state == .revoked
        return PageSubscription(
            id: "s\(subscription.originalTransactionID)", name: subscription.productName,
            about: [subscription.appName ?? subscription.bundleID.rawValue, subscription.groupName].joined(
                separator: " · "),
            state: state(subscription),
            isActive: subscription.state == .active || subscription.state == .gracePeriod,
            facts: facts(subscription), turnOff: subscription.willRenew ? path + "/off" : nil,
            turnOn: subscription.canTurnRenewalOn ? path + "/on" : nil,
            plansTitle: isOver ? "Subscribe again" : "Other plans",
            plans: subscription.plans.map { plan in
                PagePlan(
                    name: plan.name, price: price(plan),
                    begins: plan.effect == .now
                        ? "Begins now" : "Begins with the next renewal, \(Self.date(subscription.expiresDate))",
                    link: "\(path)/plan?product=\(plan.productID.rawValue.percentEncoded)"
                        + (plan.offer?.offerID.map { "&offer=\($0.percentEncoded)" } ?? ""),
                    label: "\(Self.verb(plan, subscription)) \(plan.name)")
            })
    }

    private func state(_ subscription: ManagedSubscription) -> String {
        switch subscription.state {
        case .active: subscription.nextCharge == nil ? "Active, does not renew" : "Active"
        case .gracePeriod: "Active, but the last payment failed"
        case .billingRetry: "Not active, because the last payment failed"
        case .expired: "Ended"
        case .revoked: "Refunded"
        }
    }

    private func facts(_ subscription: ManagedSubscription) -> [PageFact] {
        var facts: [PageFact] = []
        func add(_ name: String, _ value: String) { facts.append(PageFact(name: name, value: value)) }
        let end = Self.date(subscription.expiresDate)
        switch subscription.state {
        case .active: add(subscription.nextCharge == nil ? "Ends" : "This period ends", end)
        case .gracePeriod: add("Access until", subscription.gracePeriodExpiresDate.map(Self.date) ?? end)
        case .billingRetry, .expired, .revoked: add("Ended", end)
        }
        if let charge = subscription.nextCharge {
            if charge.productID != subscription.productID { add("Next plan", charge.productName) }
            add("Next charge", "\(prices.text(charge.price, in: storefront)) on \(Self.date(charge.date))")
        } else if let obstacle = subscription.obstacle {
            add("Next charge", Self.none(obstacle))
        } else if subscription.state == .active {
            add("Next charge", "None: renewal is off")
        }
        return facts
    }

    private static func none(_ obstacle: RenewalObstacle) -> String {
        switch obstacle {
        case .notForSale: "None: the plan is no longer for sale"
        case .priceIncrease: "None, unless you agree to the new price in the app"
        case .renewalLimit: "None: the sandbox ends the subscription here"
        case .other: "None"
        }
    }
}
