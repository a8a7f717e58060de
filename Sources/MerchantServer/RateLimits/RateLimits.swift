import Foundation
import HTTPSupport
import MerchantWire
import Synchronization

/// How often one address, one user and one API key may come.
public final class RateLimits: Sendable {
    /// The rates, each the burst and what a second brings back.
    public struct Rates: Sendable, Equatable {
        public var address: TokenRate
        public var user: TokenRate
        public var key: TokenRate

        /// Many users may stand behind one address, and a backend speaks for all of them.
        public static let standard = Rates(
            address: .init(burst: 400, perSecond: 200), user: .init(burst: 60, perSecond: 20),
            key: .init(burst: 4_000, perSecond: 2_000))

        public init(
            address: TokenRate, user: TokenRate, key: TokenRate
        ) {
            self.address = address
            self.user = user
            self.key = key
        }
    }

    /// Who is counted.
    public enum Subject: Sendable, Equatable {
        case address(NetworkAddress)
        case user(UserID)
        /// An API key, by its name.
        case key(String)
    }

    /// Addresses, users and keys that are counted at the same time, at most.
    public static let capacity = 65_536

    // Separate locks: a request of a user passes the addresses' and the users'.
    private let addresses: Mutex<TokenBuckets<NetworkAddress>>
    private let users: Mutex<TokenBuckets<UserID>>
    private let keys: Mutex<TokenBuckets<String>>

    public init(_ rates: Rates, capacity: Int = capacity) {
        addresses = Mutex(TokenBuckets(rates.address, capacity: capacity))
        users = Mutex(TokenBuckets(rates.user, capacity: capacity))
        keys = Mutex(TokenBuckets(rates.key, capacity: capacity))
    }

    /// Counts one request. False when it is one too many.
    public func allows(_ subject: Subject, at now: Date) -> Bool { wait(subject, at: now) == nil }

    /// Counts one request.
    /// - Throws: ``HTTPProblem`` 429 `rate_limited` with the time to wait.
    public func take(_ subject: Subject, at now: Date) throws {
        guard let wait = wait(subject, at: now) else { return }
        let who =
            switch subject {
            case .address: "this address"
            case .user: "this user"
            case .key: "this API key"
            }
        throw HTTPProblem(
            .tooManyRequests, code: MerchantErrorCode.rateLimited.rawValue,
            message: "There are too many requests of \(who). Try again later.",
            retryAfter: Int(min(max(wait.rounded(.up), 1), 3_600)))
    }

    /// Takes back the count of a request that is counted again.
    func giveBack(_ subject: Subject) {
        switch subject {
        case .address(let address): addresses.withLock { $0.giveBack(address) }
        case .user(let user): users.withLock { $0.giveBack(user) }
        case .key(let name): keys.withLock { $0.giveBack(name) }
        }
    }

    private func wait(_ subject: Subject, at now: Date) -> Double? {
        let seconds = now.timeIntervalSince1970
        return switch subject {
        case .address(let address): addresses.withLock { $0.take(address, at: seconds) }
        case .user(let user): users.withLock { $0.take(user, at: seconds) }
        case .key(let name): keys.withLock { $0.take(name, at: seconds) }
        }
    }
}
