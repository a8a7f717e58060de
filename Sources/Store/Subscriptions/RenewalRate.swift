import StoreWire

/// How long the periods of a tester's subscriptions last, as App Store Connect sets it for each sandbox tester.
///
/// The lengths are those of App Store Connect's help and of StoreKit Test. Apple does not state the grace period of the
/// three-minute rate; here it is three minutes.
public enum RenewalRate: String, Sendable, CaseIterable {
    /// Periods last as long as the catalog says.
    case real
    /// A month lasts three minutes.
    case threeMinutes = "3m"
    /// A month lasts five minutes.
    case fiveMinutes = "5m"
    /// A month lasts 15 minutes.
    case fifteenMinutes = "15m"
    /// A month lasts 30 minutes.
    case thirtyMinutes = "30m"
    /// A month lasts an hour.
    case oneHour = "1h"
    /// Periods last as long as the catalog says, and subscriptions do not renew.
    case never

    private static let second: Int64 = 1000
    private static let minute: Int64 = 60_000

    /// The lengths of a month and a week in minutes; nil when periods have their real length.
    private var minutes: (month: Int64, week: Int64)? {
        switch self {
        case .real, .never: nil
        case .threeMinutes: (3, 3)
        case .fiveMinutes: (5, 3)
        case .fifteenMinutes: (15, 5)
        case .thirtyMinutes: (30, 10)
        case .oneHour: (60, 15)
        }
    }

    /// The instant one period after `start`, both in milliseconds since 1970.
    ///
    /// A shortened period of days lasts its part of a week, in whole minutes: three days are two minutes when a week is
    /// three.
    func end(of period: SubscriptionPeriod, from start: Int64) -> Int64 {
        guard let minutes else { return period.end(from: start) }
        let count = Int64(period.count)
        let length: Int64 =
            switch period.unit {
            case .day: max((count * minutes.week + 6) / 7, 1)
            case .week: count * minutes.week
            case .month: count * minutes.month
            case .year: count * 12 * minutes.month
            }
        return start + length * Self.minute
    }

    /// How long the store tries to charge an overdue renewal, in milliseconds; nil for the policy's days.
    var retryLength: Int64? { minutes.map { 2 * $0.month * Self.minute } }

    /// The length of a shortened grace period in milliseconds; nil when it lasts days.
    func graceLength(isWeekly: Bool) -> Int64? {
        switch self {
        case .real, .never: nil
        case .threeMinutes: 3 * Self.minute
        case .fiveMinutes: (isWeekly ? 3 : 5) * Self.minute
        case .fifteenMinutes: (isWeekly ? 257 : 450) * Self.second
        case .thirtyMinutes: (isWeekly ? 514 : 900) * Self.second
        case .oneHour: (isWeekly ? 771 : 1800) * Self.second
        }
    }
}

/// The billing grace period of an app's subscriptions, as App Store Connect has it.
public struct GracePeriod: Sendable, Equatable {
    /// The lengths that App Store Connect offers. The raw values are days.
    public enum Length: Int64, Sendable, CaseIterable {
        /// Three days.
        case threeDays = 3
        /// 16 days; six for weekly subscriptions.
        case sixteenDays = 16
        /// 28 days; six for weekly subscriptions.
        case twentyEightDays = 28
    }

    /// How long customers keep the access.
    public var length: Length
    /// Whether production has the grace period.
    public var inProduction: Bool
    /// Whether the sandbox has the grace period.
    public var inSandbox: Bool
    /// Whether only renewals after a paid period have it, and not those after a free offer.
    public var paidToPaidOnly: Bool

    /// Creates a grace period.
    public init(length: Length, inProduction: Bool = true, inSandbox: Bool = true, paidToPaidOnly: Bool = false) {
        self.length = length
        self.inProduction = inProduction
        self.inSandbox = inSandbox
        self.paidToPaidOnly = paidToPaidOnly
    }

    /// When the grace period of a renewal ends, in milliseconds since 1970; nil when it has none.
    /// - Parameters:
    ///   - end: the end of the period that was not renewed.
    ///   - period: the length of the product's periods.
    ///   - wasPaid: whether the last period cost something.
    func end(
        after end: Int64, of period: SubscriptionPeriod, at rate: RenewalRate, wasPaid: Bool,
        in environment: StoreEnvironment
    ) -> Int64? {
        guard environment == .production ? inProduction : inSandbox, wasPaid || !paidToPaidOnly else { return nil }
        let isWeekly = period.unit == .week && period.count == 1 || period.unit == .day && period.count == 7
        if let short = rate.graceLength(isWeekly: isWeekly) { return end + short }
        let days = isWeekly ? min(length.rawValue, 6) : length.rawValue
        return SubscriptionPeriod(unit: .day, count: Int(days)).end(from: end)
    }
}
