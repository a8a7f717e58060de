import Foundation
import HTTPSupport
import Hummingbird
import Merchant
import MerchantWire
import Metrics

/// Builds the router and the direct answers of the merchant's server.
struct MerchantRouters {
    let merchant: Merchant
    var authentication: Authentication
    var limits: RateLimits?
    let metrics: PrometheusMetrics
    let requests: RequestMetricsMiddleware<MerchantRequestContext>
    let uploads: StagingFolder
    /// The lowest rate at which a client may upload or download.
    let patience: StallWatch.Rule
    let isBehindProxy: Bool
    /// Whether the server listens on a loopback address, so that only this machine reaches it.
    let isLoopback: Bool
    let configuration: MerchantServerConfiguration
    let now: @Sendable () -> Date
    let stop = StopNotice()

    /// Answers frequent requests without the router.
    var direct: DirectMerchantAnswers {
        DirectMerchantAnswers(
            merchant: merchant, authentication: authentication, metrics: requests, isBehindProxy: isBehindProxy)
    }

    /// Answers a part of this process, which needs no API key and has no rate limit.
    var inProcess: InProcessResponder {
        var routers = self
        routers.authentication.isInProcess = true
        routers.limits = nil
        return InProcessResponder(routers.router())
    }

    func router() -> Router<MerchantRequestContext> {
        let router = Router(context: MerchantRequestContext.self)
        router.add(middleware: requests)
        router.add(middleware: RequestIDMiddleware())
        router.add(middleware: ContinueMiddleware())
        router.add(middleware: ProblemMiddleware(HTTPProblem.merchant))
        router.add(middleware: HostMiddleware())
        if let limits {
            router.add(
                middleware: RateLimitMiddleware(
                    limits: limits, keys: authentication.keys, isBehindProxy: isBehindProxy, now: now))
        }
        router.add(
            middleware: OtherMethodsMiddleware(alsoRouted: [MerchantRoute.contentFile("").template: [.head]]))
        CounterController(merchant: merchant, authentication: authentication, isBehindProxy: isBehindProxy)
            .addRoutes(to: router)
        DeliveryController(merchant: merchant, authentication: authentication, patience: patience)
            .addRoutes(to: router)
        NewsController(merchant: merchant).addRoutes(to: router)
        BackendController(merchant: merchant, authentication: authentication, configuration: configuration, now: now)
            .addRoutes(to: router)
        ContentUploadController(
            merchant: merchant, authentication: authentication, uploads: uploads, patience: patience
        ).addRoutes(to: router)
        HealthController(merchant: merchant, stop: stop).addRoutes(to: router)
        // On loopback, the metrics need no API key, unless a proxy passes on requests from other machines.
        MetricsController(metrics: metrics, authentication: isLoopback && !isBehindProxy ? nil : authentication)
            .addRoutes(to: router)
        return router
    }
}
