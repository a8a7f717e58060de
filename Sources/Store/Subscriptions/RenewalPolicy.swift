import StoreWire

/// How an environment renews subscriptions.
public struct RenewalPolicy: Sendable, Equatable {
    /// How long before the end of a period the store charges the next one, in milliseconds, at most ``longestLead``.
    /// Shortened periods are charged at their end, and what does not renew ends there.
    public var lead: Int64
    /// The days after the end of a period on which the store tries to charge again, each before ``lastRetryDay``. On
    /// the day on which a grace period ends the store does not try.
    public var retryDays: [Int]
    /// The days after the end of a period until the store gives up. Apple documents 60.
    public var lastRetryDay: Int
    /// A longer time between two periods, in milliseconds, starts ``Subscription/recentStartDate`` anew: Apple's 60
    /// days, and ten minutes in the sandbox.
    public var longestGap: Int64
    /// The renewals after which auto-renew goes off, 12 in Apple's sandbox; nil for no limit.
    public var mostRenewals: Int?

    /// Creates a policy.
    public init(
        lead: Int64, retryDays: [Int] = Self.usualRetryDays, lastRetryDay: Int = 60,
        longestGap: Int64 = 60 * 86_400_000,
        mostRenewals: Int? = nil
    ) {
        self.lead = lead
        self.retryDays = retryDays
        self.lastRetryDay = lastRetryDay
        self.longestGap = longestGap
        self.mostRenewals = mostRenewals
    }

    /// The longest ``lead``, a day in milliseconds, as Apple's.
    public static let longestLead: Int64 = 86_400_000

    /// The usual days of further attempts. Apple does not publish its own.
    public static let usualRetryDays = [1, 2, 4, 7, 10, 14, 19, 24, 30, 36, 42, 48, 54]

    /// The usual policy of an environment: in production the store charges a day early; in the sandbox at the end of
    /// the period, and a subscription renews twelve times.
    public static func usual(_ environment: StoreEnvironment) -> RenewalPolicy {
        environment == .production
            ? RenewalPolicy(lead: longestLead) : RenewalPolicy(lead: 0, longestGap: 600_000, mostRenewals: 12)
    }

    /// When the store charges the renewal of a period.
    func chargeDate(before end: Int64, at rate: RenewalRate) -> Int64 { rate.retryLength == nil ? end - lead : end }

    /// The renewals after which auto-renew goes off; nil for no limit.
    func mostRenewals(at rate: RenewalRate) -> Int? { rate == .never ? 0 : mostRenewals }

    /// When the store gives up charging after the end of a period.
    func retryEnd(after end: Int64, at rate: RenewalRate) -> Int64 {
        rate.retryLength.map { end + $0 } ?? Self.day(lastRetryDay, after: end)
    }

    /// The further attempts after the end of a period. With shortened periods their days are shortened alike.
    func retries(after end: Int64, at rate: RenewalRate) -> [Int64] {
        guard let length = rate.retryLength else { return retryDays.map { Self.day($0, after: end) } }
        return retryDays.map { end + length * Int64($0) / Int64(max(lastRetryDay, 1)) }
    }

    /// Days are those of Los Angeles, as for periods.
    private static func day(_ count: Int, after end: Int64) -> Int64 {
        SubscriptionPeriod(unit: .day, count: count).end(from: end)
    }
}
