import Database
import Foundation
import StoreWire

/// The agreed first period of a subscription whose purchase waits.
///
/// Until the purchase is sold, the catalog may change and the account may use the group's introductory offer.
struct WaitingSubscription: Sendable, Equatable {
    /// The offer of the period, and what follows it.
    struct Offer: Sendable, Equatable {
        /// The promotional, code or win-back offer; nil for none.
        var named: NamedOffer?
        /// How the offer is paid; nil without an offer.
        var terms: OfferTerms?
        /// The further periods at the price, each as long as the first; nil for none.
        var remainingPeriods: Int?
        /// Whether the subscription ends with the period.
        var endsSubscription: Bool
        /// The price of a period without offers, in thousandths of the unit of the purchase's currency.
        var usualPrice: Int64?
    }

    var introduction: Transaction.Offer?
    var period: SubscriptionPeriod
    /// Nil in rows of older versions.
    private var offer: Offer?

    /// The first period of a sale in a storefront; nil when the product is not a subscription.
    init?(_ sale: Store.Sale, in storefront: Storefront) {
        guard let period = sale.period else { return nil }
        (introduction, self.period) = (sale.introduction, period)
        // The price that an overdue renewal keeps can be in the currency of an earlier storefront.
        let kept = sale.subscription?.price.flatMap { $0.currency == storefront.currency ? $0 : nil }
        offer = Offer(
            named: sale.namedOffer, terms: sale.offerTerms, remainingPeriods: sale.remainingOffer?.periods,
            endsSubscription: sale.endsWithOffer,
            usualPrice: (kept ?? sale.product.price(in: storefront))?.milliunits)
    }

    /// Why a sale cannot have the agreed period; nil when it can.
    func refusal(of sale: Store.Sale, for purchase: Purchase) -> WireError? {
        if introduction != nil, sale.isIntroductionOver, sale.introduction != introduction {
            return WireError(
                code: .priceChanged,
                message: "The introductory price is no longer available, because the account has subscribed since.")
        }
        // The purchase was to pay an overdue renewal, whose offer is sold once.
        if let offer, let named = offer.named, purchase.namedOffer == nil {
            let isNext = sale.subscription?.overdueOffer?.name == named
            let goesOn = sale.namedOffer == named && sale.remainingOffer?.periods == offer.remainingPeriods
            guard isNext || goesOn else {
                return WireError(
                    code: .priceChanged,
                    message: "The offer is no longer available, because its renewal is no longer overdue.")
            }
        }
        return nil
    }

    /// Applies the agreed period, with its offer and amount, to a sale at the catalog's terms.
    func apply(to sale: inout Store.Sale, of purchase: Purchase) {
        if let offer {
            sale.namedOffer = offer.named
            sale.offerTerms = offer.terms
            sale.remainingOffer = offer.remainingPeriods.map {
                Subscription.RemainingOffer(periods: $0, period: period)
            }
            sale.endsWithOffer = offer.endsSubscription
            // The customer agreed to the price of the request, so that a higher one is announced before it is charged.
            if let price = offer.usualPrice {
                sale.subscription?.price = Money(milliunits: price, currency: purchase.amount.currency)
            }
            // The offer of an overdue renewal goes on waiting unless this period uses it.
            if purchase.namedOffer == nil, let waiting = sale.subscription?.overdueOffer {
                sale.subscription?.waitingOffer = waiting.name == offer.named ? nil : waiting
            }
        } else if sale.amount != purchase.amount || sale.introduction != introduction
            || introduction == nil && sale.namedOffer == nil
        {
            // The catalog's offer is not the agreed one. Sell one period without further ones, and keep the offer of
            // an overdue renewal for the next renewal.
            sale.namedOffer = nil
            sale.offerTerms = nil
            sale.remainingOffer = nil
            sale.endsWithOffer = false
            if purchase.namedOffer == nil, let waiting = sale.subscription?.overdueOffer {
                sale.subscription?.waitingOffer = waiting
            }
        }
        (sale.introduction, sale.period, sale.amount) = (introduction, period, purchase.amount)
    }

