import Merchant

/// What becomes of an event after an attempt to deliver it.
public struct WebhookPolicy: Sendable, Equatable {
    /// Attempts at most; with the pauses below the last is made one and a half to three days after the first.
    public var attempts = 24
    var backoff = Backoff(first: 5, longest: 6 * 3_600)
    /// The longest `Retry-After` that is kept, in seconds.
    var longestWish = 6 * 3_600

    public init() {}

    /// What an attempt came to.
    enum Attempt: Sendable, Equatable {
        /// The receiver's status, and its `Retry-After` in seconds.
        case answered(Int, retryAfter: Int?)
        /// There was no answer: why, in a word.
        case failed(String)
    }

    /// - Parameters:
    ///   - attempts: made so far, with this one.
    ///   - now: milliseconds since 1970.
    ///   - random: from 0 up to 1.
    func outcome(of attempt: Attempt, attempts: Int, now: Int64, random: Double) -> WebhookOutcome {
        let reason: String
        var wish: Int?
        switch attempt {
        case .answered(200...299, _): return .delivered
        // The receiver says that it is gone for good.
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
