import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routers of the three ports.
public enum StoreRouters {
    /// What devices and merchants speak to: one environment's protocol port.
    /// - Parameters:
    ///   - signIns: how often clients may try to sign in; nil for no bound.
    ///   - isBehindProxy: whether a proxy adds the client's address to `X-Forwarded-For`.
    ///   - patience: how slowly clients may take hosted content.
    public static func protocolRouter(
        _ store: Store, signIns: SignInLimits? = nil, isBehindProxy: Bool = false,
        patience: StallWatch.Rule = .usual
    ) -> Router<StoreRequestContext> {
        let router = Router(context: StoreRequestContext.self)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(middleware: ProblemMiddleware(HTTPProblem.store))
        router.add(middleware: HostMiddleware())
        DeviceController(store: store, signIns: signIns, isBehindProxy: isBehindProxy).addRoutes(to: router)
        VerifyReceiptController(store: store).addRoutes(to: router)
        ContentController(store: store, patience: patience).addRoutes(to: router)
        return router
    }

    /// What the operator speaks to.
    /// - Parameters:
    ///   - desk: where hosted content is uploaded and reviewed; nil where none is hosted.
    ///   - adminToken: required of every request when there is one.
    ///   - patience: how slowly clients may send content.
    public static func controlRouter(
        _ stores: [Store], apps: AppRegistry, catalog: CurrentCatalog, desk: ContentDesk?, adminToken: String?,
        patience: StallWatch.Rule = .usual
    ) -> Router<StoreRequestContext> {
        let router = Router(context: StoreRequestContext.self)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(middleware: ProblemMiddleware(HTTPProblem.store))
        router.add(middleware: HostMiddleware())
        router.add(middleware: ControlGuardMiddleware(adminToken: adminToken))
        let byEnvironment = Dictionary(uniqueKeysWithValues: stores.map { ($0.environment, $0) })
        ControlController(stores: byEnvironment, apps: apps, catalog: catalog).addRoutes(to: router)
        if let desk { ContentControlController(desk: desk, patience: patience).addRoutes(to: router) }
        SheetController(board: SheetBoard(now: { .now })).addRoutes(to: router)
        return router
    }
}
