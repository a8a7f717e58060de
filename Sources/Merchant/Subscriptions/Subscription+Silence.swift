/// When the store should be asked about a subscription, because its notifications may have been lost.
extension Subscription {
    /// How long after a period's end its renewal or expiry may be reported: 10 minutes, in milliseconds.
    static let reportDelay: Int64 = 10 * 60_000
    /// How long nothing may be heard of a running subscription: 7 days.
    static let longestSilence: Int64 = 7 * 86_400_000
    /// The pause between two questions about an ended subscription that may still renew: a day.
    static let retryPause: Int64 = 86_400_000
    /// How long after its end a subscription may renew: 60 days of billing retry, and a day.
    static let longestRetry: Int64 = 61 * 86_400_000

    /// The time from which the store should be asked; nil when nothing more is expected.
    ///
    /// - Before the end of the newest period: shortly after the end, or after a week of silence.
    /// - After it: once a day, until the store has said that the subscription does not renew, for 61 days at most.
    var askAfter: Int64? {
        guard let newest = periods.last else { return nil }
        let (end, heard) = (newest.expiresAt, heardAt)
        guard heard >= end else { return min(end + Self.reportDelay, heard + Self.longestSilence) }
        if let willRenew, !willRenew.value, willRenew.signedAt >= end { return nil }
        guard newest.revokedAt == nil, heard - end < Self.longestRetry else { return nil }
        return heard + Self.retryPause
    }

    /// The time of the latest statement of the store.
    private var heardAt: Int64 {
        var times: [Int64?] = [willRenew?.signedAt, renewsAs?.signedAt]
        for period in periods {
            times += [
                period.endSignedAt, period.accountToken?.signedAt, period.refund?.signedAt, period.grace?.signedAt,
            ]
        }
        return times.compactMap(\.self).max() ?? 0
    }

    /// Whether another value says the same about the newest period and its renewal, whenever that was signed.
    func saysTheSame(as other: Subscription) -> Bool {
        let (newest, others) = (periods.last, other.periods.last)
        return newest?.key == others?.key && newest?.expiresAt == others?.expiresAt
            && newest?.revokedAt == others?.revokedAt
            && newest?.grace.flatMap(\.value) == others?.grace.flatMap(\.value)
            && willRenew?.value == other.willRenew?.value && renewsAs?.value == other.renewsAs?.value
    }
}
