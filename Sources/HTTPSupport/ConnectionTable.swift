import NIOCore
import Synchronization

/// Counts the open connections of each address, over all ports of a process.
final class ConnectionTable: Sendable {
    private struct State {
        var counts: [NetworkAddress: Int] = [:]
        /// When a refusal was last reported.
        var toldAt: ContinuousClock.Instant?
    }

    /// The largest number for each address that is not loopback; nil for no limit.
    let most: Int?
    private let state = Mutex(State())

    init(most: Int?) { self.most = most }

    /// The result of counting a new connection.
    enum Entry: Equatable {
        case counted
        /// The address has no limit.
        case free
        /// The address has reached its limit. At most one refusal a minute is reported to the operator.
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

    /// Removes a connection that was ``Entry/counted``.
    func leave(_ address: NetworkAddress) {
        state.withLock { state in
            guard let count = state.counts[address] else { return }
            state.counts[address] = count > 1 ? count - 1 : nil
        }
    }

    /// The number of addresses with counted connections.
    var addresses: Int { state.withLock { $0.counts.count } }
}
