import Foundation
import StoreWire
import Synchronization

/// Brings what the store does by itself to an app that runs and observes: renewals, approvals, redeemed codes, refunds
/// and the other notices.
///
/// One request waits at the store at a time, and only while the app has an observer and a customer is signed in. Its
/// answer says only *that* something came; the watch then fetches the transactions for the queue, which journals and
/// delivers them as at launch, and has the notices checked.
final class StoreWatch: Sendable {
    /// How long the store may keep a request waiting, in seconds.
    static let wait = 25
    /// The most pages of transactions that follow one answer. The next launch brings the rest.
    static let pages = 20
    /// Other marks that come sooner than this were hardly waited for.
    private static let quickly = Duration.seconds(1)
    /// The quick answers in a row that need no pause, and the longest pause after news, in seconds.
    private static let (quickAnswers, longestPause) = (4, 5.0)

    private struct State {
        weak var payments: PaymentQueueEngine?
        var isStopped = false
        /// The account that is followed; nil for none.
        var account: AccountID?
        /// The number of the present run, which ends when the watch stops or follows another account.
        var run = 0
        var task: Task<Void, Never>?
        var marks: NewsMarks?
        /// The requests that failed since the last answer.
        var failures = 0
        /// The answers in a row that came quickly.
        var quick = 0
    }

    private let session: StoreSession
    private let timer: any RetryTimer
    private let backoff: Backoff
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    init(
        session: StoreSession, timer: any RetryTimer, backoff: Backoff,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.session = session
        self.timer = timer
        self.backoff = backoff
        self.now = now
    }

    /// Sets the queue that receives the transactions. It is not retained.
    func attach(_ payments: PaymentQueueEngine) { state.withLock { $0.payments = payments } }

    /// Follows the current account from now on, if it is not followed already. Call it after the queue has read the
    /// store's list and before the notices are checked: on return, the watch knows what waited then.
    func follow() async {
        guard let account = session.tokens.current?.account.accountID else { return }
        let run = state.withLock { state -> Int? in
            guard !state.isStopped, state.account != account else { return nil }
            state.task?.cancel()
            state.task = nil
            state.run += 1
            state.account = account
            state.marks = nil
            state.failures = 0
            state.quick = 0
            return state.run
        }
        if let run { await ask(run, account, isFirst: true) }
    }

    /// Ends the request until ``follow()`` is called again.
    func pause() {
        let task = state.withLock { state in
            state.run += 1
            state.account = nil
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
    }

    /// Ends all requests.
    func stop() {
        state.withLock { $0.isStopped = true }
        pause()
    }

    private func isCurrent(_ run: Int) -> Bool { state.withLock { $0.run == run && !$0.isStopped } }

    /// The queue; nil when the run has ended or the app observes no more.
    private func observedQueue(_ run: Int) -> PaymentQueueEngine? {
        let payments = state.withLock { $0.run == run && !$0.isStopped ? $0.payments : nil }
        return payments.flatMap { $0.observers.isEmpty ? nil : $0 }
    }

    /// Asks for news in a task of its own.
    private func askAgain(_ run: Int, _ account: AccountID) {
        state.withLock { state in
            guard state.run == run, !state.isStopped else { return }
            state.task = Task { [weak self] in
                guard let self else { return }
                await ask(run, account, isFirst: false)
            }
        }
    }

    private func ask(_ run: Int, _ account: AccountID, isFirst: Bool) async {
        // An observer can vanish without being removed.
        guard observedQueue(run) != nil, session.tokens.current?.account.accountID == account else { return end(run) }
        let (known, wasAway) = state.withLock { ($0.marks, $0.failures > 0) }
        let start = now()
        do {
            let marks = try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await session.client.news(session.bundleID, since: known, wait: Self.wait, token: token)
            }
            // A store that is full, busy or stopping returns the same marks long before the time has passed.
            let isQuick = start.duration(to: now()) < (marks == known ? .seconds(Self.wait / 2) : Self.quickly)
            try await fetch(marks, since: known, run, account, isFirst: isFirst, wasAway: wasAway)
            answered(marks, since: known, isQuick: isQuick, run, account)
        } catch {
            if error == .unreachable { failed(run, account) } else { end(run) }
        }
    }

    /// Fetches what the marks stand for. When that fails, the marks are not kept, so that the next request is answered
    /// at once.
    private func fetch(
        _ marks: NewsMarks, since known: NewsMarks?, _ run: Int, _ account: AccountID, isFirst: Bool,
        wasAway: Bool
    ) async throws(StoreFailure) {
        guard let payments = observedQueue(run) else { return }
        if marks.transactions != NewsMarks.nothing, marks.transactions != known?.transactions {
            try await fetchTransactions(of: account, for: payments)
        }
        // The first request is followed by a check in any case.
        // A check that failed while the store was away may not be repeated for a minute.
        if !isFirst, wasAway || marks.notices != known?.notices { payments.checkNotices() }
    }

    private func fetchTransactions(
        of account: AccountID, for payments: PaymentQueueEngine
    ) async throws(StoreFailure) {
        // The app may finish one of them before the answer arrives.
        payments.expectTransaction()
        var arrived: [TransactionDescription] = []
        do throws(StoreFailure) {
            var after: TransactionID?
            for _ in 0..<Self.pages {
                let last = after
                let page = try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                    try await session.client.arrived(session.bundleID, after: last, token: token)
                }
                arrived += page.transactions
                guard let next = page.next, next > last ?? TransactionID(rawValue: 0) else { break }
                after = next
            }
        } catch {
            payments.receive([], of: account)
            throw error
        }
        payments.receive(arrived, of: account)
    }

    // MARK: The next request

    /// Asks again: at once, or after a pause when the store answers without waiting.
    private func answered(
        _ marks: NewsMarks, since known: NewsMarks?, isQuick: Bool, _ run: Int, _ account: AccountID
    ) {
        let pause = state.withLock { state -> Double? in
            guard state.run == run else { return nil }
            state.marks = marks
            state.failures = 0
            // The answer to the first request is always quick.
            state.quick = isQuick && known != nil ? state.quick + 1 : 0
            guard state.quick > 0 else { return nil }
            guard marks != known else { return backoff.delay(state.quick) }
            guard state.quick > Self.quickAnswers else { return nil }
            return min(backoff.delay(state.quick - Self.quickAnswers), Self.longestPause)
        }
        guard let pause else { return askAgain(run, account) }
        askLater(run, account, after: pause)
    }

    private func failed(_ run: Int, _ account: AccountID) {
        let attempt = state.withLock { state -> Int? in
            guard state.run == run else { return nil }
            state.failures += 1
            return state.failures
        }
        guard let attempt else { return }
        askLater(run, account, after: backoff.delay(attempt))
    }

    private func askLater(_ run: Int, _ account: AccountID, after seconds: Double) {
        timer.after(seconds: seconds) { [weak self] in self?.askAgain(run, account) }
    }

    /// Ends a run: nobody observes, or the customer has signed out or in to another account. The next list that the
    /// queue reads begins another.
    private func end(_ run: Int) {
        state.withLock { state in
            guard state.run == run else { return }
            state.run += 1
            state.account = nil
            state.task = nil
        }
    }
}
