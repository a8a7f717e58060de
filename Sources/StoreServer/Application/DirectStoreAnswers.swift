import HTTPSupport
import HTTPTypes
import NIOCore
import Store
import StoreReceipts
import StoreWire

/// Answers the two requests that make up a store's load without the router: `verifyReceipt`, and purchases that need no
/// lookup.
struct DirectStoreAnswers: DirectAnswering {
    let store: Store
    /// The log of requests; nil for none.
    var requests: RequestLog?
    /// Counts the requests that are answered here, as the routers count theirs; nil when nobody counts.
    var metrics: StoreMetrics?
    /// Whether the process has heard of all changes up to a few seconds ago; nil for a store of one process. Otherwise
    /// the router answers, and refuses.
    var isCurrent: (@Sendable () -> Bool)?

    func bodyLimit(of request: DirectRequest) -> Int? {
        guard request.method == .POST, isCurrent?() ?? true else { return nil }
        return switch request.path {
        case StoreRoute.verifyReceipt.template: StoreLimits.verifyReceiptRequest
        case StoreRoute.purchases.template: DeviceController.largestPurchase
        default: nil
        }
    }

    func answer(
        _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
    ) -> DirectOutcome {
        request.path == StoreRoute.purchases.template
            ? purchase(request, body, eventLoop) : verifyReceipt(body, eventLoop)
    }

    private func verifyReceipt(_ body: ByteBuffer, _ eventLoop: any EventLoop) -> DirectOutcome {
        let start = ContinuousClock.now
        switch store.verifyAtOnce(body.readableBytesUInt8Span) {
        case .answer(let response):
            return .answer(answer(response, since: start))
        case .later(let pending):
            return .later(
                eventLoop.makeFutureWithTask { answer(await store.verify(pending), since: start) })
        }
    }

    private func answer(_ response: VerifyReceiptResponse, since start: ContinuousClock.Instant) -> DirectAnswer {
        requests?.verified(response, store.environment)
        metrics?.requests.count(.post, route: StoreRoute.verifyReceipt.template, .ok, after: start.duration(to: .now))
        return DirectAnswer(contentType: VerifyReceiptController.contentType, body: ByteBuffer(bytes: response.json))
    }

    private func purchase(_ request: DirectRequest, _ body: ByteBuffer, _ eventLoop: any EventLoop) -> DirectOutcome {
        guard let authorization = request.authorization, authorization.hasPrefix("Bearer "),
            let purchase = try? body.message(PurchaseRequest.self)
        else { return .declined }
        let start = ContinuousClock.now
        let token = authorization.dropFirst(7)
        if let prepared = store.preparePurchase(purchase, token: token) {
            return .later(record(prepared, since: start, eventLoop))
        }
        guard !store.knowsAccount(token: token) else { return .declined }
        // The account's first purchase since the start: look the account up once.
        let learned = eventLoop.makePromise(of: Bool.self)
        store.learnAccount(token: token) { learned.succeed($0) }
        return .later(
            learned.futureResult.flatMap { isKnown in
                guard isKnown, let prepared = store.preparePurchase(purchase, token: token) else {
                    return eventLoop.makeSucceededFuture(nil)
                }
                return record(prepared, since: start, eventLoop)
            })
    }

    private func record(
        _ prepared: Store.PreparedPurchase, since start: ContinuousClock.Instant, _ eventLoop: any EventLoop
    ) -> EventLoopFuture<DirectAnswer?> {
        let promise = eventLoop.makePromise(of: PurchaseResponse?.self)
        store.record(prepared) { promise.succeed($0) }
        return promise.futureResult.map { [metrics, environment = store.environment] response in
            guard let response else { return nil }
            metrics?.purchased(response.state, in: environment)
            metrics?.requests.count(.post, route: StoreRoute.purchases.template, .ok, after: start.duration(to: .now))
            return DirectAnswer(response)
        }
    }
}
