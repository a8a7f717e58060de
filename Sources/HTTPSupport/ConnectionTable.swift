import NIOCore
import Synchronization

/// How many connections each address holds open, over all ports of a process.
final class ConnectionTable: Sendable {
    private struct State {
        var counts: [NetworkAddress: Int] = [:]
        /// When a refusal was last told of.
        var toldAt: ContinuousClock.Instant?
    }

    /// For each address other than this machine's; nil for no bound.
    let most: Int?
    private let state = Mutex(State())

    init(most: Int?) { self.most = most }

    /// What came of a new connection.
    enum Entry: Equatable {
        case counted
        /// The address is not bounded.
        case free
        /// The address holds as many as it may. At most one refusal a minute is worth telling the operator of.
        case refused(isToldOf: Bool)
    }

    /// Counts a connection in.
    func enter(_ address: NetworkAddress, at now: ContinuousClock.Instant = .now) -> Entry {
        guard let most, !address.isLoopback else { return .free }
        return state.withLock { state in
            let count = state.counts[address, default: 0]
            guard count < most else {
                let isTold = state.toldAt.map { now - $0 >= .seconds(60) } ?? true
                if isTold { state.toldAt = now }
                return .refused(isToldOf: isTold)
            }
            state.counts[address] = count + 1
            return .counted
        }
    }

    /// Counts a connection out that was ``Entry/counted``.
    func leave(_ address: NetworkAddress) {
        state.withLock { state in
            guard let count = state.counts[address] else { return }
            state.counts[address] = count > 1 ? count - 1 : nil
        }
    }

    /// How many addresses have connections that are counted.
    var addresses: Int { state.withLock { $0.counts.count } }
}
