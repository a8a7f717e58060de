import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire
import StoreWire

/// Serves the developer's own backend, by API key: products, users, the ledger, webhooks, API keys and settings.
struct BackendController: Sendable {
    let merchant: Merchant
    let authentication: Authentication
    let configuration: MerchantServerConfiguration
    /// The machine's clock.
    let now: @Sendable () -> Date

    func addRoutes(to router: Router<MerchantRequestContext>) {
        add(.adminProducts, to: router, products)
        add(.putProduct("", ""), to: router, putProduct)
        add(.deleteProduct("", ""), to: router, deleteProduct)
        add(.user(""), to: router, user)
        add(.userHistory("", "", before: nil), to: router, history)
        add(.userSpends(""), to: router, spend)
        add(.userAdjustments(""), to: router, adjust)
        add(.checkBooks, to: router, checkBooks)
        add(.deadWebhooks, to: router, deadWebhooks)
        add(.replayWebhook(""), to: router, replay)
        add(.testWebhook, to: router, testWebhook)
        addLists(to: router)
        addStoreRoutes(to: router)
        addKeys(to: router)
        add(.settings, to: router) { [configuration, merchant] _, _ in
            try .json(SettingsReport(configuration, bundleIDs: merchant.verifier.apps))
        }
    }

    /// Adds a route that requires the scope which the table names for it.
    func add(
        _ route: MerchantRoute, to router: Router<MerchantRequestContext>,
        _ handler: @escaping @Sendable (Request, MerchantRequestContext) async throws -> Response
    ) {
        router.add(route) { [authentication] request, context in
            try await authentication.require(route, request)
            return try await handler(request, context)
        }
    }

    @Sendable private func products(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try .json(try await merchant.allProducts())
    }

    @Sendable private func putProduct(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let bytes = try await request.boundedBody(upTo: MerchantLimits.request)
        let body = try WrittenProduct(json: Data(bytes.readableBytesView))
        let (bundle, id) = (BundleID(try context.parameter("bundle")), ProductID(try context.parameter("product")))
        guard body.bundleID ?? bundle == bundle, body.id ?? id == id else {
            throw MerchantError(.invalidRequest, "The body names another product than the path.")
        }
        let product = MerchantProduct(
            bundleID: bundle, productID: id, kind: body.kind, grants: body.grants, isOnSale: body.isOnSale ?? true,
            shelf: body.shelf)
        try await merchant.put(product)
        return try .json(product)
    }

    @Sendable private func deleteProduct(
        _ request: Request, _ context: MerchantRequestContext
    ) async throws -> Response {
        try await merchant.deleteProduct(
            BundleID(try context.parameter("bundle")), ProductID(try context.parameter("product")))
        return Response(status: .noContent)
    }

    @Sendable private func user(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try .json(try await merchant.report(of: UserID(try context.parameter("user"))))
    }

    @Sendable private func history(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let (currency, before, environment) = try request.historyQuery()
        return try .json(
            try await merchant.history(
                of: UserID(try context.parameter("user")), currency, before: before, in: environment))
    }

    @Sendable private func spend(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let spend = try await request.message(SpendRequest.self, upTo: MerchantLimits.request)
        let user = UserID(try context.parameter("user"))
        return .message(try await merchant.spend(spend, by: user, for: .backend))
    }

    @Sendable private func adjust(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let adjustment = try await request.message(AdjustmentRequest.self, upTo: MerchantLimits.request)
        return try .json(try await merchant.adjust(adjustment, of: UserID(try context.parameter("user"))))
    }

    @Sendable private func checkBooks(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try .json(try await merchant.checkBooks())
    }

    @Sendable private func deadWebhooks(
        _ request: Request, _ context: MerchantRequestContext
    ) async throws -> Response {
        try .json(try await merchant.deadWebhooks())
    }

    @Sendable private func replay(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try await merchant.replayWebhook(try context.parameter("event"))
        return Response(status: .noContent)
    }

    @Sendable private func testWebhook(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try .json(SentWebhook(eventID: try await merchant.sendTestEvent()), status: .accepted)
    }
}

extension Authentication {
    /// Requires that the request's API key has the route's scope.
    @discardableResult
    func require(_ route: MerchantRoute, _ request: Request) async throws -> APIKey {
        guard !isInProcess else { return APIKey(name: "console", scopes: Set(APIScope.allCases)) }
        guard case .scope(let name) = route.access, let scope = APIScope(rawValue: name) else {
            throw MerchantError(.forbidden)
        }
        return try await key(of: request, scope: scope)
    }
}
