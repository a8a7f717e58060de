import Foundation
import StoreWire
import Synchronization

@testable import Merchant

/// A store's API whose answers a test gives.
final class ScriptedStoreAPI: StoreAPI {
    struct Sent: Sendable, Equatable {
        var request: StoreAPIRequest
        var app: BundleID
        var environment: StoreEnvironment
    }

    typealias Answer = @Sendable (Sent) throws -> [UInt8]

    private struct State {
        var answer: Answer = { _ in throw StoreAPIError(.unknownTransaction, "none") }
        var sent: [Sent] = []
    }

    private let state = Mutex(State())

    var hasKeys: Bool { true }
    /// The requests so far.
    var sent: [Sent] { state.withLock { $0.sent } }

    func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

    func fail(_ code: StoreAPIError.Code, retryAfter: Int? = nil) {
        answer { _ in throw StoreAPIError(code, "scripted", retryAfter: retryAfter) }
    }

    func send(
        _ request: StoreAPIRequest, for app: BundleID, in environment: StoreEnvironment
    ) async throws -> [UInt8] {
        let sent = Sent(request: request, app: app, environment: environment)
        let answer = state.withLock { state in
            state.sent.append(sent)
            return state.answer
        }
        return try answer(sent)
    }
}

extension Merchant {
    /// Sends queued requests to both environments. Returns the number of requests taken.
    func sendStoreCalls() async throws -> Int {
        var count = 0
        for environment in StoreEnvironment.allCases { count += try await sendStoreCalls(to: environment) }
        return count
    }
}
