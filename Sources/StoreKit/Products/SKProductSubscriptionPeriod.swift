import Foundation
import StoreWire

/// A calendar duration, such as 3 months.
open class SKProductSubscriptionPeriod: NSObject {
    private let period: SubscriptionPeriod?

    /// Creates an empty period, for subclasses in tests.
    public override init() {
        period = nil
        super.init()
    }

    init(_ period: SubscriptionPeriod) {
        self.period = period
        super.init()
    }

    /// The number of units.
    open var numberOfUnits: Int { period?.count ?? 0 }

    /// The unit of the period.
    open var unit: SKProduct.PeriodUnit {
        switch period?.unit {
        case .day, nil: .day
        case .week: .week
        case .month: .month
        case .year: .year
        }
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKProductSubscriptionPeriod else { return false }
        return numberOfUnits == other.numberOfUnits && unit == other.unit
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(numberOfUnits)
        hasher.combine(unit)
        return hasher.finalize()
    }
}
