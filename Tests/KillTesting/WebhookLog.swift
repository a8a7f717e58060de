import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TestSupport

/// The merchant's backend: keeps what it is sent, by its ids.
package final class WebhookLog: Sendable {
    /// What an event says.
    package struct Event: Sendable, Equatable {
        package var type: String
        package var user: String
        /// The last part of the purchase's key: its transaction.
        package var transaction: String?
        package var reason: String?
    }

    private struct Entry {
        var body: [UInt8]
        var count: Int
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var changed: [String] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// How often something came, repetitions counted.
    package var count: Int { state.withLock { $0.entries.values.reduce(0) { $0 + $1.count } } }

    /// The ids that came with two bodies.
    package var changed: [String] { state.withLock { $0.changed } }

    /// Each id once.
    package var events: [Event] {
        state.withLock { state in
            state.entries.values.compactMap { entry in
                struct Body: Decodable {
                    struct Data: Decodable {
                        var userId: String
                        var purchase: String?
                        var reason: String?
                    }
                    var type: String
                    var data: Data
                }
                guard let body = try? JSONDecoder().decode(Body.self, from: Data(entry.body)) else { return nil }
                return Event(
                    type: body.type, user: body.data.userId,
                    transaction: body.data.purchase?.split(separator: "/").last.map(String.init),
                    reason: body.data.reason)
            }
        }
    }

    /// Returns when `isEnough` of the number of ids, after `limit`, or when the task is cancelled.
    package func wait(within limit: Duration, until isEnough: @escaping @Sendable (Int) -> Bool) async {
        try? await until(within: limit) { state.withLock { isEnough($0.entries.count) } }
    }

    package var router: Router<BasicRequestContext> {
        let router = Router()
        router.post("hook") { request, _ in
            let body = Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
            guard let name = HTTPField.Name("webhook-id"), let id = request.headers[name] else {
                return Response(status: .badRequest)
            }
            self.state.withLock { state in
                if let known = state.entries[id], known.body != body { state.changed.append(id) }
                state.entries[id, default: Entry(body: body, count: 0)].count += 1
            }
            return Response(status: .noContent)
        }
        return router
    }
}
