import ConsolePages
import CornerstoreEncoding
import Crypto
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import ServerSupport
import Synchronization

/// Finds the request's session, and sends people without one to the sign-in page when there is an admin token.
struct SessionMiddleware: RouterMiddleware {
    typealias Context = ConsoleRequestContext

    let sessions: ConsoleSessions
    let configuration: ConsoleConfiguration
    /// A name of the console's own: cookies know no ports, and one of 127.0.0.1 goes to every server there.
    static let cookie = "cornerstore-console"

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let isAsset = request.uri.path.hasPrefix("/assets/") || request.uri.path == "/health"
        if isAsset { return try await next(request, context) }
        var context = context
        let shown = Self.value(of: request)
        if let shown, sessions.use(shown) {
            context.cookie = shown
            return try await next(request, context)
        }
        if configuration.adminToken != nil {
            guard request.uri.path == SignInController.path else {
                guard request.method == .get, request.headers[.accept]?.contains("text/html") == true else {
                    throw HTTPProblem(.unauthorized, code: "not_signed_in", message: "Sign in to the console first.")
                }
                let back = request.uri.string.percentEncoded
                return Response(
                    status: .seeOther, headers: [.location: "\(SignInController.path)?back=\(back)"])
            }
            // The form of the sign-in page needs a token, and so a session of its own until then.
            return try await next(request, context)
        }
        // A form of an ended session is refused, and the page that says so needs a new one to be sent again.
        context.cookie = sessions.begin()
        var response = try await next(request, context)
        response.headers[values: .setCookie].append(setCookie(context.cookie))
        return response
    }

    /// The field that keeps a session's cookie in the browser.
    func setCookie(_ value: String, lives: Bool = true) -> String {
        "\(Self.cookie)=\(value); Path=/; HttpOnly; SameSite=Strict" + (configuration.isBehindProxy ? "; Secure" : "")
            + (lives ? "; Max-Age=\(Int(ConsoleSessions.lifetime))" : "; Max-Age=0")
    }

    static func value(of request: Request) -> String? {
        for field in request.headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.trimmingCharacters(in: .whitespaces)
                if pair.hasPrefix(cookie + "=") { return String(pair.dropFirst(cookie.count + 1).prefix(100)) }
            }
        }
        return nil
    }
}

/// Signs people in with the admin token, and out.
struct SignInController: Sendable {
    static let (path, outPath) = ("/sign-in", "/sign-out")

    let sessions: ConsoleSessions
    let session: SessionMiddleware
    let configuration: ConsoleConfiguration
    let pages: PageMaker
    let limits: SignInTries

    func addRoutes(to router: Router<ConsoleRequestContext>) {
        router.get(RouterPath(Self.path)) { request, _ in
            guard configuration.adminToken != nil else { return Self.back("/") }
            return try page(nil, Self.goal(QueryParameters(query: request.uri.query ?? "")["back"]))
        }
        router.post(RouterPath(Self.path)) { request, context in
            guard let adminToken = configuration.adminToken else { return Self.back("/") }
            let form = QueryParameters(query: String(buffer: try await request.boundedBody(upTo: 16 << 10)))
            let goal = Self.goal(form["back"])
            let address =
                configuration.isBehindProxy
                ? request.forwardedFor ?? "" : context.channel.remoteAddress?.ipAddress ?? ""
            if let wait = limits.take(address) {
                var problem = HTTPProblem(
                    .tooManyRequests, code: "rate_limited",
                    message: "Too many tries. Wait \(Int(wait.rounded(.up))) seconds and try again.")
                problem.retryAfter = Int(wait.rounded(.up))
                throw problem
            }
            // Digests of equal length compare in constant time.
            guard
                SHA256.hash(data: Array((form["admin-token"] ?? "").utf8)) == SHA256.hash(data: Array(adminToken.utf8))
            else {
                context.logger.notice("sign-in to the console refused", metadata: ["address": .string(address)])
                return try page(
                    "This is not the admin token. Look for CORNERSTORE_ADMIN_TOKEN where the store runs.", goal)
            }
            limits.giveBack(address)
            var response = Self.back(goal)
            response.headers[values: .setCookie] = [session.setCookie(sessions.begin())]
            return response
        }
        router.post(RouterPath(Self.outPath)) { request, context in
            let form = QueryParameters(query: String(buffer: try await request.boundedBody(upTo: 16 << 10)))
            guard sessions.accepts(form["token"] ?? "", context.cookie, action: Self.outPath) else {
                throw HTTPProblem(.forbidden, code: "forbidden", message: "Load the page again and sign out there.")
            }
            sessions.end(context.cookie)
            var response = Self.back(Self.path)
            response.headers[values: .setCookie] = [session.setCookie("", lives: false)]
            return response
        }
    }

    private func page(_ problem: String?, _ goal: String) throws -> Response {
        var page = ConsolePage("Sign in")
        var section = ConsoleSection("sign-in", "Admin token")
        var form = ConsoleForm(
            action: Self.path,
            fields: [ConsoleField("admin-token", "Admin token", .password, isRequired: true)],
            hidden: [ConsoleHidden("back", goal)], button: "Sign in",
            text: "The console of this store needs the token that the store was started with.")
        form.problem = problem
        section.forms = [form]
        page.sections = [section]
        return try pages.response(page, status: problem == nil ? .ok : .forbidden, cookie: "")
    }

    /// The page to return to: a path of the console.
    private static func goal(_ text: String?) -> String {
        guard let text, text.hasPrefix("/"), !text.hasPrefix("//"), !text.hasPrefix("/\\"), text.utf8.count < 2_000,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return "/" }
        return text
    }

    private static func back(_ path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }
}

/// Limits the tries to sign in: five a minute for an address.
final class SignInTries: Sendable {
    private let buckets: Mutex<TokenBuckets<String>>
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date) {
        buckets = Mutex(TokenBuckets(TokenRate(burst: 5, perSecond: 5.0 / 60), capacity: 10_000))
        self.now = now
    }

    /// Takes a try; returns the seconds to wait when there is none.
    func take(_ address: String) -> Double? {
        let time = now().timeIntervalSince1970
        return buckets.withLock { $0.take(address, at: time) }
    }

    /// Returns the try of somebody who had the right token.
    func giveBack(_ address: String) { buckets.withLock { $0.giveBack(address) } }
}
