import ConsolePages
import ControlWire
public import Foundation
import HTTPSupport
import Hummingbird
public import Logging
import NIOCore
public import ServiceLifecycle
import StoreWire

/// The console of a store and its merchant: pages by which people see and steer both.
public struct ConsoleApplication: Service {
    private let configuration: ConsoleConfiguration
    private let backends: ConsoleBackends
    private let logger: Logger
    private let onReady: @Sendable (String) async -> Void
    private let now: @Sendable () -> Date

    /// Creates a console.
    /// - Parameters:
    ///   - now: the machine's clock.
    ///   - onReady: called when the port is open, with the console's base URL.
    public init(
        _ configuration: ConsoleConfiguration, _ backends: ConsoleBackends, now: @escaping @Sendable () -> Date,
        logger: Logger, onReady: @escaping @Sendable (String) async -> Void
    ) {
        self.configuration = configuration
        self.backends = backends
        self.now = now
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or the group shuts down.
    /// - Throws: `IOError` when the port cannot be opened, or the templates' error.
    public func run() async throws {
        // A mistake in a template is reported at the start, not by the first page.
        _ = try PageMaker(configuration: configuration, sessions: ConsoleSessions(now: now)).templates()
        let (host, port) = (configuration.host, configuration.port)
        let application = Application(
            router: router(), server: configuration.limits.server(),
            configuration: .init(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: configuration.limits.connections(logger: logger)),
            onServerRunning: { channel in
                await onReady("http://\(name):\(channel.localAddress?.port ?? port)")
            },
            logger: logger)
        try await application.run()
    }

    /// The name by which browsers reach the console: one that only this machine has, unless the operator gave another.
    private var name: String {
        if let publicHost = configuration.publicHost { return publicHost }
        return "cornerstore.localhost"
    }

    func router() -> Router<ConsoleRequestContext> {
        let sessions = ConsoleSessions(now: now)
        let pages = PageMaker(configuration: configuration, sessions: sessions)
        let router = Router(context: ConsoleRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        // The outer guard adds its fields to the pages of problems as well.
        router.add(middleware: PageFieldsMiddleware())
        router.add(middleware: ProblemPages(pages: pages))
        router.add(middleware: HostMiddleware())
        router.add(middleware: PageGuardMiddleware.console(configuration))
        let session = SessionMiddleware(sessions: sessions, configuration: configuration)
        router.add(middleware: session)
        router.get("/assets/:file") { request, _ in try pages.asset(request.uri.path) }
        router.get("/health") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"status":"ok"}"#)))
        }
        SignInController(
            sessions: sessions, session: session, configuration: configuration, pages: pages,
            limits: SignInTries(now: now)
        ).addRoutes(to: router)
        PageController(
            pages: pages, sessions: sessions, backends: backends, configuration: configuration,
            memory: ConsoleMemory(now: now)
        ).addRoutes(to: router)
        return router
    }
}
