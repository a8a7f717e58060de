import ControlWire
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import StoreWire

/// Serves payment sheets as web pages: a device posts a question, a person answers on the page, and the device fetches
/// the answer.
///
/// ``ControlGuardMiddleware`` protects these routes like the rest of the control port, except that the page and its
/// answer need no admin token: anyone who knows the unguessable address may answer.
struct SheetController: Sendable {
    let board: SheetBoard
    /// The longest time that a device's request may wait, in seconds.
    private static let longestWait = 25

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.sheet(.post)) { request, _ in
            let question = try await request.decodeJSON(SheetQuestion.self, upTo: 64 << 10)
            guard (question.email?.utf8.count ?? 0) <= 254 else {
                throw HTTPProblem(.badRequest, code: "invalid_request", message: "“email” must have at most 254 bytes.")
            }
            guard let id = board.post(question.shortened) else {
                throw HTTPProblem(
                    .serviceUnavailable, code: "unavailable",
                    message: "\(SheetBoard.most) sheets are waiting already. Try again later.")
            }
            return try Response.json(SheetPosted(id: id, path: SheetRoute.page(id).path), status: .created)
        }
        router.on(.sheet(.outcome("", wait: nil))) { request, context in
            let wait = request.uri.queryParameters[SheetRoute.wait[...]].flatMap { Int($0) } ?? 0
            let limit = Duration.seconds(min(max(wait, 0), Self.longestWait))
            switch await board.outcome(Self.id(context), waiting: limit) {
            case .answered(let reply): return try Response.json(reply)
            case .waiting: return Response(status: .noContent)
            case .gone: throw Self.gone
            }
        }
        router.on(.sheet(.page(""))) { _, context in
            let id = Self.id(context)
            guard let question = board.question(id) else { throw Self.gone }
            return page(question, id)
        }
        router.on(.sheet(.answer(""))) { request, context in
            let reply = try await request.decodeJSON(SheetReply.self, upTo: 16 << 10)
            guard board.answer(Self.id(context), reply) else { throw Self.gone }
            return Response(status: .noContent)
        }
    }

    private static let gone = HTTPProblem(
        .notFound, code: "not_found", message: "This sheet has been answered or has expired.")

    private static func id(_ context: StoreRequestContext) -> String { context.parameter(.id) ?? "" }

    private func page(_ question: SheetQuestion, _ id: String) -> Response {
        var generator = SystemRandomNumberGenerator()
        let nonce = String(UInt64.random(in: 0...UInt64.max, using: &generator), radix: 36)
        let policy =
            "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
        headers[.contentSecurityPolicy] = policy
        headers[.xContentTypeOptions] = "nosniff"
        if let name = HTTPField.Name("referrer-policy") { headers[name] = "no-referrer" }
        let html = SheetPage.html(question, id: id, nonce: nonce)
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: Array(html.utf8))))
    }
}
