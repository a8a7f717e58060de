import Foundation
import StoreWire

/// Why the store did not do what was asked.
enum StoreFailure: Error, Equatable, Sendable {
    /// No answer, or one that says to come back later: the store may or may not have done it.
    case unreachable
    /// The token is not (or no longer) good.
    case notSignedIn
    /// Refused for good.
    case refused(WireError)
}

/// The store's routes as functions, in `StoreWire`'s values.
struct StoreClient: Sendable {
    let transport: any StoreTransport

    func signIn(_ request: SignInRequest) async throws(StoreFailure) -> SignInResponse {
        try await value(.signIn, request, token: nil)
    }

    func products(_ request: ProductsRequest, token: String?) async throws(StoreFailure) -> ProductsResponse {
        try await value(.products, request, token: token)
    }

    func purchase(_ request: PurchaseRequest, token: String) async throws(StoreFailure) -> PurchaseResponse {
        try await value(.purchases, request, token: token)
    }

    func unfinished(
        _ bundleID: BundleID, after: TransactionID?, token: String
    ) async throws(StoreFailure) -> UnfinishedTransactionsResponse {
        try decode(await answer(.unfinishedTransactions(bundleID, after: after), body: nil, token: token))
    }

    func restore(_ request: RestoreRequest, token: String) async throws(StoreFailure) -> RestoreResponse {
        try await value(.restores, request, token: token)
    }

    func finish(_ transaction: TransactionID, token: String) async throws(StoreFailure) {
        _ = try await answer(.finish(transaction), body: nil, token: token)
    }

    func notices(
        _ bundleID: BundleID, after: Int64?, languages: [String], token: String
    ) async throws(StoreFailure) -> NoticesResponse {
        try decode(await answer(.notices(bundleID, after: after, languages: languages), body: nil, token: token))
    }

    func take(_ promotion: PromotionRequest, token: String) async throws(StoreFailure) {
        _ = try await answer(.promotions, body: encode(promotion), token: token)
    }

    func answer(_ consent: PriceConsentRequest, token: String) async throws(StoreFailure) {
        _ = try await answer(.priceConsents, body: encode(consent), token: token)
    }

    func redeem(_ request: CodeRedemptionRequest, token: String) async throws(StoreFailure) -> TransactionDescription {
        try await value(.redemptions, request, token: token)
    }

    /// Where a transaction's hosted content is.
    func content(
        _ transaction: TransactionID, _ request: ContentRequest, token: String
    ) async throws(StoreFailure) -> ContentGrant {
        try await value(.content(transaction), request, token: token)
    }

    /// The DER bytes of a fresh app receipt.
    func appReceipt(_ request: AppReceiptRequest, token: String) async throws(StoreFailure) -> Data {
        try await answer(.appReceipt, body: encode(request), token: token)
    }

    /// The property list of one transaction.
    func transactionReceipt(
        _ transaction: TransactionID, _ request: TransactionReceiptRequest, token: String
    ) async throws(StoreFailure) -> Data {
        try await answer(.transactionReceipt(transaction), body: encode(request), token: token)
    }

    private func value<Value: Decodable>(
        _ route: StoreRoute, _ request: some Encodable, token: String?
    ) async throws(StoreFailure) -> Value {
        try decode(await answer(route, body: encode(request), token: token))
    }

    private func encode(_ value: some Encodable) throws(StoreFailure) -> Data {
        do { return try JSONEncoder().encode(value) } catch {
            throw .refused(WireError(code: .invalidRequest, message: "the request cannot be written as JSON"))
        }
    }

    /// An answer that is not what it should be is a broken or half-dead store: come back later.
    private func decode<Value: Decodable>(_ body: Data) throws(StoreFailure) -> Value {
        do { return try JSONDecoder().decode(Value.self, from: body) } catch {
            NetworkWitness.current?.saw(.badAnswer)
            throw .unreachable
        }
    }

    private func answer(_ route: StoreRoute, body: Data?, token: String?) async throws(StoreFailure) -> Data {
        let response: StoreTransportResponse
        do {
            response = try await transport.send(StoreTransportRequest(route: route, body: body, token: token))
        } catch {
            NetworkWitness.current?.saw(NetworkCause(error))
            throw .unreachable
        }
        if (200..<300).contains(response.status) { return response.body }
        let failure = StoreFailure(status: response.status, body: response.body)
        if failure == .unreachable { NetworkWitness.current?.saw(.badAnswer) }
        throw failure
    }
}

extension StoreFailure {
    /// Reads a refusal. Only a status of 4xx with the store's own words is one for good: anything else may come from
    /// something between us and the store, and giving a payment up for it could lose money.
    init(status: Int, body: Data) {
        guard (400..<500).contains(status), status != 408, status != 429, body.count <= 1 << 16,
            let error = try? JSONDecoder().decode(WireError.self, from: body)
        else {
            self = .unreachable
            return
        }
        switch error.code {
        case .notSignedIn: self = .notSignedIn
        case .unavailable, .internalError: self = .unreachable
        default: self = .refused(error)
        }
    }
}
