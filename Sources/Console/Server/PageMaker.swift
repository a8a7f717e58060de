import ConsolePages
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore

/// Makes answers with pages, style sheets and scripts.
struct PageMaker: Sendable {
    let configuration: ConsoleConfiguration
    let sessions: ConsoleSessions

    /// The embedded templates, or those of the operator's folder as they are now.
    func templates() throws -> PageTemplates {
        if let folder = configuration.files { return try PageTemplates(folder: folder) }
        return try PageTemplates.embedded.get()
    }

    /// The answer with a page. It is not compressed, because it has both tokens and other people's words.
    func response(_ page: ConsolePage, status: HTTPResponse.Status = .ok, cookie: String) throws -> Response {
        let templates = try templates()
        var page = page
        if page.frame.title.isEmpty { page.frame.title = page.heading + " — Cornerstore console" }
        page.frame.stylesheet = templates.consoleStylesheet.path
        page.frame.script = templates.consoleScript.path
        page.frame.uploadScript = page.sendsPieces ? templates.uploadScript.path : nil
        page.frame.icon = templates.consoleIcon.path
        page.finish { sessions.token(cookie, action: $0) }
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8"]
        if let leave = page.leave, let name = HTTPField.Name("Refresh") {
            headers[name] = "\(Self.secretSeconds); url=\(leave)"
        }
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: try templates.html(page))))
    }

    /// How long a browser shows a secret, in seconds.
    static let secretSeconds = 30

    /// The answer with a file that pages refer to.
    func asset(_ path: String) throws -> Response {
        let templates = try templates()
        let all = [
            templates.consoleStylesheet, templates.consoleScript, templates.uploadScript, templates.consoleIcon,
        ]
        guard let asset = all.first(where: { $0.path == path }) else {
            throw HTTPProblem(.notFound, code: "not_found", message: "There is no such file. Load the page again.")
        }
        return Response(
            status: .ok,
            headers: [.contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
    }
}

/// Turns every error into a page with a sentence, what to do, and the request's id.
struct ProblemPages: RouterMiddleware {
    typealias Context = ConsoleRequestContext

    let pages: PageMaker

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch {
            let problem = Self.problem(error, context)
            guard request.headers[.accept]?.contains("text/html") == true else {
                return try problem.response(from: request, context: context)
            }
            var page = ConsolePage(problem.status == .notFound ? "Not found" : "This did not work")
            page.frame.homeLink = "/"
            page.problem = problem.message
            page.requestID = context.requestID
            var section = ConsoleSection("next", "Next steps")
            section.links = [ConsoleLink("Back to the overview", "/")]
            page.sections = [section]
            var response = try pages.response(page, status: problem.status, cookie: context.cookie)
            if let wait = problem.retryAfter { response.headers[.retryAfter] = String(wait) }
            return response
        }
    }

    /// The description of an error for people. Only the log gets the details of an unknown error.
    static func problem(_ error: any Error, _ context: ConsoleRequestContext) -> HTTPProblem {
        switch error {
        case let error as HTTPProblem: return error
        case let error as APIProblem:
            return HTTPProblem(.init(code: error.status), code: error.code, message: error.message)
        case let error as any HTTPResponseError where error.status.code < 500:
            return HTTPProblem(
                error.status, code: error.status == .notFound ? "not_found" : "invalid_request",
                message: error.status == .notFound ? "There is nothing at this address." : error.status.reasonPhrase)
        default:
            context.logger.error("console request failed", metadata: ["error": .string(String(describing: error))])
            return HTTPProblem(
                .internalServerError, code: "internal_error",
                message: "The console failed to answer. The log has the details under this request id.")
        }
    }
}
