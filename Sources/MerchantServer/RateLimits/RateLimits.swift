import Foundation
import HTTPSupport
import MerchantWire
import ServerSupport
import Synchronization

/// The rate limits of each address, user and API key.
public final class RateLimits: Sendable {
    /// The rates of the limits.
    public struct Rates: Sendable, Equatable {
        /// The rate of each network address.
        public var address: TokenRate
        /// The rate of each user.
        public var user: TokenRate
        /// The rate of each API key.
        public var key: TokenRate
        /// The rate at which users of one network address may name transactions that the store does not know.
        public var addressGuesses: TokenRate
        /// The same rate of each user.
        public var userGuesses: TokenRate

        /// The standard rates. Many users may share one address, and a backend acts for all of its users.
        public static let standard = Rates(
            address: .init(burst: 400, perSecond: 200), user: .init(burst: 60, perSecond: 20),
            key: .init(burst: 4_000, perSecond: 2_000))
        /// The standard rate of an address's guesses.
        public static let standardAddressGuesses = TokenRate(burst: 100, perSecond: 0.2)
        /// The standard rate of a user's guesses. StoreKit gives apps the identifiers, so that nobody mistypes one.
        public static let standardUserGuesses = TokenRate(burst: 10, perSecond: 0.02)

        /// Creates rates.
        public init(
            address: TokenRate, user: TokenRate, key: TokenRate, addressGuesses: TokenRate = standardAddressGuesses,
            userGuesses: TokenRate = standardUserGuesses
        ) {
            self.address = address
            self.user = user
            self.key = key
            self.addressGuesses = addressGuesses
            self.userGuesses = userGuesses
        }
    }

    /// The subject that a request is counted for.
    public enum Subject: Sendable, Hashable {
        /// A client's network address.
        case address(NetworkAddress)
        /// A client's network address, for a notification, at the rate of addresses.
        case notifier(NetworkAddress)
        /// A user.
        case user(UserID)
        /// An API key, by name.
        case key(String)
        /// A client's network address, for a transaction that the store does not know.
        case guessingAddress(NetworkAddress)
        /// A user, for a transaction that the store does not know.
        case guesser(UserID)
    }

    /// The largest number of addresses, of users and of keys that are counted at the same time.
    public static let capacity = 65_536

    // Separate locks: a user's request takes one of the address and one of the user.
    private let addresses: Mutex<TokenBuckets<NetworkAddress>>
    private let notifiers: Mutex<TokenBuckets<NetworkAddress>>
    private let users: Mutex<TokenBuckets<UserID>>
    private let keys: Mutex<TokenBuckets<String>>
    private let guessingAddresses: Mutex<TokenBuckets<NetworkAddress>>
    private let guessers: Mutex<TokenBuckets<UserID>>
    /// The number of requests in progress that may get their tokens back.
    private let running = Mutex<[Subject: Int]>([:])

    /// Creates limits with the given rates.
    public init(_ rates: Rates, capacity: Int = capacity) {
        addresses = Mutex(TokenBuckets(rates.address, capacity: capacity))
        notifiers = Mutex(TokenBuckets(rates.address, capacity: capacity))
        users = Mutex(TokenBuckets(rates.user, capacity: capacity))
        keys = Mutex(TokenBuckets(rates.key, capacity: capacity))
        guessingAddresses = Mutex(TokenBuckets(rates.addressGuesses, capacity: capacity))
        guessers = Mutex(TokenBuckets(rates.userGuesses, capacity: capacity))
    }

    /// Counts one request. Returns false when the limit is reached.
    public func allows(_ subject: Subject, at now: Date) -> Bool { wait(subject, at: now) == nil }

    /// Counts one request.
    /// - Throws: ``HTTPProblem`` 429 `rate_limited` with the time to wait when the limit is reached.
    public func take(_ subject: Subject, at now: Date) throws {
        guard let wait = wait(subject, at: now) else { return }
        throw Self.problem(subject, wait)
    }

    private static func problem(_ subject: Subject, _ wait: Double) -> HTTPProblem {
        let what =
            switch subject {
            case .address, .notifier: "requests of this address"
            case .user: "requests of this user"
            case .key: "requests of this API key"
            case .guessingAddress: "redemptions from this address of transactions that the store does not know"
            case .guesser: "redemptions by this user of transactions that the store does not know"
            }
        return HTTPProblem(
            .tooManyRequests, code: MerchantErrorCode.rateLimited.rawValue,
            message: "Too many \(what). Try again later.",
            retryAfter: Int(min(max(wait.rounded(.up), 1), 3_600)))
    }

    /// Counts a request until ``end(_:counts:)``, which tells whether it counts for longer.
    /// - Throws: ``HTTPProblem`` 429 `rate_limited` when the limit is reached: for a second while requests in progress
    ///   may get their tokens back, else as ``take(_:at:)``.
    func begin(_ subject: Subject, at now: Date) throws {
        try running.withLock { running in
            guard let wait = self.wait(subject, at: now) else {
                running[subject, default: 0] += 1
                return
            }
            guard running[subject] != nil else { throw Self.problem(subject, wait) }
            throw HTTPProblem(
                .tooManyRequests, code: MerchantErrorCode.rateLimited.rawValue,
                message: "Too many redemptions by identifier at once. Try again when one of them is answered.",
                retryAfter: 1)
        }
    }

    /// Ends a request after ``begin(_:at:)``, and undoes its count unless it counts.
    func end(_ subject: Subject, counts: Bool) {
        running.withLock { running in
            running[subject] = running[subject].flatMap { $0 > 1 ? $0 - 1 : nil }
            if !counts { giveBack(subject) }
        }
    }

    /// Undoes the count of a request that is counted again, or does not count.
    func giveBack(_ subject: Subject) {
        switch subject {
        case .address(let address): addresses.withLock { $0.giveBack(address) }
        case .notifier(let address): notifiers.withLock { $0.giveBack(address) }
        case .user(let user): users.withLock { $0.giveBack(user) }
        case .key(let name): keys.withLock { $0.giveBack(name) }
        case .guessingAddress(let address): guessingAddresses.withLock { $0.giveBack(address) }
        case .guesser(let user): guessers.withLock { $0.giveBack(user) }
        }
    }

    private func wait(_ subject: Subject, at now: Date) -> Double? {
        let seconds = now.timeIntervalSince1970
        return switch subject {
        case .address(let address): addresses.withLock { $0.take(address, at: seconds) }
        case .notifier(let address): notifiers.withLock { $0.take(address, at: seconds) }
        case .user(let user): users.withLock { $0.take(user, at: seconds) }
        case .key(let name): keys.withLock { $0.take(name, at: seconds) }
        case .guessingAddress(let address): guessingAddresses.withLock { $0.take(address, at: seconds) }
        case .guesser(let user): guessers.withLock { $0.take(user, at: seconds) }
        }
    }
}
