import CornerstoreEncoding
import Crypto
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire
import NIOCore
import StoreWire

/// Serves the app: products on sale, redemptions, balances and entitlements. Each handler authenticates, decodes, calls
/// one function and encodes.
struct CounterController: Sendable {
    let merchant: Merchant
    let authentication: Authentication
    let isBehindProxy: Bool

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.add(.products(""), products)
        router.add(.account, account)
        router.add(.redemptions, redeem)
        router.add(.balances(), balances)
        router.add(.spends, spend)
        router.add(.history("", before: nil), history)
        router.add(.entitlements, entitlements)
    }

    @Sendable private func products(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let bundleID = BundleID(try request.query("bundle"))
        let list = try await merchant.productList(of: bundleID)
        let json = try JSONEncoder.compact.encode(list)
        // The tag depends on the content: a restored database may count to the same revision with another list.
        let tag = "\"\(Data(SHA256.hash(data: json).prefix(12)).base64EncodedString())\""
        let headers: HTTPFields = [.eTag: tag, .cacheControl: "no-cache"]
        guard !request.isFresh(tag) else { return Response(status: .notModified, headers: headers) }
        var response = Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: json)))
        response.headers[.contentType] = "application/json"
        return response
    }

    @Sendable private func account(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try .json(try await merchant.describe(try authentication.user(of: request)))
    }

    @Sendable private func redeem(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let user = try authentication.user(of: request)
        switch try await request.redemption() {
        case .evidence(let evidence): return .message(try await merchant.redeem(evidence, for: user))
        case .transaction(let id, let app):
            let answer = try await authentication.countingGuesses(
                of: user,
                at: NetworkAddress(
                    of: context.channel.remoteAddress, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy)
            ) { try await merchant.redeem(transactionID: id, in: app, for: user) }
            return .message(answer)
        }
    }

    @Sendable private func balances(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let user = try authentication.user(of: request)
        return .message(try await merchant.balances(of: user, in: try request.environment()))
    }

    @Sendable private func spend(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let user = try authentication.user(of: request)
        let spend = try await request.message(SpendRequest.self, upTo: MerchantLimits.request)
        return .message(try await merchant.spend(spend, by: user))
    }

    @Sendable private func history(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let user = try authentication.user(of: request)
        let (currency, before, environment) = try request.historyQuery()
        return try .json(try await merchant.history(of: user, currency, before: before, in: environment))
    }

    @Sendable private func entitlements(_ request: Request, _ context: MerchantRequestContext) async throws -> Response
    {
        try .json(try await merchant.entitlements(of: try authentication.user(of: request)))
    }
}

extension Router where Context == MerchantRequestContext {
    /// Adds the handler of a route of the table.
    func add(_ route: MerchantRoute, _ handler: @escaping @Sendable (Request, Context) async throws -> Response) {
        on(RouterPath(route.template), method: HTTPRequest.Method(route.method), use: handler)
    }
}

extension Request {
    /// A parameter of the query.
    /// - Throws: ``HTTPProblem`` 400 when it is missing.
    func query(_ name: String) throws -> String {
        guard let value = uri.queryParameters[Substring(name)], !value.isEmpty else {
            throw HTTPProblem(
                .badRequest, code: MerchantErrorCode.invalidRequest.rawValue,
                message: "The query must contain “\(name)”.")
        }
        return String(value)
    }

    /// The query's `environment`; nil when it has none.
    /// - Throws: ``HTTPProblem`` 400 for a text that is not an environment.
    func environment() throws -> StoreEnvironment? {
        try uri.queryParameters["environment"].map { text in
            guard let environment = StoreEnvironment(rawValue: String(text)) else {
                throw HTTPProblem(
                    .badRequest, code: MerchantErrorCode.invalidRequest.rawValue,
                    message: "“environment” must be Production or Sandbox.")
            }
            return environment
        }
    }

    /// The query's `currency`, `before` and `environment`.
    func historyQuery() throws -> (CurrencyID, Int64?, StoreEnvironment?) {
        let before = try uri.queryParameters["before"].map { text in
            guard let number = Int64(text), number > 0 else {
                throw HTTPProblem(
                    .badRequest, code: MerchantErrorCode.invalidRequest.rawValue,
                    message: "“before” must be a number above 0.")
            }
            return number
        }
        return (CurrencyID(try query("currency")), before, try environment())
    }

    /// Reads the evidence in the body, as ``redemption()`` does.
    /// - Throws: ``HTTPProblem`` 400 for a bare identifier of a transaction.
    func evidence() async throws -> Evidence {
        guard case .evidence(let evidence) = try await redemption() else {
            throw HTTPProblem(
                .badRequest, code: MerchantErrorCode.invalidRequest.rawValue,
                message: "Send a receipt or a signed transaction.")
        }
        return evidence
    }

    /// Reads what is to be redeemed: a receipt (`application/octet-stream`), a signed transaction
    /// (`application/jose`), or JSON that contains one of them or the identifier of a transaction.
    fileprivate func redemption() async throws -> RedemptionBody {
        let type = headers[.contentType]?.split(separator: ";").first?.lowercased()
        let body = try await boundedBody(upTo: MerchantLimits.redemption)
        switch type {
        case "application/octet-stream": return .evidence(.receipt(Array(buffer: body)))
        case "application/jose": return .evidence(.signedTransaction(Array(buffer: body)))
        default:
            guard let first = body.readableBytesView.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") else {
                throw HTTPProblem(
                    .badRequest, code: MerchantErrorCode.invalidRequest.rawValue,
                    message:
                        "The body is not a JSON object. Send a receipt as Content-Type application/octet-stream, a signed transaction as application/jose."
                )
            }
            let redemption = try body.message(RedemptionRequest.self)
            if let id = redemption.transactionID { return .transaction(id, redemption.bundleID) }
            if let text = redemption.signedTransaction { return .evidence(.signedTransaction(Array(text.utf8))) }
            return .evidence(.receipt(Array(redemption.receipt ?? Data())))
        }
    }
}

/// The body of a redemption.
private enum RedemptionBody {
    case evidence(Evidence)
    /// The identifier of a transaction and its app.
    case transaction(String, BundleID?)
}
