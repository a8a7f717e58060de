import CornerstoreEncoding
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MerchantWire
import NIOCore
import StoreWire
import Synchronization
import TestSupport

/// A merchant that keeps its books in memory and answers over HTTP, as well or as badly as it is told. A receipt here
/// is the ids of its transactions, with commas between them.
final class FakeMerchant: Sendable {
    /// What goes wrong with one answer.
    enum Trouble: Sendable, Equatable {
        /// What was asked is done, and the answer is lost on its way.
        case lost
        case status(Int, retryAfter: Int? = nil)
        /// Refused in the merchant's own words.
        case refuses(Int, MerchantErrorCode)
        /// 200 with what is no answer.
        case garbage
        /// A file ends after so many bytes.
        case cut(after: Int)
        /// A file of the right length with other bytes.
        case otherBytes
    }

    struct State: Sendable {
        var revision: Int64 = 1
        var products: [MerchantProduct] = []
        /// What the store sold: products by transaction.
        var sold: [String: ProductID] = [:]
        /// Transactions that are refused.
        var refused: [String: MerchantErrorCode] = [:]
        /// The user of each token.
        var tokens: [String: String] = ["token": "ape"]
        var owners: [String: String] = [:]
        /// How often something was granted for a transaction.
        var grants: [String: Int] = [:]
        var files: [ContentItemID: (version: Int64, bytes: [UInt8])] = [:]
        var gems: Int64 = 0
        var spends: [String: SpendAnswer] = [:]
        /// What goes wrong next, one for each request, by method and template.
        var troubles: [String: [Trouble]] = [:]
        /// Method and template of each request, with the range of downloads.
        var requests: [String] = []
    }

    private struct Lost: Error {}

    private let state = Mutex(State())

    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    func trouble(_ route: MerchantRoute, _ troubles: Trouble...) {
        change { $0.troubles[Self.name(route), default: []] += troubles }
    }

    func count(_ route: MerchantRoute) -> Int { change { $0.requests.count { $0.hasPrefix(Self.name(route)) } } }

    /// Sells a product of the shelf in a transaction.
    func sell(_ id: String, _ product: ProductID = "issue1") { change { $0.sold[id] = product } }

    /// Puts a product on the shelf.
    func offer(_ product: ProductID, _ grants: ProductGrant...) {
        change {
            $0.revision += 1
            $0.products.append(
                MerchantProduct(
                    bundleID: "com.example.books", productID: product, kind: .nonConsumable, grants: grants))
        }
    }

    func publish(_ item: ContentItemID, version: Int64 = 1, _ bytes: [UInt8]) {
        change { $0.files[item] = (version, bytes) }
    }

    static func name(_ route: MerchantRoute) -> String { "\(route.method.rawValue) \(route.template)" }

    /// Runs it for as long as `body` does, which is given its address.
    func run(_ body: @escaping @Sendable (URL) async throws -> Void) async throws {
        let router = Router()
        let routes: [MerchantRoute] = [
            .products(""), .account, .redemptions, .balances(), .spends, .history("", before: nil), .entitlements,
            .content(""), .contentFile(""),
        ]
        for route in routes {
            let path = route.template.replacing("{item}", with: ":item")
            router.on(RouterPath(path), method: .init(route.method.rawValue) ?? .get) { request, context in
                try await self.respond(route, request, context.parameters.get("item"))
            }
        }
        try await LoopbackServer.with(router, body)
    }

