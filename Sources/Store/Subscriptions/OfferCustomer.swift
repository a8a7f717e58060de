import StoreWire

/// A customer whose eligibility for an offer the store decides.
struct OfferCustomer {
    /// How a customer stands to a subscription group. The raw values are those of `eligibility` in catalogs.
    enum Standing: String, CaseIterable {
        /// The customer has never subscribed in the group.
        case new
        /// The customer subscribes now, or a payment is overdue.
        case existing
        /// The customer no longer subscribes.
        case expired
    }

    /// The customer's subscription in the group; nil for none.
    let known: Subscription?
    /// The customer's own periods of the group, oldest first.
    let periods: [Transaction]
    /// Whether a member of the family shares a current period of the group with the customer.
    let hasShare: Bool
    /// The plan of the last period; nil when the catalog no longer has it.
    let current: CatalogSubscription?

    /// - Parameter lasting: the customer's periods of the group, oldest first, with those that a family shares.
    init(_ known: Subscription?, lasting: [Transaction], current: CatalogSubscription?, at date: Int64) {
        self.known = known
        self.current = current
        periods = lasting.filter { $0.sharedFrom == nil }
        hasShare = lasting.contains { $0.sharedFrom != nil && $0.isCurrent(at: date) }
    }

    /// How the customer stands to the group.
    var standing: Standing {
        guard let known else { return periods.isEmpty ? .new : .expired }
        switch known.state {
        case .active, .gracePeriod, .billingRetry: return .existing
        case .expired, .revoked: return .expired
        }
    }

    /// Why the customer cannot use an offer; nil when the customer can.
    /// - Parameter plan: the product of the offer.
    func refusal(
        of chosen: ChosenOffer, _ plan: CatalogSubscription, at date: Int64, in environment: StoreEnvironment
    ) -> WireError? {
        let standing = standing
        switch chosen.name.kind {
        case .promotional:
            return periods.isEmpty
                ? Self.ineligible("This offer is available only to current or former subscribers.") : nil
        case .code:
            guard chosen.offer.isFor(standing) else {
                return Self.ineligible("This offer is not available to \(standing.words).")
            }
            // A subscriber's code for a lower plan would take the higher one away.
            if standing == .existing, let current, let known, known.isActive(at: date), plan.level > current.level {
                return Self.ineligible("This code is for a lower plan than the one that you subscribe to.")
            }
            return nil
        case .winBack:
            guard standing == .expired, !hasShare else {
                return Self.ineligible("This offer is available only to customers who no longer subscribe.")
            }
            // Apple's sandbox does not enforce the criteria.
            guard environment == .sandbox || meets(chosen.offer.winBack, at: date) else {
                return Self.ineligible("You do not meet the conditions of this offer.")
            }
            return nil
        }
    }

    private static func ineligible(_ message: String) -> WireError {
        WireError(code: .ineligibleForOffer, message: message)
    }
}

// MARK: Win-back offers

extension OfferCustomer {
    /// Whether the customer meets the conditions of a win-back offer.
    func meets(_ criteria: WinBackCriteria?, at date: Int64) -> Bool {
        guard let criteria else { return true }
        // An offer says how many months must have passed, by the calendar.
        func has(_ months: Int?, passedSince start: Int64) -> Bool {
            guard let months, months > 0 else { return true }
            return SubscriptionPeriod(unit: .month, count: months).end(from: start) <= date
        }
        if let paid = criteria.paidMonths, paidMonths < paid { return false }
        guard let known else { return criteria.lapsedMonths == nil && criteria.mostLapsedMonths == nil }
        // A period that was refunded ended with the refund.
        let end = periods.last?.revokedAt ?? known.expiresDate
        guard has(criteria.lapsedMonths, passedSince: end) else { return false }
        if let most = criteria.mostLapsedMonths, has(most, passedSince: end), most > 0 { return false }
        let last = periods.last { $0.namedOffer?.kind == .winBack }
        return last.map { has(criteria.waitMonths, passedSince: $0.purchaseDate) } ?? true
    }

    /// The whole months that the customer has paid for. Free and refunded periods do not count.
    private var paidMonths: Int {
        var days = 0.0
        for (index, period) in periods.enumerated() {
            guard period.price.milliunits > 0, period.revokedAt == nil, var end = period.expiresDate else { continue }
            if period.isUpgraded, index + 1 < periods.count { end = min(end, periods[index + 1].purchaseDate) }
            days += Double(max(0, end - period.purchaseDate)) / 86_400_000
        }
        // February is a month, too.
        return Int((days + 3) / (365.25 / 12))
    }
}

extension OfferCustomer.Standing {
    fileprivate var words: String {
        switch self {
        case .new: "new subscribers"
        case .existing: "current subscribers"
        case .expired: "former subscribers"
        }
    }
}

extension CatalogOffer {
    /// Whether a code offer is for customers of a standing. Without a list it is for all.
    func isFor(_ standing: OfferCustomer.Standing) -> Bool {
        guard let eligibility, !eligibility.isEmpty else { return true }
        return eligibility.contains { $0.lowercased() == standing.rawValue }
    }
}
