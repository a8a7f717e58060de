import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// Builds the routers of the store's ports.
public enum StoreRouters {
    /// Builds the router of one environment's protocol port, which devices and merchants use.
    /// - Parameters:
    ///   - visits: opens items' pages for the store's customers.
    ///   - signIns: the rate limit on sign-ins; nil for no limit.
    ///   - isBehindProxy: whether a proxy adds the client's address to `X-Forwarded-For`.
    ///   - patience: the lowest rate at which a client may download hosted content.
    ///   - serverAPI: the App Store Server API of the environment.
    ///   - ocsp: answers whether the certificates of signed payloads are good.
    ///   - requests: the log of `verifyReceipt` and refused requests.
    ///   - operation: what supervisors and load balancers ask for.
    ///   - connections: the most connections that the port holds open.
    static func protocolRouter(
        _ store: Store, reviews: Reviews, visits: VisitDesk, signIns: SignInLimits? = nil, isBehindProxy: Bool = false,
        patience: StallWatch.Rule = .usual, serverAPI: ServerAPI, ocsp: OCSPController, requests: RequestLog,
        operation: StoreOperation, connections: Int = ServerLimits.Values().connections
    ) -> Router<StoreRequestContext> {
        let router = Router(context: StoreRequestContext.self)
        operation.addMetrics(to: router, environment: store.environment)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(
            middleware: ProblemMiddleware(HTTPProblem.store, refused: requests.refusal(at: store.environment)))
        router.add(middleware: HostMiddleware())
        operation.addHealth(to: router)
        operation.addGuard(to: router)
        DeviceController(
            store: store, reviews: reviews, visits: visits, signIns: signIns, isBehindProxy: isBehindProxy,
            metrics: operation.metrics, connections: connections
        ).addRoutes(to: router)
        VerifyReceiptController(store: store, requests: requests).addRoutes(to: router)
        ContentController(store: store, patience: patience).addRoutes(to: router)
        ocsp.addRoutes(to: router)
        // Its middleware answers for addresses that nobody serves, too.
        ServerAPIController(api: serverAPI, environment: store.environment, requests: requests).addRoutes(to: router)
        return router
    }

    /// Builds the router of the storefront's port, which anyone may use.
    /// - Parameters:
    ///   - pages: makes the items' pages.
    ///   - reviews: the ratings and reviews.
    ///   - campaigns: counts the views that campaigns led to.
    ///   - visits: the pages that devices opened.
    ///   - stores: the stores whose customers buy on these pages.
    ///   - feeds: serves the partner feed.
    ///   - searches: the rate limit on searches and lookups; nil for no limit.
    ///   - signIns: the rate limit on sign-ins to the page of subscriptions; nil for no limit.
    ///   - isBehindProxy: whether a proxy adds the client's address to `X-Forwarded-For`.
    ///   - patience: the lowest rate at which a client may download a preview.
    ///   - requests: the log of refused requests.
    ///   - operation: what supervisors and load balancers ask for.
    static func storefrontRouter(
        _ finder: ItemFinder, pages: ItemPages, reviews: Reviews, campaigns: Campaigns, visits: VisitDesk,
        stores: [Store], feeds: FeedController,
        searches: SearchLimit? = nil, signIns: SignInLimits? = nil, isBehindProxy: Bool = false,
        patience: StallWatch.Rule = .usual,
        requests: RequestLog, operation: StoreOperation
    ) -> Router<StoreRequestContext> {
        let router = Router(context: StoreRequestContext.self, options: .autoGenerateHeadEndpoints)
        operation.addMetrics(to: router, environment: nil)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(
            middleware: ProblemMiddleware(
                HTTPProblem.store, page: pages.response, refused: requests.refusal(at: nil)))
        router.add(middleware: HostMiddleware())
        operation.addHealth(to: router)
        operation.addGuard(to: router)
        let search = SearchController(finder: finder, limit: searches, isBehindProxy: isBehindProxy)
        search.addRoutes(to: router)
        // Its middleware answers for the page of subscriptions, too.
        VisitController(pages: pages, reviews: reviews, visits: visits, stores: stores).addRoutes(to: router)
        SubscriptionsController(
            pages: pages, visits: visits, stores: stores, signIns: signIns, isBehindProxy: isBehindProxy
        ).addRoutes(to: router)
        PageController(pages: pages, search: search, reviews: reviews, campaigns: campaigns).addRoutes(to: router)
        PictureController(items: pages.index, pictures: ItemPictures()).addRoutes(to: router)
        PreviewController(items: pages.index, patience: patience).addRoutes(to: router)
        feeds.addRoutes(to: router)
        return router
    }

