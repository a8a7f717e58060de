import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import StoreWire

/// Serves the pages of both environments and takes their forms.
struct PageController: Sendable {
    let pages: PageMaker
    let sessions: ConsoleSessions
    let backends: ConsoleBackends
    let configuration: ConsoleConfiguration
    let memory: ConsoleMemory

    /// All pages.
    static let routes: [PageRoute] = [
        [OverviewPage.route], ProductPages.routes, CustomerPages.routes, BuyPage.routes, TransactionPages.routes,
        RefundRequestPages.routes, SubscriptionPages.routes, ManagedPages.routes, ContentPages.routes,
        ClockPages.routes, NotificationPages.routes, ServerNotificationPages.routes, InspectorPage.routes,
        PreviewPages.routes, MerchantPages.routes, SettingsPages.routes, APIKeyPages.routes, SearchPage.routes,
    ].flatMap { $0 }

    /// All forms that change something or need a body.
    static let actions: [ConsoleAction] = [
        OverviewPage.actions, CustomerPages.actions, BuyPage.actions, TransactionPages.actions,
        RefundRequestPages.actions, SubscriptionPages.actions, OfferCodePages.actions, ManagedPages.actions,
        ContentPages.actions, ClockPages.actions, NotificationPages.actions, ServerNotificationPages.actions,
        InspectorPage.actions, PreviewPages.actions, MerchantPages.actions, SettingsPages.actions,
        APIKeyPages.actions,
    ].flatMap { $0 }

    func addRoutes(to router: Router<ConsoleRequestContext>) {
        // A merchant alone serves real customers, unless it is tried out.
        router.get("/") { [hasStore] _, _ in Self.redirect(hasStore ? "/sandbox" : "/production") }
        if let control = backends.control { addStream(of: control, to: router) }
        for route in routes {
            router.get(Self.pattern(route.path)) { incoming, context in
                let page = try await request(incoming, context, route.path)
                var content = try await route.make(page)
                if let note = page.query["note"].flatMap(sessions.message) { content.message = note }
                return try answer(content, page, route, context)
            }
        }
        for action in Self.actions where hasStore || !action.needsStore {
            router.post(Self.pattern(action.path)) { request, context in try await take(action, request, context) }
        }
        if hasStore { ExportController(controller: self).addRoutes(to: router) }
    }

    private var hasStore: Bool { backends.control != nil }

    /// The pages that this console has.
    private var routes: [PageRoute] { Self.routes.filter { hasStore || !$0.needsStore } }

    private func addStream(of control: any APICalls, to router: Router<ConsoleRequestContext>) {
        router.get("/console/events") { request, context in
            // A page of another origin can open a stream, though not read it, and would take a place.
            guard request.headers[.secFetchSite] ?? "same-origin" == "same-origin" else {
                throw HTTPProblem(.forbidden, code: "forbidden", message: "The stream is for the console's own pages.")
            }
            var response = try await control.stream(
                ControlRoute.events.path, for: APICaller(channel: context.channel, logger: context.logger))
            response.headers[.cacheControl] = "no-store"
            return response
        }
    }

    static func pattern(_ path: String) -> RouterPath {
        RouterPath("/{environment}" + (path.isEmpty ? "" : "/" + path))
    }

    private static func redirect(_ path: String) -> Response {
        Response(status: .seeOther, headers: [.location: path])
    }

    // MARK: Requests

    /// The request with what every page needs.
    /// - Throws: ``HTTPProblem`` 404 for an unknown environment, ``APIProblem``.
    func request(
        _ request: Request, _ context: ConsoleRequestContext, _ path: String, isForm: Bool = false
    ) async throws -> PageRequest {
        guard let name = context.parameters.get("environment"), let environment = StoreEnvironment(name: name),
            name == environment.name
        else { throw HTTPProblem(.notFound, code: "not_found", message: "There is nothing at this address.") }
        var parameters: [String: String] = [:]
        for part in path.split(separator: "/") where part.hasPrefix("{") {
            let key = part.dropFirst().dropLast()
            parameters[String(key)] = context.parameters.get(String(key))?.removingPercentEncoding ?? ""
        }
        let api = ConsoleAPI(
            backends: backends, caller: APICaller(channel: context.channel, logger: context.logger))
        let query = QueryParameters(query: isForm ? "" : request.uri.query ?? "")
        guard hasStore else {
            // A merchant's times are those of the machine.
            let now = Int64((memory.now().timeIntervalSince1970 * 1000).rounded(.down))
            let clock = ControlAPI.Clock(now: Moments.iso(now), milliseconds: now, frozen: false, offset: 0)
            return PageRequest(
                environment: environment, parameters: parameters, query: query, api: api, clock: clock, apps: [],
                memory: memory)
        }
        async let clock: ControlAPI.Clock = api.ask(.clock(environment))
        async let apps: [ControlAPI.App] = api.ask(.apps)
        return PageRequest(
            environment: environment, parameters: parameters, query: query, api: api, clock: try await clock,
            apps: try await apps, memory: memory)
    }

