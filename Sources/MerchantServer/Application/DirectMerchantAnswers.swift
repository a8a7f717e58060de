import CornerstoreEncoding
import HTTPSupport
import HTTPTypes
import Merchant
import MerchantWire
import NIOCore
import StoreReceipts
import StoreWire

/// Answers the three requests that make up a merchant's load without the router: balances, spends, and redemptions
/// whose body is the evidence itself, of users whose token was verified before. A refused request goes to the router,
/// which refuses it again with a message: each of the three can be repeated.
struct DirectMerchantAnswers: DirectAnswering {
    /// The largest JSON body of a spend, in bytes.
    private static let largestSpend = 8 << 10
    private static let signed = "application/jose"
    /// The paths of balances, and the environment that each names.
    private static let balances: [String: StoreEnvironment?] = Dictionary(
        uniqueKeysWithValues: ([nil, .production, .sandbox] as [StoreEnvironment?]).map {
            (MerchantRoute.balances(in: $0).path, $0)
        })

    let merchant: Merchant
    let authentication: Authentication
    /// Counts the requests that are answered here, as the router's middleware counts its own.
    let metrics: RequestMetricsMiddleware<MerchantRequestContext>
    let isBehindProxy: Bool

    func bodyLimit(of request: DirectRequest) -> Int? {
        switch (request.method, request.path) {
        case (.GET, let path) where Self.balances[path] != nil: 0
        case (.POST, MerchantRoute.spends.template): Self.largestSpend
        case (.POST, MerchantRoute.redemptions.template):
            request.contentType == Self.signed || request.contentType == "application/octet-stream"
                ? MerchantLimits.evidence : nil
        default: nil
        }
    }

    func answer(
        _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
    ) -> DirectOutcome {
        let start = ContinuousClock.now
        let remembered = authentication.rememberedUser(
            authorization: request.authorization,
            at: NetworkAddress(of: address, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy))
        guard let remembered else { return .declined }
        let user = remembered.user
        let pending: EventLoopFuture<(any JSONWritable)?>?
        var route = request.path
        switch request.path {
        case MerchantRoute.spends.template: pending = spend(body, by: user, on: eventLoop)
        case let path where request.method == .GET:
            route = MerchantRoute.balances().template
            pending = balances(of: user, in: Self.balances[path] ?? nil, on: eventLoop)
        default:
            let bytes = Array(buffer: body)
            let isSigned = request.contentType == Self.signed
            pending = redeem(isSigned ? .signedTransaction(bytes) : .receipt(bytes), for: user, on: eventLoop)
        }
        guard let pending else {
            authentication.sendTheLongWay(remembered)
            return .declined
        }
        return .later(
            pending.map { [authentication, metrics, route] answer in
                guard let answer else {
                    authentication.sendTheLongWay(remembered)
                    return nil
                }
                metrics.count(
                    request.method == .GET ? .get : .post, route: route, .ok, after: start.duration(to: .now))
                return DirectAnswer(answer)
            })
    }

    private func balances(
        of user: UserID, in environment: StoreEnvironment?, on eventLoop: any EventLoop
    ) -> EventLoopFuture<(any JSONWritable)?> {
        eventLoop.makeFutureWithTask { [merchant] in try? await merchant.balances(of: user, in: environment) }
    }

    private func spend(
        _ body: ByteBuffer, by user: UserID, on eventLoop: any EventLoop
    ) -> EventLoopFuture<(any JSONWritable)?>? {
        guard let request = try? body.message(SpendRequest.self) else { return nil }
        let promise = eventLoop.makePromise(of: (any JSONWritable)?.self)
        do {
            try merchant.spend(request, by: user) { promise.succeed(try? $0.get()) }
        } catch {
            promise.succeed(nil)
        }
        return promise.futureResult
    }

    private func redeem(
        _ evidence: Evidence, for user: UserID, on eventLoop: any EventLoop
    ) -> EventLoopFuture<(any JSONWritable)?>? {
        let promise = eventLoop.makePromise(of: (any JSONWritable)?.self)
        guard merchant.redeemAtOnce(evidence, for: user, completion: { promise.succeed(try? $0.get()) }) else {
            promise.succeed(nil)
            return nil
        }
        return promise.futureResult
    }
}
