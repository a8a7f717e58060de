import ControlWire
import HTTPSupport
import HTTPTypes
import Hummingbird
import Store
import StoreReceipts
import StoreWire
import Synchronization

/// The last `verifyReceipt` and refused requests, in memory. It keeps routes, states and reasons, but no values, bodies
/// or secrets.
final class RequestLog: Sendable {
    /// One request.
    struct Entry: Sendable, Equatable {
        /// The request's place in the log, from 1.
        var number: Int
        /// The time by the machine's clock, in milliseconds since 1970.
        var date: Int64
        /// The environment of the port; nil for the control port and the storefront.
        var environment: StoreEnvironment?
        /// The number of the process that answered; nil in a store of one process.
        var process: Int?
        /// The method.
        var method: String
        /// The path with the names of parameters.
        var route: String
        /// The HTTP status.
        var status: Int
        /// The status of a `verifyReceipt` answer.
        var receiptStatus: Int?
        /// The error's code.
        var code: String?
        /// A sentence about the error.
        var reason: String?
    }

    /// The number of requests that are kept.
    static let most = 1_000

    private struct State {
        /// The entries; number `n` stands at `(n - 1) % most`.
        var entries: [Entry] = []
        var last = 0
    }

    private let state = Mutex(State())
    private let changes: Changes
    private let now: @Sendable () -> Int64
    private let process: Int?
    private let metrics: StoreMetrics?

    /// - Parameters:
    ///   - now: the machine's time, in milliseconds since 1970.
    ///   - process: the number of this process of the store; nil for a store of one process.
    ///   - metrics: counts the `verifyReceipt` requests; nil when nobody counts.
    init(
        changes: Changes, now: @escaping @Sendable () -> Int64, process: Int? = nil, metrics: StoreMetrics? = nil
    ) {
        self.changes = changes
        self.now = now
        self.process = process
        self.metrics = metrics
    }

    /// Records and counts a `verifyReceipt` request by its answer.
    func verified(
        _ response: VerifyReceiptResponse, method: HTTPRequest.Method = .post, _ environment: StoreEnvironment
    ) {
        metrics?.verified(response.status.rawValue, in: environment)
        add(
            Entry(
                number: 0, date: now(), environment: environment, method: method.rawValue,
                route: StoreRoute.verifyReceipt.template, status: 200, receiptStatus: response.status.rawValue))
    }

    /// Records a refused request.
    func refused(
        _ problem: HTTPProblem, method: HTTPRequest.Method, route: String?, _ environment: StoreEnvironment?
    ) {
        add(
            Entry(
                number: 0, date: now(), environment: environment, method: method.rawValue, route: route ?? "none",
                status: problem.status.code, code: problem.code, reason: problem.message))
    }

    /// Records the refused requests of a port.
    func refusal(
        at environment: StoreEnvironment?
    ) -> @Sendable (HTTPProblem, Request, StoreRequestContext) -> Void {
        { problem, request, context in
            self.refused(problem, method: request.method, route: context.endpointPath, environment)
        }
    }

    private func add(_ entry: Entry) {
        state.withLock { state in
            let index = state.last % Self.most
            if index == state.entries.count { state.entries.append(entry) } else { state.entries[index] = entry }
            state.last += 1
            state.entries[index].number = state.last
            state.entries[index].process = process
        }
        changes.record(ChangeTopic(.requests, nil))
    }

    /// The newest requests before a number. Before numbers below 1 there are none.
    func list(before number: Int?, limit: Int) -> [Entry] {
        state.withLock { state in
            let end = max(min(number ?? .max, state.last + 1), 1)
            let first = max(end - limit, state.last - state.entries.count + 1)
            guard first < end else { return [] }
            return (first..<end).reversed().map { state.entries[($0 - 1) % Self.most] }
        }
    }
}

extension ControlAPI.LoggedRequest {
    init(_ entry: RequestLog.Entry) {
        self.init(
            number: entry.number, date: ControlAPI.text(entry.date), environment: entry.environment?.name,
            method: entry.method, route: entry.route, status: entry.status, receiptStatus: entry.receiptStatus,
            code: entry.code, reason: entry.reason, process: entry.process)
    }
}
