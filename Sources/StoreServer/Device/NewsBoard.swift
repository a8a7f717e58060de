import Store
import StoreWire
import Synchronization

/// The requests of running apps that wait for news of their accounts. A change wakes only the requests of the account
/// and its family; nothing looks at the database until then.
final class NewsBoard: Sendable {
    /// The longest time that a request may wait, in seconds.
    static let longestWait = 25
    /// The most requests that wait for one account. A further request releases the one that has waited longest.
    static let mostOfAccount = 64

    private let store: Store
    private let polls: LongPolls
    /// The most requests that wait at once, each on a connection. Further ones are answered at once.
    private let most: Int
    private let waiting = Mutex(0)
    private let listener: Int

    init(_ store: Store, most: Int) {
        let polls = LongPolls(mostForKey: Self.mostOfAccount)
        self.store = store
        self.most = most
        self.polls = polls
        listener = store.accountNews.listen { accounts in polls.release(accounts.map(\.rawValue)) }
    }

    deinit { store.accountNews.forget(listener: listener) }

    /// The marks of what waits for an account's app, after waiting up to `time` until they differ from `since`.
    /// - Parameter since: the marks that the app knows; nil for an answer at once.
    /// - Throws: a database's error; `CancellationError` when the task is cancelled.
    func marks(
        of account: Account, in bundleID: BundleID, since: NewsMarks?, waiting time: Duration
    ) async throws -> NewsMarks {
        guard let since, time > .zero, takePlace() else { return try await store.newsMarks(of: account, in: bundleID) }
        defer { waiting.withLock { $0 -= 1 } }
        let end = ContinuousClock.now + time
        while true {
            // The family may change meanwhile.
            let sources = try await store.newsSources(of: account)
            // Count before reading, so that a change in between ends the wait at once.
            let count = store.accountNews.count(of: sources)
            let marks = try await store.newsMarks(of: account, in: bundleID)
            let rest = ContinuousClock.now.duration(to: end)
            guard marks == since, rest > .zero else { return marks }
            await wait(for: sources, count: count, upTo: rest)
            try Task.checkCancellation()
            // The time has passed, the server shuts down, or another request took the place.
            guard store.accountNews.count(of: sources) != count else { return marks }
        }
    }

    private func takePlace() -> Bool {
        waiting.withLock { waiting in
            guard waiting < most else { return false }
            waiting += 1
            return true
        }
    }

    /// Waits for a change of any of these accounts, of which a family has six at most.
    private func wait(for sources: [AccountID], count: UInt64, upTo time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            for source in sources {
                group.addTask { [polls, news = store.accountNews] in
                    await polls.wait(for: source.rawValue, upTo: time) { news.count(of: sources) == count }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }
}