    private func respond(_ route: MerchantRoute, _ request: Request, _ item: String?) async throws -> Response {
        let buffer = try await request.body.collect(upTo: MerchantLimits.redemption)
        let body = Data(buffer.readableBytesView)
        let name = Self.name(route)
        let range = request.headers[.range]
        let trouble: Trouble? = change { state in
            state.requests.append(name + (range.map { " \($0)" } ?? ""))
            guard let next = state.troubles[name]?.first else { return nil }
            state.troubles[name]?.removeFirst()
            return next
        }
        switch trouble {
        case .status(let status, let retryAfter):
            var headers = HTTPFields()
            if let retryAfter { headers[.retryAfter] = "\(retryAfter)" }
            return Response(status: .init(code: status), headers: headers)
        case .garbage: return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "<html>")))
        case .refuses(let status, let code): return refusal(status, code)
        case .lost, .cut, .otherBytes, nil: break
        }
        let token = request.headers[.authorization].map { String($0.dropFirst("Bearer ".count)) }
        let user = change { $0.tokens[token ?? ""] }
        if route.access == .user, user == nil { return refusal(401, .notSignedIn) }
        let response = try answer(
            route, request, body, user ?? "", ContentItemID(item?.removingPercentEncoding ?? ""), trouble)
        guard trouble == .lost else { return response }
        return Response(
            status: .ok,
            body: ResponseBody(contentLength: 100) { writer in
                try await writer.write(ByteBuffer(string: "{"))
                throw Lost()
            })
    }

    private func answer(
        _ route: MerchantRoute, _ request: Request, _ body: Data, _ user: String, _ item: ContentItemID,
        _ trouble: Trouble?
    ) throws -> Response {
        switch route {
        case .products: return try products(request)
        case .redemptions:
            let evidence = try JSONDecoder().decode(RedemptionRequest.self, from: body)
            let ids = String(decoding: evidence.receipt ?? Data(), as: UTF8.self).split(separator: ",").map(String.init)
            return json(redeem(ids, user))
        case .account: return try json(UserDescription(userID: UserID(user), accountToken: "of \(user)"))
        case .balances:
            return json(BalanceList(balances: [Balance(currency: "gems", amount: change { $0.gems })]))
        case .spends: return spend(try SpendRequest(json: Array(body)))
        case .history:
            return try json(HistoryPage(currency: "gems", entries: [], next: nil))
        case .entitlements:
            let items = change { state in state.owners.filter { $0.value == user }.keys.sorted() }
            return try json(
                EntitlementList(
                    entitlements: items.map { _ in
                        Entitlement(
                            entitlement: "reader", content: nil, productID: "issue1", state: .active, expiresAt: nil,
                            graceUntil: nil)
                    }))
        case .content:
            guard let file = change({ $0.files[item] }) else { return refusal(404, .unknownContent) }
            guard isEntitled(user, item) else { return refusal(403, .notEntitled) }
            return try json(
                ContentVersion(
                    item: item, version: file.version, digest: Self.digest(file.bytes), size: Int64(file.bytes.count),
                    mediaType: "text/plain", createdAt: 1))
        case .contentFile:
            guard let file = change({ $0.files[item] }) else { return refusal(404, .unknownContent) }
            guard isEntitled(user, item) else { return refusal(403, .notEntitled) }
            return deliver(file.bytes, request, trouble)
        default: return refusal(404, .notFound)
        }
    }

    private func products(_ request: Request) throws -> Response {
        let (revision, products) = change { ($0.revision, $0.products) }
        let tag = "\"r\(revision)\""
        if request.headers[.ifNoneMatch] == tag { return Response(status: .notModified, headers: [.eTag: tag]) }
        var response = try json(ProductList(revision: revision, products: products))
        response.headers[.eTag] = tag
        return response
    }

    private func redeem(_ ids: [String], _ user: String) -> RedemptionAnswer {
        change { state in
            var answer = RedemptionAnswer(redeemed: [], refused: [])
            for id in ids {
                guard let product = state.sold[id] else { continue }
                let owner = state.owners[id]
                if let code = state.refused[id] ?? (owner != nil && owner != user ? .alreadyRedeemed : nil) {
                    answer.refused.append(
                        RefusedTransaction(
                            transactionID: id, productID: product, code: code, message: code.text ?? ""))
                    continue
                }
                if owner == nil {
                    state.owners[id] = user
                    state.grants[id, default: 0] += 1
                }
                answer.redeemed.append(
                    RedeemedTransaction(
                        transactionID: id, originalTransactionID: id, productID: product, quantity: 1,
                        environment: .sandbox,
                        grants: state.products.first { $0.productID == product }?.grants ?? [], redeemedAt: 1,
                        expiresAt: nil, wentToNamedOwner: false))
            }
            return answer
        }
    }

    private func spend(_ request: SpendRequest) -> Response {
        let answer: SpendAnswer? = change { state in
            if let known = state.spends[request.key] { return known }
            guard state.gems >= request.amount else { return nil }
            state.gems -= request.amount
            let answer = SpendAnswer(
                key: request.key, currency: request.currency, amount: request.amount, balance: state.gems,
                entry: Int64(state.spends.count + 1))
            state.spends[request.key] = answer
            return answer
        }
        return answer.map { json($0) } ?? refusal(409, .insufficientBalance)
    }

    private func isEntitled(_ user: String, _ item: ContentItemID) -> Bool {
        change { state in
            state.owners.contains { id, owner in
                owner == user
                    && state.products.contains {
                        $0.productID == state.sold[id] && $0.grants.contains(.content(item))
                    }
            }
        }
    }

    private func deliver(_ bytes: [UInt8], _ request: Request, _ trouble: Trouble?) -> Response {
        let tag = "\"\(Self.digest(bytes))\""
        var start = 0
        if let range = request.headers[.range], request.headers[.ifRange] == tag {
            start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
        }
        var headers: HTTPFields = [.eTag: tag]
        if start > 0 { headers[.contentRange] = "bytes \(start)-\(bytes.count - 1)/\(bytes.count)" }
        var part = Array(bytes[start...])
        if trouble == .otherBytes { part = part.map { ~$0 } }
        let sent = part
        return Response(
            status: start > 0 ? .partialContent : .ok, headers: headers,
            body: ResponseBody(contentLength: sent.count) { writer in
                if case .cut(let after) = trouble {
                    try await writer.write(ByteBuffer(bytes: sent.prefix(after)))
                    throw Lost()
                }
                try await writer.write(ByteBuffer(bytes: sent))
                try await writer.finish(nil)
            })
    }

    private func refusal(_ status: Int, _ code: MerchantErrorCode) -> Response {
        let error = MerchantWireError(code: code, message: "refused: \(code)", requestID: "request-1")
        return (try? json(error, status: status)) ?? Response(status: .internalServerError)
    }

    private func json(_ value: some Encodable, status: Int = 200) throws -> Response {
        Response(
            status: .init(code: status), headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(value))))
    }

    private func json(_ message: some JSONWritable) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: message.json)))
    }

    static func digest(_ bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
