import HTTPSupport
import HTTPTypes
import Merchant
import MerchantWire
import NIOCore
import StoreReceipts

/// The short cut for the three requests that load a merchant: balances, spends, and redemptions whose evidence is the body itself, of users whose token was
/// verified before. Whatever is refused goes to the router, which refuses it again in words: each of the three can be repeated.
struct DirectMerchantAnswers: DirectAnswering {
    /// In bytes of JSON.
    private static let largestSpend = 8 << 10

    let merchant: Merchant
    let authentication: Authentication
    /// Counts what is answered here, as the router's middleware counts its own.
    let metrics: RequestMetricsMiddleware

    func bodyLimit(of request: HTTPRequest) -> Int? {
        switch (request.method, request.path) {
        case (.get, MerchantRoute.balances.template): 0
        case (.post, MerchantRoute.spends.template): Self.largestSpend
        case (.post, MerchantRoute.redemptions.template):
            ["application/octet-stream", "application/jose"].contains(request.headerFields[.contentType])
                ? MerchantLimits.evidence : nil
        default: nil
        }
    }

    func answer(_ request: HTTPRequest, body: ByteBuffer, on eventLoop: any EventLoop) -> DirectOutcome {
        let start = ContinuousClock.now
        guard let user = authentication.rememberedUser(authorization: request.headerFields[.authorization]) else {
            return .declined
        }
        let (merchant, metrics) = (self.merchant, self.metrics)
        let answer = eventLoop.makeFutureWithTask { () async throws -> DirectAnswer? in
            guard let json = try await Self.json(request, body, user, merchant) else { return nil }
            metrics.count(request.method, route: request.path, .ok, after: start.duration(to: .now))
            return DirectAnswer(contentType: "application/json", body: ByteBuffer(bytes: json))
        }
        return .later(answer)
    }

    private static func json(
        _ request: HTTPRequest, _ body: ByteBuffer, _ user: UserID, _ merchant: Merchant
    ) async throws -> [UInt8]? {
        switch request.path {
        case MerchantRoute.balances.template: return try await merchant.balances(of: user).json
        case MerchantRoute.spends.template:
            guard let spend = try SpendRequest(flat: Array(body.readableBytesView)) else { return nil }
            return try await merchant.spend(spend, by: user).json
        default:
            let bytes = Array(body.readableBytesView)
            let isSigned = request.headerFields[.contentType] == "application/jose"
            return try await merchant.redeem(isSigned ? .signedTransaction(bytes) : .receipt(bytes), for: user).json
        }
    }
}

extension SpendRequest {
    /// Reads what the router would decode; nil, or an error, for what it would refuse.
    fileprivate init?(flat json: [UInt8]) throws(FlatJSONScanner.Failure) {
        let fields = try FlatJSONObject(json)
        guard let key = try fields.string("key"), let currency = try fields.string("currency"),
            let amount = try fields.wholeNumber("amount")
        else { return nil }
        self.init(key: key, currency: CurrencyID(currency), amount: amount, note: try fields.string("note"))
    }
}
