import Foundation
import HTTPSupport
import HTTPTypes
import ServerSupport
import StoreWire
import Synchronization

/// Limits how often one address may try to sign in, and how often anyone may try to sign in to one account.
///
/// Successful sign-ins do not count. Attempts on accounts that do not exist count like those on existing ones.
public final class SignInLimits: Sendable {
    /// The rates of the two limits.
    public struct Rates: Sendable, Equatable {
        /// The rate for each network address. Loopback addresses have no limit.
        public var address: TokenRate
        /// The rate for each e-mail address.
        public var account: TokenRate

        /// The standard rates. Many customers may share one address; nobody mistypes one password twenty times.
        public static let standard = Rates(
            address: .init(burst: 60, perSecond: 1), account: .init(burst: 20, perSecond: 0.2))

        /// Creates rates.
        public init(address: TokenRate, account: TokenRate) {
            self.address = address
            self.account = account
        }
    }

    /// The largest number of addresses, and of accounts, that are counted at the same time.
    static let capacity = 65_536

    private let addresses: Mutex<TokenBuckets<NetworkAddress>>
    /// By the bytes of e-mail addresses, as the database compares them. `String` also equates texts of other bytes.
    private let accounts: Mutex<TokenBuckets<[UInt8]>>

    /// Creates limits with the given rates.
    public init(_ rates: Rates) {
        addresses = Mutex(TokenBuckets(rates.address, capacity: Self.capacity))
        accounts = Mutex(TokenBuckets(rates.account, capacity: Self.capacity))
    }

    /// Counts an attempt.
    /// - Parameter milliseconds: the machine's time, in milliseconds since 1970.
    /// - Throws: ``HTTPProblem`` 429 with the time to wait when the address or the account has reached its limit.
    func take(_ email: String, from address: NetworkAddress, at milliseconds: Int64) throws {
        let now = Double(milliseconds) / 1000
        if !address.isLoopback, let wait = addresses.withLock({ $0.take(address, at: now) }) {
            throw Self.problem("from this address", wait)
        }
        if let account = Self.account(email), let wait = accounts.withLock({ $0.take(account, at: now) }) {
            throw Self.problem("to this account", wait)
        }
    }

    /// Undoes the count of an attempt that succeeded.
    func giveBack(_ email: String, from address: NetworkAddress) {
        if !address.isLoopback { addresses.withLock { $0.giveBack(address) } }
        if let account = Self.account(email) { accounts.withLock { $0.giveBack(account) } }
    }

    /// The address as the store looks it up; nil for a text that is too long for an e-mail address.
    private static func account(_ email: String) -> [UInt8]? {
        email.utf8.count <= 254 ? Array(email.lowercased().utf8) : nil
    }

    private static func problem(_ whose: String, _ wait: Double) -> HTTPProblem {
        HTTPProblem(
            .tooManyRequests, code: WireError.Code.rateLimited.rawValue,
            message: "Too many attempts to sign in \(whose). Try again later.",
            retryAfter: Int(min(max(wait.rounded(.up), 1), 3_600)))
    }
}
