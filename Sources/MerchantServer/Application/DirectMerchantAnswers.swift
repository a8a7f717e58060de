import Foundation
import HTTPSupport
import HTTPTypes
import Merchant
import MerchantWire
import NIOCore

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
        case MerchantRoute.balances.template:
            let list = try await merchant.balances(of: user)
            return try list.usualJSON ?? encoded(list)
        case MerchantRoute.spends.template:
            let spend = try JSONDecoder().decode(SpendRequest.self, from: Data(body.readableBytesView))
            let answer = try await merchant.spend(spend, by: user)
            return try answer.usualJSON ?? encoded(answer)
        default:
            let bytes = Array(body.readableBytesView)
            let isSigned = request.headerFields[.contentType] == "application/jose"
            return try encoded(
                try await merchant.redeem(isSigned ? .signedTransaction(bytes) : .receipt(bytes), for: user))
        }
    }

    /// As `Response.json` writes it.
    private static func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}

extension BalanceList {
    /// What an encoder writes of it, at a fraction of the time; nil when a name needs escaping.
    var usualJSON: [UInt8]? {
        guard balances.allSatisfy({ $0.currency.rawValue.isPlain }) else { return nil }
        let list = balances.map { #"{"amount":\#($0.amount),"currency":"\#($0.currency.rawValue)"}"# }
        return Array((#"{"balances":["# + list.joined(separator: ",") + "]}").utf8)
    }
}

extension SpendAnswer {
    /// As ``BalanceList/usualJSON``.
    var usualJSON: [UInt8]? {
        guard key.isPlain, currency.rawValue.isPlain else { return nil }
        return Array(
            #"{"amount":\#(amount),"balance":\#(balance),"currency":"\#(currency.rawValue)","entry":\#(entry),"key":"\#(key)"}"#
                .utf8)
    }
}

extension String {
    /// Whether it stands in JSON as it is: ASCII without quotation marks, backslashes and control characters.
    fileprivate var isPlain: Bool {
        utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
