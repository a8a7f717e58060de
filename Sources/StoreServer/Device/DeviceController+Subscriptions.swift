import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// A device's requests about the subscriptions of its account.
extension DeviceController {
    /// The largest body of these requests, in bytes.
    private static let largestBody = 16 << 10

    @Sendable func subscriptions(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let query = request.uri.queryParameters
        let after = try query["after"].map { try Self.transactionID($0) }
        return try .json(
            try await store.managedSubscriptions(
                of: account, in: query["bundle"].map { BundleID(String($0)) }, after: after))
    }

    @Sendable func setRenewal(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(RenewalRequest.self, upTo: Self.largestBody)
        return try .json(
            try await store.setRenewal(body.willRenew, of: try Self.transactionID(context), by: account))
    }

    @Sendable func changePlan(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.purchases, request)
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(PlanChangeRequest.self, upTo: Self.largestBody)
        return .message(try await store.changePlan(of: try Self.transactionID(context), body, by: account))
    }

    @Sendable func openSubscriptions(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(SubscriptionsPageRequest.self, upTo: Self.largestBody)
        let id = visits.board.open(
            Visit(
                environment: store.environment, accountID: account.accountID,
                token: request.bearerToken.map(String.init) ?? "", item: nil,
                returnAddress: try Self.returnAddress(body.returnAddress)))
        return try .json(SubscriptionsPageDescription(url: visits.base() + SubscriptionsController.path(id)))
    }
}
