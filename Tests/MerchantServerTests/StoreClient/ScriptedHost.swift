import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StoreReceipts
import Synchronization
import TestSupport

/// A host that answers `POST /verifyReceipt` as it is told, one answer for each request; the last is given again.
final class ScriptedHost: Sendable {
    struct Answer: Sendable {
        var status = HTTPResponse.Status.ok
        var headers: HTTPFields = [:]
        var body: String

        static func status(_ number: Int, _ more: String = "") -> Answer {
            Answer(body: "{\"status\":\(number)\(more)}")
        }

        static func http(_ status: Int, _ headers: HTTPFields = [:]) -> Answer {
            Answer(status: .init(code: status), headers: headers, body: "<html>")
        }
    }

    private struct State {
        var answers: [Answer]
        var bodies: [[UInt8]] = []
    }

    private let state: Mutex<State>

    init(_ answers: [Answer]) { state = Mutex(State(answers: answers)) }

    func answer(_ answers: Answer...) { state.withLock { $0.answers = answers } }

    /// The requests so far.
    var bodies: [[UInt8]] { state.withLock { $0.bodies } }
    var count: Int { bodies.count }

    var router: Router<BasicRequestContext> {
        let router = Router()
        router.post("verifyReceipt") { request, _ in
            let body = try await request.body.collect(upTo: 1 << 24)
            let answer = self.state.withLock { state in
                state.bodies.append(Array(body.readableBytesView))
                return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
            }
            return Response(
                status: answer.status, headers: answer.headers,
                body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
        }
        return router
    }

    /// Runs a production and a sandbox host for as long as the body does.
    static func with(
        production: [Answer], sandbox: [Answer] = [.status(0)],
        _ body:
            @escaping @Sendable (_ production: (ScriptedHost, URL), _ sandbox: (ScriptedHost, URL)) async throws -> Void
    ) async throws {
        let (first, second) = (ScriptedHost(production), ScriptedHost(sandbox))
        try await LoopbackServer.with(first.router) { firstURL in
            try await LoopbackServer.with(second.router) { secondURL in
                try await body((first, firstURL), (second, secondURL))
            }
        }
    }
}