    // MARK: Forms

    private func take(
        _ action: ConsoleAction, _ request: Request, _ context: ConsoleRequestContext
    ) async throws -> Response {
        let body: ByteBuffer
        do {
            body = try await request.boundedBody(upTo: action.limit)
        } catch let problem as HTTPProblem where problem.status == .contentTooLarge {
            let page = try await self.request(request, context, action.path, isForm: true)
            return try await again(
                action, page, QueryParameters(query: ""), request, context, status: .contentTooLarge,
                FormProblem("", "The form is too large: it takes at most \(action.limitText). Use the command below."))
        }
        let sent = try FormBody(body, type: request.headers[.contentType])
        let form = sent.values
        let page = try await self.request(request, context, action.path, isForm: true)
        guard sessions.accepts(form["token"] ?? "", context.cookie, action: request.uri.path) else {
            return try await again(
                action, page, form, request, context, status: .forbidden,
                FormProblem(
                    "", "This form is from another session, or from before the server's last start. Send it again."))
        }
        if let change = action.change, page.environment == .production || action.isFinal, form["confirm"] != "yes" {
            return try answer(
                Self.question(change, form, request.uri.path, page), page, nil, context)
        }
        do {
            let outcome = try await action.perform(ActionRequest(page: page, form: form, file: sent.file))
            memory.forget()
            switch outcome {
            case .done(let path, let message):
                return Self.redirect(page.link(path, [("note", sessions.keep(message))], keepsApp: false))
            case .page(let content):
                return try answer(
                    content, page, Self.routes.first { $0.path == action.page }, context, isLive: false)
            case .data(let json, let status):
                return Response(
                    status: status, headers: [.contentType: "application/json"],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
            }
        } catch let problem as FormProblem {
            return try await again(action, page, form, request, context, status: .unprocessableContent, problem)
        } catch let problem as APIProblem {
            let status: HTTPResponse.Status = problem.status >= 500 ? .badGateway : .unprocessableContent
            var kept = form
            // The later of two editors is told so here, and may decide with the present revision.
            if problem.code == WireError.Code.staleRevision.rawValue {
                kept = QueryParameters(form.all.filter { $0.key != "revision" })
            }
            return try await again(
                action, page, kept, request, context, status: status, FormProblem("", problem.message))
        }
    }

    /// The page of a refused form, with what was typed and what was wrong.
    private func again(
        _ action: ConsoleAction, _ page: PageRequest, _ form: QueryParameters, _ request: Request,
        _ context: ConsoleRequestContext, status: HTTPResponse.Status, _ problem: FormProblem
    ) async throws -> Response {
        guard let route = Self.routes.first(where: { $0.path == action.page }) else {
            throw HTTPProblem(status, code: "refused", message: problem.message)
        }
        var page = page
        page.refused = form
        var content = try await route.make(page)
        content.fill(action: request.uri.path, problem: problem.message, field: problem.field) { form[$0] }
        content.problem = problem.message
        content.requestID = context.requestID
        return try answer(content, page, route, context, status: status, isLive: false)
    }

    /// The question before a change of production. It keeps what was typed, except passwords.
    private static func question(
        _ change: String, _ form: QueryParameters, _ path: String, _ page: PageRequest
    ) -> ConsolePage {
        let isProduction = page.environment == .production
        var content = ConsolePage(isProduction ? "Change production?" : "Change both environments?")
        var section = ConsoleSection("sure", "You are about to \(change)")
        section.warning =
            isProduction
            ? "This is production: customers see the change."
            : "The sandbox and production share this. Customers see the change, and it cannot be undone."
        let kept = form.all.filter { !["token", "confirm", "password"].contains($0.key) }.sorted { $0.key < $1.key }
        section.facts =
            page.parameters.sorted { $0.key < $1.key }.map { ConsoleFact($0.key, $0.value) }
            + kept.filter { $0.key != "key" && !$0.value.isEmpty }.prefix(20)
            .map { ConsoleFact($0.key, String($0.value.prefix(200))) }
        section.forms = [
            ConsoleForm(
                action: path,
                fields: form["password"] == nil ? [] : [ConsoleField("password", "Password", .password)],
                hidden: kept.map { ConsoleHidden($0.key, $0.value) } + [ConsoleHidden("confirm", "yes")],
                button: "Yes, \(change)", tone: .bad, cancel: page.link("", keepsApp: false))
        ]
        content.sections = [section]
        return content
    }

    // MARK: Answers

    /// The answer with a page.
    /// - Parameter isLive: whether the script may ask for the page again; not for the answer to a form.
    func answer(
        _ content: ConsolePage, _ page: PageRequest, _ route: PageRoute?, _ context: ConsoleRequestContext,
        status: HTTPResponse.Status = .ok, isLive: Bool = true
    ) throws -> Response {
        var content = content
        content.frame = frame(page, route, isLive: isLive)
        let list = content.frame.filterAction
        content.frame.filterHidden = content.sections.compactMap(\.filter).filter { $0.action == list }
            .flatMap(\.fields).compactMap { field in page.filter(field.name).map { ConsoleHidden(field.name, $0) } }
        if let (name, value) = configuration.commandVariable {
            content.beginCommands(with: "\(name)=\(value.shellWord)")
        }
        return try pages.response(content, status: status, cookie: context.cookie)
    }

    private func frame(_ page: PageRequest, _ route: PageRoute?, isLive: Bool) -> ConsoleFrame {
        var frame = ConsoleFrame()
        frame.homeLink = page.link("")
        frame.environment = page.environment.rawValue
        frame.environmentClass = page.environment.name
        frame.environmentNote =
            page.environment == .sandbox
            ? "Purchases are tests: no money moves." : "Real customers. The console asks before each change."
        let here = route.map { $0.path.contains("{") ? $0.area.path : $0.path } ?? ""
        frame.environments = [StoreEnvironment.sandbox, .production].map { environment in
            var other = page
            other.environment = environment
            return ConsoleLink(environment.rawValue, other.link(here), isCurrent: environment == page.environment)
        }
        let paths = Set(routes.map(\.path))
        frame.navigation = ConsoleArea.allCases.filter {
            paths.contains($0.path) && ($0 != .merchant || page.api.hasMerchant)
        }.map { ConsoleLink($0.title, page.link($0.path), isCurrent: $0 == route?.area, key: $0.key) }
        if page.apps.count > 1 {
            frame.apps =
                [ConsoleOption("", "All apps", isChosen: page.app == nil)]
                + page.apps.prefix(500).map {
                    ConsoleOption($0.bundleId, $0.name ?? $0.bundleId, isChosen: $0.bundleId == page.app)
                }
            frame.filterAction = page.action(here)
        }
        frame.findLink = page.action("search")
        frame.term = page.query["q"] ?? ""
        if configuration.adminToken != nil {
            frame.signOut = ConsoleButton(
                "Sign out", about: "Sign out of the console", action: SignInController.outPath)
        }
        // A merchant alone has no clock of its own and no stream of changes.
        guard hasStore else { return frame }
        frame.clockText = Moments.text(page.clock.now)
        frame.clockTime = page.clock.now
        frame.isClockMoved = page.clock.frozen || page.clock.offset.magnitude >= 1_000
        frame.isClockFrozen = page.clock.frozen
        frame.clockNote =
            page.clock.frozen
            ? "frozen"
            : page.clock.offset.magnitude < 1_000
                ? "" : "\(page.clock.offset < 0 ? "−" : "+")\(Moments.span(page.clock.offset.magnitude / 1000))"
        frame.clockLink = page.link("clock")
        if let route, isLive, !route.topics.isEmpty {
            frame.events = "/console/events"
            frame.topics = route.topics.map { $0.name(page.environment) }.joined(separator: " ")
        }
        return frame
    }
}
