import Foundation
import HTTPSupport
import HTTPTypes
import StoreWire
import Synchronization

/// How often one address may try to sign in, and how often somebody may try to sign in to one account.
///
/// A sign-in that succeeds is not counted. Accounts that do not exist are counted like those that do.
public final class SignInLimits: Sendable {
    /// The rates, each the burst and what a second brings back.
    public struct Rates: Sendable, Equatable {
        /// Of each address but this machine's own.
        public var address: TokenRate
        /// Of each e-mail address.
        public var account: TokenRate

        /// Many customers may stand behind one address; nobody mistypes one password twenty times.
        public static let standard = Rates(
            address: .init(burst: 60, perSecond: 1), account: .init(burst: 20, perSecond: 0.2))

        public init(address: TokenRate, account: TokenRate) {
            self.address = address
            self.account = account
        }
    }

    /// Addresses and accounts that are counted at the same time, at most.
    static let capacity = 65_536

    private let addresses: Mutex<TokenBuckets<NetworkAddress>>
    private let accounts: Mutex<TokenBuckets<String>>

    public init(_ rates: Rates) {
        addresses = Mutex(TokenBuckets(rates.address, capacity: Self.capacity))
        accounts = Mutex(TokenBuckets(rates.account, capacity: Self.capacity))
    }

    /// Counts an attempt.
    /// - Parameter milliseconds: now, by the machine's clock.
    /// - Throws: ``HTTPProblem`` 429 with the time to wait.
    func take(_ email: String, from address: NetworkAddress, at milliseconds: Int64) throws {
        let now = Double(milliseconds) / 1000
        if !address.isLoopback, let wait = addresses.withLock({ $0.take(address, at: now) }) {
            throw Self.problem("from this address", wait)
        }
        if let account = Self.account(email), let wait = accounts.withLock({ $0.take(account, at: now) }) {
            throw Self.problem("to this account", wait)
        }
    }

    /// Takes back the count of an attempt that succeeded.
    func giveBack(_ email: String, from address: NetworkAddress) {
        if !address.isLoopback { addresses.withLock { $0.giveBack(address) } }
        if let account = Self.account(email) { accounts.withLock { $0.giveBack(account) } }
    }

    /// As the store looks it up; nil for a text that is too long for an e-mail address.
    private static func account(_ email: String) -> String? { email.utf8.count <= 254 ? email.lowercased() : nil }

    private static func problem(_ whose: String, _ wait: Double) -> HTTPProblem {
        HTTPProblem(
            .tooManyRequests, code: WireError.Code.rateLimited.rawValue,
            message: "There are too many attempts to sign in \(whose). Try again later.",
            retryAfter: Int(min(max(wait.rounded(.up), 1), 3_600)))
    }
}