    /// Builds the router of the control port, which the operator uses.
    /// - Parameters:
    ///   - managed: the apps whose catalog the store manages.
    ///   - desk: the upload and review of hosted content; nil where the server hosts none.
    ///   - feeds: builds feeds, and adds partners.
    ///   - keys: creates, lists and revokes the keys of the App Store Server API.
    ///   - authority: shows the certificate authority, and replaces its leaves.
    ///   - notifications: serves the operator of the server notifications.
    ///   - adminToken: the token that every request must carry; nil for none.
    ///   - isGuarded: whether requests come from connections. A part of this process needs no token.
    ///   - patience: the lowest rate at which a client may upload content.
    ///   - operatorDesk: what the operator sees of the server itself.
    ///   - console: the base URL of the console beside the store; nil without one.
    ///   - operation: what supervisors, load balancers and monitoring systems ask for.
    static func controlRouter(
        _ stores: [Store], apps: AppRegistry, catalog: CurrentCatalog, managed: ManagedCatalog, desk: ContentDesk?,
        reviews: Reviews, campaigns: Campaigns, feeds: FeedControlController, keys: APIKeyController,
        authority: AuthorityController, notifications: NotificationController,
        adminToken: String?, isGuarded: Bool = true, patience: StallWatch.Rule = .usual, operatorDesk: OperatorDesk,
        console: @escaping @Sendable () -> String?, operation: StoreOperation
    ) -> Router<StoreRequestContext> {
        let router = Router(context: StoreRequestContext.self)
        operation.addMetrics(to: router, environment: nil)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(
            middleware: ProblemMiddleware(HTTPProblem.store, refused: operatorDesk.requests.refusal(at: nil)))
        if isGuarded { router.add(middleware: HostMiddleware()) }
        operation.addHealth(to: router)
        if isGuarded {
            // The console has guards of its own, and its address is no secret.
            router.add(middleware: ConsoleRedirectMiddleware(console: console))
            router.add(middleware: ControlGuardMiddleware(adminToken: adminToken))
        }
        router.add(middleware: EmptyNameMiddleware())
        MetricsController(metrics: operation.metrics).addRoutes(to: router)
        operation.addGuard(to: router)
        router.add(
            middleware: AuditMiddleware(
                audit: operatorDesk.audit, changes: operatorDesk.changes, now: operatorDesk.now))
        let byEnvironment = Dictionary(uniqueKeysWithValues: stores.map { ($0.environment, $0) })
        ControlController(stores: byEnvironment, apps: apps, catalog: catalog, managed: managed).addRoutes(to: router)
        ManagedControlController(managed: managed).addRoutes(to: router)
        ReviewControlController(reviews: reviews).addRoutes(to: router)
        CampaignControlController(campaigns: campaigns).addRoutes(to: router)
        feeds.addRoutes(to: router)
        keys.addRoutes(to: router)
        authority.addRoutes(to: router)
        notifications.addRoutes(to: router)
        RefundRequestController(stores: byEnvironment).addRoutes(to: router)
        RateLimitController(stores: byEnvironment).addRoutes(to: router)
        if let desk {
            ContentControlController(desk: desk, patience: patience, processes: operation.others)
                .addRoutes(to: router)
        }
        SheetController(board: operatorDesk.sheets, catalog: catalog).addRoutes(to: router)
        OperatorController(apps: apps, catalog: catalog, desk: operatorDesk).addRoutes(to: router)
        EventController(changes: operatorDesk.changes, places: operatorDesk.places).addRoutes(to: router)
        return router
    }
}
