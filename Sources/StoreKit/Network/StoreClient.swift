import Foundation
import StoreWire

/// The reason why a request to the store failed.
enum StoreFailure: Error, Equatable, Sendable {
    /// No response, or a response that asks to retry later. The store may or may not have performed the request.
    case unreachable
    /// The store does not accept the token.
    case notSignedIn
    /// The store refused the request permanently.
    case refused(WireError)
}

/// The store's routes as functions over `StoreWire` types.
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

    /// A page of the unfinished transactions that the store itself made.
    func arrived(
        _ bundleID: BundleID, after: TransactionID?, token: String
    ) async throws(StoreFailure) -> UnfinishedTransactionsResponse {
        try decode(await answer(.arrivedTransactions(bundleID, after: after), body: nil, token: token))
    }

    /// The marks of what waits for the app, after waiting up to so many seconds until they differ from `since`.
    func news(
        _ bundleID: BundleID, since: NewsMarks?, wait: Int, token: String
    ) async throws(StoreFailure) -> NewsMarks {
        try decode(await answer(.news(bundleID, since: since, wait: wait), body: nil, token: token))
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

    /// Describes a transaction whose refund the customer can request.
    func refundable(
        _ transaction: TransactionID, in bundleID: BundleID, token: String
    ) async throws(StoreFailure) -> RefundableTransaction {
        try decode(await answer(.refundable(transaction, in: bundleID), body: nil, token: token))
    }

    func requestRefund(
        of transaction: TransactionID, _ request: RefundRequestMessage, token: String
    ) async throws(StoreFailure) {
        _ = try await answer(.requestRefund(transaction), body: encode(request), token: token)
    }

    func review(_ request: ReviewRequest, token: String) async throws(StoreFailure) {
        _ = try await answer(.writeReview, body: encode(request), token: token)
    }

    /// Opens the page of an item for the account. Without a token, the store refuses it: as unknown, or for a sign-in.
    func openVisit(_ request: VisitRequest, token: String?) async throws(StoreFailure) -> VisitDescription {
        try await value(.openVisit, request, token: token)
    }

    /// The state of a page, after waiting up to so many seconds for its end.
    func visit(_ id: String, wait: Int, token: String) async throws(StoreFailure) -> VisitState? {
        let answer: [String: VisitState] = try decode(
            await answer(.visit(id, wait: wait), body: nil, token: token))
        return answer["state"]
    }

    /// Rates or reviews the item of a visit.
    func review(
        _ visit: String, _ request: VisitReviewRequest, token: String
    ) async throws(StoreFailure) -> ReviewResponse {
        try await value(.reviewVisit(visit), request, token: token)
    }

    /// Buys an item.
    func buyItem(_ request: ItemPurchaseMessage, token: String) async throws(StoreFailure) -> OwnedItem {
        try await value(.buyItem, request, token: token)
    }

    /// The address and digest of an owned item's file.
    func itemFile(_ item: Int64, token: String) async throws(StoreFailure) -> ContentGrant {
        try decode(await answer(.itemFile(item), body: nil, token: token))
    }

    /// The address and digest of a transaction's hosted content.
    func content(
        _ transaction: TransactionID, _ request: ContentRequest, token: String
    ) async throws(StoreFailure) -> ContentGrant {
        try await value(.content(transaction), request, token: token)
    }

    /// A new app receipt in DER.
    func appReceipt(_ request: AppReceiptRequest, token: String) async throws(StoreFailure) -> Data {
        try await answer(.appReceipt, body: encode(request), token: token)
    }

    /// The receipt of one transaction, a property list.
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

    /// Decodes a response. A malformed response counts as ``StoreFailure/unreachable``, so that the caller retries.
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
    /// Reads an error response. Only a 4xx status with the store's error body is a permanent refusal. Any other
    /// response may come from a proxy, and failing a payment because of it could lose money.
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
