import StoreKit

/// A plan that the app sells. Its price and period come from the store.
public enum Plan: String, CaseIterable, Sendable {
    /// Every issue, by the month. The first week is free.
    case monthly
    /// Every issue, by the year. A change between this plan and ``monthly`` waits for the next renewal.
    case yearly
    /// Every issue, and those of earlier years. A change to this plan happens at once.
    case premium

    /// The identifier of the plan's product.
    public var productIdentifier: String { "com.example.magazine.\(rawValue)" }

    /// The name for the reader.
    public var title: String { rawValue.capitalized }

    /// Returns the plan with a product identifier, in full (`com.example.magazine.monthly`) or short (`monthly`).
    public static func named(_ name: String) -> Plan? {
        allCases.first { $0.rawValue == name || $0.productIdentifier == name }
    }
}

extension SKProduct {
    /// The price with its period, such as `$2.99 a month`.
    var priceAndPeriod: String {
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = priceLocale
        let amount = formatter.string(from: price) ?? "\(price)"
        return subscriptionPeriod.map { "\(amount) \($0.numberOfUnits == 1 ? "a" : "for") \($0.text)" } ?? amount
    }

    /// The free time at the beginning, such as `week`; nil without.
    var freeTime: String? {
        introductoryPrice.flatMap { $0.paymentMode == .freeTrial ? $0.subscriptionPeriod.text : nil }
    }
}

extension SKProductSubscriptionPeriod {
    /// Such as `month` or `3 months`.
    fileprivate var text: String {
        let name =
            switch unit {
            case .day: "day"
            case .week: "week"
            case .month: "month"
            case .year: "year"
            }
        return numberOfUnits == 1 ? name : "\(numberOfUnits) \(name)s"
    }
}
