import HTTPSupport
import ServerSupport
import Store
import StoreWire
import Synchronization

/// Limits how often an account may try codes that are not valid. Redeemed codes do not count.
final class CodeLimit: Sendable {
    /// Nobody mistypes a code twenty times.
    static let rate = TokenRate(burst: 20, perSecond: 0.02)
    /// The largest number of accounts that are counted at the same time.
    private static let capacity = 65_536

    private let accounts = Mutex(TokenBuckets<AccountID>(CodeLimit.rate, capacity: CodeLimit.capacity))

    /// Counts an attempt.
    /// - Parameter milliseconds: the machine's time, in milliseconds since 1970.
    /// - Throws: ``HTTPProblem`` 429 with the time to wait when the account has reached its limit.
    func take(_ account: AccountID, at milliseconds: Int64) throws {
        guard let wait = accounts.withLock({ $0.take(account, at: Double(milliseconds) / 1000) }) else { return }
        throw HTTPProblem(
            .tooManyRequests, code: WireError.Code.rateLimited.rawValue,
            message: "This account has tried too many codes. Try again later.",
            retryAfter: Int(min(max(wait.rounded(.up), 1), 3_600)))
    }

    /// Undoes the count of an attempt with a code that exists.
    func giveBack(_ account: AccountID) { accounts.withLock { $0.giveBack(account) } }
}
