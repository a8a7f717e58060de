import Merchant

/// Decides about an event after an attempt to deliver it.
public struct WebhookPolicy: Sendable, Equatable {
    /// The largest number of attempts. With the pauses below, the last attempt is one and a half to three days after
    /// the first.
    public var attempts = 24
    var backoff = Backoff(first: 5, longest: 6 * 3_600)
    /// The longest `Retry-After` that is respected, in seconds.
    var longestWish = 6 * 3_600

    /// Creates the standard policy.
    public init() {}

    /// The result of one attempt.
    enum Attempt: Sendable, Equatable {
        /// The receiver's status, and its `Retry-After` in seconds.
        case answered(Int, retryAfter: Int?)
        /// There was no answer, for the given reason.
        case failed(String)

        /// The receiver's status; nil without an answer.
        var status: Int? {
            switch self {
            case .answered(let status, _): status
            case .failed: nil
            }
        }
    }

    /// - Parameters:
    ///   - attempts: the attempts so far, including this one.
    ///   - now: milliseconds since 1970.
    ///   - random: a number from 0 up to, but not including, 1.
    func outcome(of attempt: Attempt, attempts: Int, now: Int64, random: Double) -> WebhookOutcome {
        let reason: String
        var wish: Int?
        switch attempt {
        case .answered(200...299, _): return .delivered
        // 410: the receiver is gone for good.
        case .answered(410, _): return .dead(reason: "HTTP 410")
        case .answered(let status, let retryAfter):
            reason = "HTTP \(status)"
            if status == 429 || status == 503 { wish = retryAfter.map { min($0, longestWish) } }
        case .failed(let word): reason = word
        }
        guard attempts < self.attempts else { return .dead(reason: reason) }
        let pause = max(backoff.pause(after: attempts, random: random), Double(wish ?? 0))
        return .retry(at: now + Int64(pause * 1000), reason: reason)
    }
}
