import StoreWire
import Synchronization

/// Tells waiting requests that something may have changed for an account. It keeps nothing for an account: readers
/// compare counters, which accounts share, and then read the database.
public final class AccountNews: Sendable {
    private static let counters = 4_096
    /// The most accounts that wait to be told to other processes. Requests at these processes learn of the rest when
    /// they ask again.
    private static let mostUntold = 1_000

    private struct State {
        var counts = [UInt64](repeating: 0, count: AccountNews.counters)
        var listeners: [Int: @Sendable ([AccountID]) -> Void] = [:]
        var nextListener = 0
        var isShared = false
        var untold: Set<AccountID> = []
    }

    private let state = Mutex(State())

    /// Creates news of nothing.
    public init() {}

    /// Records that something may have changed for accounts. Call it after the change is durable.
    func record(_ accounts: [AccountID]) { record(accounts, isHeard: false) }

    /// Records what another process told of.
    public func hear(_ accounts: [AccountID]) { record(accounts, isHeard: true) }

    private func record(_ accounts: [AccountID], isHeard: Bool) {
        guard !accounts.isEmpty else { return }
        let listeners = state.withLock { state in
            for account in accounts {
                state.counts[Self.place(of: account)] &+= 1
                guard state.isShared, !isHeard, state.untold.count < Self.mostUntold else { continue }
                state.untold.insert(account)
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener(accounts) }
    }

    /// A number that differs after something was recorded for one of these accounts.
    public func count(of accounts: [AccountID]) -> UInt64 {
        state.withLock { state in accounts.reduce(0) { $0 &+ state.counts[Self.place(of: $1)] } }
    }

    private static func place(of account: AccountID) -> Int {
        Int(UInt(bitPattern: account.hashValue) % UInt(counters))
    }

    /// Adds a function that is called with accounts after something was recorded for them. It must not block.
    /// - Returns: the number for ``forget(listener:)``.
    public func listen(_ listener: @escaping @Sendable ([AccountID]) -> Void) -> Int {
        state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = listener
            return state.nextListener
        }
    }

    /// Removes a function.
    public func forget(listener: Int) { state.withLock { $0.listeners[listener] = nil } }

    /// Keeps accounts for ``takeUntold()`` from now on.
    public func share() { state.withLock { $0.isShared = true } }

    /// Some of the accounts for which this process recorded something, for the other processes. The next call returns
    /// others.
    /// - Parameter most: the most accounts, since they share the way to other processes with other news.
    public func takeUntold(most: Int = 40) -> [AccountID] {
        state.withLock { state in
            let taken = Array(state.untold.prefix(most))
            state.untold.subtract(taken)
            return taken
        }
    }
}
