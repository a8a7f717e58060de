import StoreWire

@testable import Store

// MARK: - What the catalog of the rows costs

extension ExpectedPeriod {
    /// An offer in Apple's words.
    struct Offer: Sendable {
        /// Apple's `offerType`.
        var type: Int64
        /// Apple's `offerIdentifier`; nil for an introductory offer.
        var id: String?
        /// Apple's `offerDiscountType`.
        var mode = "PAY_AS_YOU_GO"
        /// Apple's `offerPeriod`.
        var period = "P1M"
        /// The price in milliunits.
        var price: Int64
    }

    /// The prices of a period in ``SubscriptionRow/catalog(_:)``, in milliunits.
    static let prices: [String: Int64] = [
        "club.monthly": 5990, "club.weekly": 1990, "gym.monthly": 9990, "gym.pool": 11_990, "gym.quarterly": 24_990,
        "gym.basic": 3990, "gym.classes": 6990,
    ]

    /// The offers that customers ask for by name.
    static let namedOffers: [String: Offer] = [
        "swim": Offer(type: 2, id: "swim", price: 5990), "start": Offer(type: 2, id: "start", price: 1990),
        "Half": Offer(type: 3, id: "Half", price: 4990), "again": Offer(type: 4, id: "again", price: 4490),
    ]

    /// The offer that set the price; nil for none.
    var offer: Offer? {
        for mark in marks {
            switch mark {
            case .trial: return Offer(type: 1, mode: "FREE_TRIAL", period: length, price: 0)
            case .introductory: return Offer(type: 1, mode: "PAY_UP_FRONT", period: length, price: 1490)
            case .code(let id), .promotional(let id), .winBack(let id): return Self.namedOffers[id]
            case .upgraded, .cancelled, .prorated: continue
            }
        }
        return nil
    }

    /// The price in milliunits; nil when the catalog has no such plan.
    var price: Int64? { otherPrice ?? offer?.price ?? Self.prices[product] }
}

extension SubscriptionRow {
    /// The offer of the next period; nil for none.
    var nextOffer: ExpectedPeriod.Offer? {
        (pending?["offer_code_ref_name"] ?? pending?["promotional_offer_id"]).flatMap { ExpectedPeriod.namedOffers[$0] }
    }

    /// The price of the next renewal in milliunits: Apple's `renewalPrice`. Nil when nothing renews, when the customer
    /// has not agreed to a higher price, and for a member of a family, who pays nothing.
    var renewalPrice: Int64? {
        guard let pending, pending["auto_renew_status"] == "1", pending["price_consent_status"] != "0", !isShared
        else { return nil }
        return nextPrice ?? nextOffer?.price ?? pending["auto_renew_product_id"].flatMap { ExpectedPeriod.prices[$0] }
    }

    /// Apple's `eligibleWinBackOfferIds`, with a comma between them; nil for none.
    var winBackOffers: String? {
        let isOver = state == .expired || state == .revoked
        return isOver && !isShared && first.rawValue.hasPrefix("gym.") ? "again" : nil
    }
}
