import ControlWire
import CornerstoreEncoding
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import StoreWire

/// Serves payment sheets as web pages: a device posts a question, a person answers with the page's form, and the device
/// fetches the answer.
///
/// ``ControlGuardMiddleware`` protects these routes like the rest of the control port, except that the page and its
/// answer need no admin token: anyone who knows the unguessable address may answer.
struct SheetController: Sendable {
    let board: SheetBoard
    let catalog: CurrentCatalog
    /// The longest e-mail address, in bytes.
    static let longestEmail = 254
    /// The longest time that a device's request may wait, in seconds.
    private static let longestWait = 25
    /// The largest form, in bytes.
    private static let largestForm = 16 << 10

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.sheet(.post)) { request, _ in
            var question = try Self.checked(try await request.decodeJSON(SheetQuestion.self, upTo: 64 << 10))
            if let app = question.app { question.app = catalog.value.app(BundleID(app))?.name ?? app }
            guard let id = board.post(question) else {
                throw HTTPProblem(
                    .serviceUnavailable, code: "unavailable",
                    message: "\(SheetBoard.most) sheets are waiting already. Try again later.")
            }
            return try Response.json(SheetPosted(id: id, path: SheetRoute.page(id).path), status: .created)
        }
        router.on(.sheet(.outcome("", wait: nil))) { request, context in
            let id = try id(context)
            let wait = request.uri.queryParameters[SheetRoute.wait[...]].flatMap { Int($0) } ?? 0
            let limit = Duration.seconds(min(max(wait, 0), Self.longestWait))
            switch await board.outcome(id, waiting: limit) {
            case .answered(let reply): return try Response.json(reply)
            case .waiting: return Response(status: .noContent)
            case .gone:
                throw HTTPProblem(
                    .notFound, code: "not_found", message: "This sheet has been answered or has expired.")
            }
        }
        router.on(.sheet(.page(""))) { _, context in try await page(try id(context)) }
        router.on(.sheet(.answer(""))) { request, context in
            let id = try id(context)
            let body = try await request.boundedBody(upTo: Self.largestForm)
            return try take(QueryParameters(query: String(buffer: body)), id)
        }
        router.on(.sheet(.asset(""))) { request, _ in try SheetPages.asset(request.uri.path) }
    }

    /// The id of a request's sheet.
    /// - Throws: ``HTTPProblem`` 421 when another process has the sheet.
    private func id(_ context: StoreRequestContext) throws -> String {
        let id = context.parameter(.id) ?? ""
        try board.processes.check(id: id)
        return id
    }

    /// The question with texts of bounded length.
    /// - Throws: ``HTTPProblem`` 400 for a value that cannot be shortened.
    private static func checked(_ question: SheetQuestion) throws -> SheetQuestion {
        func refuse(_ message: String) -> HTTPProblem {
            HTTPProblem(.badRequest, code: "invalid_request", message: message)
        }
        for (name, value) in [("email", question.email), ("enteredEmail", question.enteredEmail)] {
            guard (value?.utf8.count ?? 0) <= longestEmail else {
                throw refuse("“\(name)” must have at most \(longestEmail) bytes.")
            }
        }
        guard (question.previous?.utf8.count ?? 0) <= 64 else {
            throw refuse("“previous” must have at most 64 bytes.")
        }
        if let address = question.returnAddress, ReturnAddress(address) == nil {
            throw refuse(
                "“returnAddress” must be an http or https address of 127.0.0.1, localhost or a name under localhost, "
                    + "with at most \(ReturnAddress.most) bytes.")
        }
        return question.shortened
    }

    // MARK: The page

    private func page(_ id: String) async throws -> Response {
        switch board.place(id) {
        case .open(let question): return try SheetPages.question(question, id)
        case .answered(let answered):
            let patience = max(.zero, Self.patience(answered) - answered.age)
            if answered.question.returnAddress == nil, let next = await board.next(after: id, waiting: patience) {
                return Self.lead(to: SheetRoute.page(next).path)
            }
            return try SheetPages.answered(answered, id)
        case .gone: return try SheetPages.gone()
        }
    }

    /// How long after an answer the page waits for the app's next question before it shows the answer. A sign-in leads
    /// to one in most cases, a purchase and a code only when they fail.
    private static func patience(_ answered: SheetBoard.Answered) -> Duration {
        guard answered.question.kind.mayGoOn(after: answered.choice) else { return .zero }
        return answered.question.kind == .signIn ? .seconds(5) : .seconds(2)
    }

    private func take(_ form: QueryParameters, _ id: String) throws -> Response {
        guard case .open(let question) = board.place(id) else { return try late(form["choice"], id) }
        let reply: SheetReply
        do { reply = try SheetReply(form, to: question) } catch {
            return try SheetPages.question(question, id, typed: form, problem: error)
        }
        guard board.answer(id, reply) else { return try late(form["choice"], id) }
        return Self.lead(to: question.returnAddress ?? SheetRoute.page(id).path)
    }

    /// The response to a second answer. The same one again, as a double click sends it, is as good as the first.
    private func late(_ choice: String?, _ id: String) throws -> Response {
        guard case .answered(let answered) = board.place(id) else { return try SheetPages.gone() }
        guard answered.choice.rawValue == choice else { return try SheetPages.conflict(answered) }
        return Self.lead(to: answered.question.returnAddress ?? SheetRoute.page(id).path)
    }

    private static func lead(to address: String) -> Response {
        Response(status: .seeOther, headers: [.location: address, .cacheControl: "no-store"])
    }
}