    /// Returns the named offer as the catalog had it; nil without one, and in rows of older versions.
    /// - Parameter price: the purchase's amount.
    func catalogOffer(at price: Money) -> CatalogOffer? {
        guard let offer, let named = offer.named, let mode = offer.terms?.paymentMode else { return nil }
        return CatalogOffer(
            offerID: named.id, referenceName: nil, internalID: nil, paymentMode: mode,
            prices: CatalogPrices(amount: price.milliunits, byStorefront: [:], byCurrency: [:]), period: period,
            numberOfPeriods: (offer.remainingPeriods ?? 0) + 1, eligibility: nil, isStackable: nil,
            renews: offer.endsSubscription ? false : nil, billingPlanType: nil, unknown: [:])
    }

    /// Returns an offer that the next renewal gets, with the terms that were agreed to; nil in rows of older versions.
    func agreed(_ waiting: WaitingOffer, for price: Money) -> WaitingOffer? {
        guard let offer, offer.named == waiting.name, let mode = offer.terms?.paymentMode else { return nil }
        let description = OfferDescription(
            offerID: nil, price: price, paymentMode: mode, period: period,
            numberOfPeriods: (offer.remainingPeriods ?? 0) + 1)
        return WaitingOffer(
            name: waiting.name,
            accepted: AcceptedOffer(description, stacks: false, endsSubscription: offer.endsSubscription))
    }
}

/// The table `waiting_subscriptions`.
extension WaitingSubscription {
    /// The agreed period of a waiting purchase; nil when it is not a subscription, or when an older version recorded
    /// it.
    static func find(_ key: UUID, _ connection: Connection) throws -> WaitingSubscription? {
        try connection.queryOne(
            """
            SELECT offer, period_unit, period_count, offer_id, offer_kind, offer_mode, offer_period, offer_periods_left,
                offer_ends, usual_price
            FROM waiting_subscriptions WHERE idempotency_key = $1
            """, [key.text]
        ).map { try WaitingSubscription($0) }
    }

    func insert(_ key: UUID, _ connection: Connection) throws {
        let values: [SQLValue] = [
            .text(key.text), SQLValue(introduction?.rawValue), .text(period.unit.rawValue),
            .integer(Int64(period.count)), SQLValue(offer?.named?.id), SQLValue(offer?.named?.kindColumn),
            SQLValue(offer?.terms?.paymentMode.rawValue), SQLValue(offer?.terms?.period?.description),
            SQLValue((offer?.remainingPeriods).map { Int64($0) }), (offer?.endsSubscription).sqlValue,
            SQLValue(offer?.usualPrice),
        ]
        try connection.execute(
            """
            INSERT INTO waiting_subscriptions (idempotency_key, offer, period_unit, period_count, offer_id, offer_kind,
                offer_mode, offer_period, offer_periods_left, offer_ends, usual_price)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """, values)
    }

    /// Deletes the row once the purchase is settled.
    static func delete(_ key: UUID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM waiting_subscriptions WHERE idempotency_key = $1", [key.text])
    }

    private init(_ row: Row) throws {
        guard let unit = SubscriptionPeriod.Unit(rawValue: try row.string(1)) else {
            throw StoreError(.internalError, "A purchase waits for a period that this program does not know.")
        }
        introduction = try row.optionalString(0).flatMap { Transaction.Offer(rawValue: $0) }
        period = SubscriptionPeriod(unit: unit, count: try row.int(2))
        guard let ends = try row.optionalBool(8) else { return }
        offer = Offer(
            named: NamedOffer(id: try row.optionalString(3), kind: try row.optionalString(4)),
            terms: OfferTerms(mode: try row.optionalString(5), period: try row.optionalString(6)),
            remainingPeriods: try row.optionalInt(7), endsSubscription: ends,
            usualPrice: try row.optionalInt64(9))
    }
}
