import HTTPSupport
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

    func bodyLimit(of request: DirectRequest) -> Int? {
        guard request.method == .POST else { return nil }
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
        switch store.verifyAtOnce(body.readableBytesUInt8Span) {
        case .answer(let response):
            return .answer(answer(response))
        case .later(let pending):
            return .later(
                eventLoop.makeFutureWithTask { answer(await store.verify(pending)) })
        }
    }

    private func answer(_ response: VerifyReceiptResponse) -> DirectAnswer {
        requests?.verified(response, store.environment)
        return DirectAnswer(contentType: VerifyReceiptController.contentType, body: ByteBuffer(bytes: response.json))
    }

    private func purchase(_ request: DirectRequest, _ body: ByteBuffer, _ eventLoop: any EventLoop) -> DirectOutcome {
        guard let authorization = request.authorization, authorization.hasPrefix("Bearer "),
            let purchase = try? body.message(PurchaseRequest.self)
        else { return .declined }
        let token = authorization.dropFirst(7)
        if let prepared = store.preparePurchase(purchase, token: token) {
            return .later(record(prepared, eventLoop))
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
                return record(prepared, eventLoop)
            })
    }

    private func record(
        _ prepared: Store.PreparedPurchase, _ eventLoop: any EventLoop
    ) -> EventLoopFuture<DirectAnswer?> {
        let promise = eventLoop.makePromise(of: PurchaseResponse?.self)
        store.record(prepared) { promise.succeed($0) }
        return promise.futureResult.map { response in response.map { DirectAnswer($0) } }
    }
}
