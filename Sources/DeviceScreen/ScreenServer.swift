import ConsolePages
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The screen that a server shows. The port is open before the app is shown; who asks meanwhile waits for it.
final class ScreenHolder: Sendable {
    private let made: AsyncStream<DeviceScreen>.Continuation
    private let first: Task<DeviceScreen?, Never>

    init() {
        let (stream, made) = AsyncStream.makeStream(of: DeviceScreen.self)
        self.made = made
        first = Task { await stream.first { _ in true } }
    }

    deinit { made.finish() }

    func hold(_ screen: DeviceScreen) {
        made.yield(screen)
        made.finish()
    }

    /// The screen; nil when the app ends without one.
    var screen: DeviceScreen? { get async { await first.value } }
}

/// The context of a request to a screen.
struct ScreenRequestContext: ConnectionRequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

/// Serves a device's screen to browsers on this machine.
struct ScreenServer: Sendable {
    /// The largest form, in bytes.
    private static let largestForm = 16 << 10
    /// The most streams of changes at once.
    private static let mostStreams = 64
    /// The longest silence of a stream: a comment keeps the connection open and finds browsers that have left.
    private static let silence = Duration.seconds(15)

    let holder: ScreenHolder
    let device: ScreenDevice
    /// The forms' tokens. Pages of other origins cannot read them, and they end with the process.
    private let forms = ConsoleSessions(now: { Date() })
    private let streams = StreamCount()

    private init(_ holder: ScreenHolder, _ device: ScreenDevice) { (self.holder, self.device) = (holder, device) }

