import Store
import StoreWire
import Synchronization

/// A page that a device opened for its customer.
struct Visit: Sendable {
    var environment: StoreEnvironment
    var accountID: AccountID
    /// The token of the device. The visit ends with it, when the device signs out or the account is locked. Nil for a
    /// customer who signed in on the page itself.
    var token: String?
    /// The item; nil for the page of the account's subscriptions.
    var item: Int64?
    /// The in-app purchase to show first.
    var promoted: ProductID?
    /// The address that the browser opens after the page closed; nil for a page that says that it closed.
    var returnAddress: ReturnAddress?
    var state = VisitState.open
}

/// The pages that devices opened. They are kept in memory only: when the server stops, apps open their pages again.
///
/// A visit's identifier has 120 random bits, and its address is the right to buy one item with one account, or to
/// manage the account's subscriptions.
final class VisitBoard: Sendable {
    /// The most visits at once, and of one account.
    static let (most, mostOfAccount) = (4_096, 16)
    /// How long a page can be used.
    static let lifetime = Duration.seconds(1_800)

    private struct Entry {
        var visit: Visit
        var number: Int
        var end: ContinuousClock.Instant
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var nextNumber = 0

        mutating func number() -> Int {
            nextNumber += 1
            return nextNumber
        }
    }

    private let state = Mutex(State())
    private let polls = LongPolls()
    /// The processes of the store, which have boards of their own.
    let processes: OtherProcess
    private let node: Int
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter node: the number of this process, with which the identifiers of its visits begin.
    init(
        node: Int = 0, processes: OtherProcess = OtherProcess(nil),
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.node = node
        self.processes = processes
        self.now = now
    }

    /// Opens a visit and returns its identifier. The account's oldest visit gives way when it has too many, or else the
    /// oldest of all.
    func open(_ visit: Visit) -> String {
        let id = ProcessID.make(node: node)
        let now = now()
        let gone = state.withLock { state in
            var gone = state.entries.filter { $0.value.end <= now }
            let rest = state.entries.filter { gone[$0.key] == nil }
            let own = rest.filter {
                $0.value.visit.accountID == visit.accountID && $0.value.visit.environment == visit.environment
            }
            let crowd = own.count >= Self.mostOfAccount ? own : rest.count >= Self.most ? rest : [:]
            if let oldest = crowd.min(by: { $0.value.number < $1.value.number }) { gone[oldest.key] = oldest.value }
            for key in gone.keys { state.entries[key] = nil }
            state.entries[id] = Entry(visit: visit, number: state.number(), end: now + Self.lifetime)
            return gone.keys
        }
        polls.release(gone)
        return id
    }

    /// The visit with an identifier; nil when it is unknown or has expired.
    func visit(_ id: String) -> Visit? {
        let now = now()
        return state.withLock { state in state.entries[id].flatMap { $0.end > now ? $0.visit : nil } }
    }

    /// Tells the device how a visit went. A bought item stays bought when the page is closed.
    func end(_ id: String, _ outcome: VisitState) {
        state.withLock { state in
            if state.entries[id]?.visit.state == .open { state.entries[id]?.visit.state = outcome }
        }
        polls.release([id])
    }

    /// Ends a visit, so that its address leads nowhere.
    func remove(_ id: String) {
        state.withLock { $0.entries[id] = nil }
        polls.release([id])
    }

    /// The state of a visit, after waiting up to `time` for its end; nil when it is unknown or has expired.
    func state(_ id: String, waiting time: Duration) async -> VisitState? {
        if time > .zero { await polls.wait(for: id, upTo: time) { self.visit(id)?.state == .open } }
        return visit(id)?.state
    }
}