    /// Opens a port of the loopback interface.
    /// - Returns: the task of the server, which ends after SIGINT or SIGTERM, and the port.
    /// - Throws: the system's error when the port cannot be opened, or the templates' error.
    static func start(
        _ holder: ScreenHolder, _ device: ScreenDevice, port: Int
    ) async throws -> (Task<Void, any Error>, Int) {
        // A mistake in a template is reported at the start, not by the first page.
        _ = try PageTemplates.embedded.get()
        let limits = ServerLimits()
        var logger = Logger(label: device.name)
        logger.logLevel = .critical
        let (stream, ready) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: ScreenServer(holder, device).router(), server: limits.server(),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: limits.connections(logger: logger)),
            onServerRunning: { channel in ready.yield(channel.localAddress?.port ?? port) }, logger: logger)
        let task = Task.detached {
            defer { ready.finish() }
            try await application.runService()
        }
        for await port in stream { return (task, port) }
        try await task.value
        throw CancellationError()
    }

    private func router() -> Router<ScreenRequestContext> {
        let router = Router(context: ScreenRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(middleware: PageFieldsMiddleware(formTargets: device.origins))
        router.add(middleware: ProblemMiddleware({ _ in nil }, page: Self.page(about:)))
        router.add(middleware: HostMiddleware())
        let own = "\(device.name).localhost"
        router.add(
            middleware: PageGuardMiddleware(
                allows: { [own, "localhost", "127.0.0.1", "[::1]"].contains($0) },
                misdirected: "This screen does not answer to this name. Open http://\(own) and its port.",
                foreign: "This screen takes forms from its own page only."))
        router.get("/") { request, _ in
            guard try await screen().isCrashing else { return try await page() }
            // The process ends when a browser shows the page anew. Scripts of open pages ask for it too.
            return try await crashPage(isLast: request.headers[.fetchMode] ?? "navigate" == "navigate")
        }
        // The link to a waiting page. When the browser comes back from there, /back waits until the app has heard.
        router.get("/waiting") { _, _ in
            let screen = try await screen()
            return Self.lead(to: await screen.leadToPage())
        }
        router.get("/back") { _, _ in
            let next = try await screen().next(since: nil)
            guard next.isOfAnotherPort else { return Self.lead(to: next.address) }
            // The page that leads here limits where the answer to its form may lead in the end. It knows this screen,
            // and not the store's other ports.
            var response = try await page()
            response.headers[.refresh] = "0; url=\(next.address)"
            return response
        }
        router.get("/receipt") { _, _ in try await receipt() }
        router.get("/pictures/:name") { _, context in try await picture(context.parameters.get("name") ?? "") }
        router.get("/assets/:file") { request, _ in try asset(request.uri.path) }
        router.get("/events") { _, context in try await events(context) }
        router.post("/press/:name") { request, context in
            let screen = try await screen()
            let values = try await form(request)
            guard let name = context.parameters.get("name"), Self.isName(name) else { throw Self.missing }
            let opened = await screen.pagesOpened
            await screen.press(ScreenPress(name, values))
            return Self.lead(to: await screen.next(since: opened).address)
        }
        router.post("/restore") { request, _ in
            let screen = try await screen()
            _ = try await form(request)
            let opened = await screen.pagesOpened
            await screen.restore()
            return Self.lead(to: await screen.next(since: opened).address)
        }
        router.post("/answer") { request, _ in
            let screen = try await screen()
            let values = try await form(request)
            let opened = await screen.pagesOpened
            await screen.answer(values["question"], values["choice"] ?? "")
            return Self.lead(to: await screen.next(since: opened).address)
        }
        router.post("/crash") { request, _ in
            let screen = try await screen()
            switch try await form(request)["when"] {
            case "next-purchase": await screen.planCrash(true)
            case "never": await screen.planCrash(false)
            default: DeviceScreen.crash()
            }
            return Self.lead(to: "/")
        }
        return router
    }

    private func screen() async throws -> DeviceScreen {
        guard let screen = await holder.screen else {
            throw HTTPProblem(.serviceUnavailable, code: "unavailable", message: "The app could not start.")
        }
        return screen
    }

    private static let missing = HTTPProblem(
        .notFound, code: "not_found", message: "There is nothing at this address. The screen is at /.")

    private static func lead(to address: String) -> Response {
        Response(status: .seeOther, headers: [.location: address])
    }

    /// Whether a text is the name of a button or a picture: one to 64 letters, digits, dots and hyphens.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { ASCIICharacters.alphanumeric.adding(".-").contains($0) }
    }

    /// The fields of a form that the screen's own page sent.
    private func form(_ request: Request) async throws -> [String: String] {
        let body = try await request.boundedBody(upTo: Self.largestForm)
        let fields = QueryParameters(query: String(buffer: body))
        guard forms.accepts(fields["token"] ?? "", "", action: request.uri.path) else {
            throw HTTPProblem(
                .forbidden, code: "forbidden",
                message: "The app has started again since this page was made. Load the page again.")
        }
        return fields.all
    }

    // MARK: Answers

    private func page() async throws -> Response {
        var page = try await ScreenPage(of: screen())
        page.finish { forms.token("", action: $0) }
        return try Self.response(page)
    }

    /// The screen's page while its process is about to end. With scripts it comes back by itself with the next process.
    private func crashPage(isLast: Bool) async throws -> Response {
        let screen = try await screen()
        var page = await ScreenPage(of: screen)
        (page.problem, page.waiting, page.question, page.said) = ("The app crashed here. Start it again.", nil, nil, [])
        page.content = ScreenContent()
        page.finish { forms.token("", action: $0) }
        var response = try Self.response(page)
        let bytes = ByteBuffer(string: try Self.html(page))
        response.body = ResponseBody(contentLength: bytes.readableBytes) { writer in
            defer { if isLast { screen.showedCrash() } }
            try await writer.write(bytes)
            try await writer.finish(nil)
        }
        return response
    }

    private static func response(_ page: ScreenPage, status: HTTPResponse.Status = .ok) throws -> Response {
        Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: try html(page))))
    }

    private static func html(_ page: ScreenPage) throws -> String {
        let templates = try PageTemplates.embedded.get()
        var page = page
        page.frame.stylesheet = templates.screenStylesheet.path
        page.frame.script = templates.consoleScript.path
        page.frame.icon = templates.consoleIcon.path
        return try templates.html(page)
    }

    /// The page about a problem.
    @Sendable private static func page(about problem: HTTPProblem) throws -> Response {
        var page = ScreenPage(problem.status == .notFound ? "Not found" : "This did not work")
        page.frame.title = page.heading
        page.content.text = problem.message
        return try response(page, status: problem.status)
    }

    private func asset(_ path: String) throws -> Response {
        let templates = try PageTemplates.embedded.get()
        let all = [templates.screenStylesheet, templates.consoleScript, templates.consoleIcon]
        guard let asset = all.first(where: { $0.path == path }) else { throw Self.missing }
        return Response(
            status: .ok,
            headers: [.contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
    }

    private func picture(_ name: String) async throws -> Response {
        guard Self.isName(name), let bytes = try await screen().picture(name) else { throw Self.missing }
        return Response(
            status: .ok, headers: [.contentType: "image/png"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private func receipt() async throws -> Response {
        guard let bytes = ScreenReceipt.bytes() else {
            throw HTTPProblem(
                .notFound, code: "not_found", message: "This device has no receipt of the app yet. Buy something.")
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream", .contentDisposition: #"attachment; filename="receipt.der""#,
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private func events(_ context: ScreenRequestContext) async throws -> Response {
        let changes = try await screen().changes
        guard let place = streams.take(upTo: Self.mostStreams) else {
            throw HTTPProblem(
                .serviceUnavailable, code: "unavailable",
                message: "\(Self.mostStreams) pages of this screen are open already. Close one.")
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                defer { withExtendedLifetime(place) {} }
                var last = changes.count
                try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
                while true {
                    let (known, silence) = (last, Self.silence)
                    // It ends when the browser leaves or the server stops.
                    let wasWaiting: Void? = try? await context.whileClientStays {
                        try await cancelWhenGracefulShutdown {
                            await changes.wait(since: known, upTo: silence)
                            try Task.checkCancellation()
                        }
                    }
                    guard wasWaiting != nil else { break }
                    // Read once: a later change is for the next round.
                    let count = changes.count
                    let text =
                        count == last
                        ? ": still here\n\n" : "event: changed\ndata: {\"topics\":[\"\(ScreenPage.topic)\"]}\n\n"
                    last = count
                    try await writer.write(ByteBuffer(string: text))
                }
                try await writer.finish(nil)
            })
    }
}

extension HTTPField.Name {
    fileprivate static let refresh = HTTPField.Name("Refresh") ?? .location
    fileprivate static let fetchMode = HTTPField.Name("Sec-Fetch-Mode") ?? .location
}

/// Counts the open streams of changes.
private final class StreamCount: Sendable {
    /// A stream's place, which is free again when the answer is dropped.
    final class Place: Sendable {
        private let count: StreamCount

        fileprivate init(_ count: StreamCount) { self.count = count }

        deinit { count.taken.withLock { $0 -= 1 } }
    }

    private let taken = Mutex(0)

    func take(upTo most: Int) -> Place? {
        let hasRoom = taken.withLock { taken in
            guard taken < most else { return false }
            taken += 1
            return true
        }
        return hasRoom ? Place(self) : nil
    }
}
