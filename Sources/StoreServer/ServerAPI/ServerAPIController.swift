import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Store
import StoreWire

/// Serves the App Store Server API under `/inApps`.
///
/// Errors are Apple's objects, except for a bad token, which is answered with the text that Apple sends, and for an
/// address that the API does not have.
struct ServerAPIController: Sendable {
    /// Python's library reads an error only with exactly this type.
    static let contentType = "application/json"
    /// The largest body, in bytes. Apple documents no limit; the largest request has 175 storefronts.
    private static let largestBody = 64 << 10

    let api: ServerAPI
    let environment: StoreEnvironment
    /// The log of refused requests.
    let requests: RequestLog

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.add(middleware: ServerAPIPaths(controller: self))
        let paths = router.group("inApps")
        addTransactionRoutes(to: paths)
        addConsumptionRoutes(to: paths)
        addExtensionRoutes(to: paths)
        addNotificationRoutes(to: paths)
        for version in [1, 2] {
            paths.get("v\(version)/history/:id") { request, context in
                try await answer(request, context, .history) {
                    try await api.history(try Self.id(context), Self.items(request), version: version, of: $0)
                }
            }
        }
        paths.get("v1/subscriptions/:id") { request, context in
            try await answer(request, context, .statuses) {
                try await api.statuses(try Self.id(context), Self.values("status", request), of: $0)
            }
        }
        paths.get("v2/refund/lookup/:id") { request, context in
            try await answer(request, context, .refunds) {
                try await api.refunds(try Self.id(context), revision: Self.values("revision", request).last, of: $0)
            }
        }
        paths.get("v1/refund/lookup/:id") { request, context in
            try await answer(request, context, .refunds) { try await api.lastRefunds(try Self.id(context), of: $0) }
        }
        // Apple's sandbox has no orders.
        guard environment == .production else { return }
        paths.get("v1/lookup/:id") { request, context in
            try await answer(request, context, .order) { try await api.order(try Self.id(context), of: $0) }
        }
    }

    private func addTransactionRoutes(to paths: RouterGroup<StoreRequestContext>) {
        paths.get("v1/transactions/:id") { request, context in
            try await answer(request, context, .transaction) { try await api.transaction(try Self.id(context), of: $0) }
        }
        paths.get("v1/transactions/appTransactions/:id") { request, context in
            try await answer(request, context) { try await api.appTransaction(try Self.id(context), of: $0) }
        }
        paths.post("v1/transactions/:id/finish") { request, context in
            try await answer(request, context) {
                try await api.finish(try Self.id(context), of: $0)
                return nil
            }
        }
        paths.put("v1/transactions/:id/appAccountToken") { request, context in
            try await answer(request, context) {
                try await api.setAppAccountToken(try Self.id(context), try await Self.body(request), of: $0)
                return nil
            }
        }
    }

    private func addConsumptionRoutes(to paths: RouterGroup<StoreRequestContext>) {
        for version in [1, 2] {
            paths.put("v\(version)/transactions/consumption/:id") { request, context in
                try await answer(request, context, .consumption, empty: .accepted) {
                    try await api.consumption(
                        try Self.id(context), try await Self.body(request), version: version, of: $0)
                    return nil
                }
            }
        }
    }

    private func addExtensionRoutes(to paths: RouterGroup<StoreRequestContext>) {
        paths.put("v1/subscriptions/extend/:id") { request, context in
            try await answer(request, context, .extend) {
                try await api.extend(try Self.id(context), try await Self.body(request), of: $0)
            }
        }
        paths.post("v1/subscriptions/extend/mass") { request, context in
            try await answer(request, context, .extendAll) {
                try await api.extendAll(try await Self.body(request), of: $0)
            }
        }
        paths.get("v1/subscriptions/extend/mass/:product/:request") { request, context in
            try await answer(request, context) {
                try await api.extensionStatus(
                    of: try Self.text("product", context), request: try Self.text("request", context), of: $0)
            }
        }
    }

    private func addNotificationRoutes(to paths: RouterGroup<StoreRequestContext>) {
        paths.post("v1/notifications/history") { request, context in
            try await answer(request, context, .notificationHistory) {
                try await api.notificationHistory(
                    try await Self.body(request), paginationToken: Self.values("paginationToken", request).last, of: $0)
            }
        }
        paths.post("v1/notifications/test") { request, context in
            try await answer(request, context, .testNotification) { try await api.requestTestNotification(of: $0) }
        }
        paths.get("v1/notifications/test/:id") { request, context in
            try await answer(request, context, .testStatus) {
                try await api.testNotificationStatus(try Self.id(context), of: $0)
            }
        }
    }

    private static func id(_ context: StoreRequestContext) throws -> String { try text("id", context) }

    private static func text(_ name: String, _ context: StoreRequestContext) throws -> String {
        let text = try context.parameters.require(name)
        return text.removingPercentEncoding ?? text
    }

    private static func body(_ request: Request) async throws -> [UInt8] {
        Array(buffer: try await request.boundedBody(upTo: largestBody))
    }

    private static func items(_ request: Request) -> [(name: String, value: String)] {
        request.uri.queryParameters.map { (name: String($0.key), value: String($0.value)) }
    }

    private static func values(_ name: String, _ request: Request) -> [String] {
        items(request).filter { $0.name == name }.map(\.value)
    }

    /// Checks the token, and answers a request of an app's server with JSON, or with nothing for nil.
    /// - Parameters:
    ///   - rateClass: what the request counts as; nil for a request that Apple does not limit.
    ///   - empty: the status of an answer with nothing.
    private func answer(
        _ request: Request, _ context: StoreRequestContext, _ rateClass: RateClass? = nil,
        empty: HTTPResponse.Status = .ok, _ body: (BundleID) async throws -> [UInt8]?
    ) async throws -> Response {
        do {
            guard let bundleID = try await api.bundleID(authorizing: request.headers[.authorization]) else {
                return refuseToken(request, context)
            }
            if let failure = try await api.orderedFailure() { return refuse(request, context, failure) }
            if let date = try await api.retryDate(counting: rateClass, of: bundleID) {
                return refuse(request, context, .rateLimitExceeded, retryAt: date)
            }
            guard let json = try await body(bundleID) else { return Response(status: empty) }
            return Self.response(.ok, json)
        } catch let error as APIError {
            return refuse(request, context, error)
        } catch let problem as HTTPProblem {
            guard problem.status == .contentTooLarge else { throw problem }
            return refuse(request, context, .badRequest)
        } catch {
            return refuse(request, context, after: error)
        }
    }

    /// Answers a request to an address that the API does not have: 404 without a body. Apple documents no error object
    /// for it.
    func answerUnknownPath(_ request: Request, _ context: StoreRequestContext) async -> Response {
        do {
            guard try await api.bundleID(authorizing: request.headers[.authorization]) != nil else {
                return refuseToken(request, context)
            }
        } catch {
            return refuse(request, context, after: error)
        }
        record(.notFound, "not_found", "There is nothing at this address.", request, context)
        return Response(status: .notFound)
    }

    private func refuseToken(_ request: Request, _ context: StoreRequestContext) -> Response {
        record(.unauthorized, "unauthenticated", "The token is not valid.", request, context)
        return Response(
            status: .unauthorized, headers: [.contentType: "text/plain", .wwwAuthenticate: "Bearer"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "Unauthenticated")))
    }

    /// Answers a request that failed for a reason of the store's own.
    private func refuse(_ request: Request, _ context: StoreRequestContext, after error: any Error) -> Response {
        context.logger.error("request failed", metadata: ["error": .string(String(describing: error))])
        let known = error as? StoreError ?? StoreError(databaseError: error)
        return refuse(request, context, known?.code == .unavailable ? .retryable : .unknown)
    }

    /// - Parameter retryAt: when the app may try again after 429, in milliseconds since 1970; nil for soon.
    private func refuse(
        _ request: Request, _ context: StoreRequestContext, _ error: APIError, retryAt: Int64? = nil
    ) -> Response {
        let status = HTTPResponse.Status(code: error.status)
        record(status, String(error.code), error.message, request, context)
        var response = Self.response(status, error.json)
        if error.status == 429 { response.headers[.retryAfter] = String(retryAt ?? api.retryDate) }
        return response
    }

    /// Adds a refused request to the operator's log and to the server's.
    private func record(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, _ request: Request,
        _ context: StoreRequestContext
    ) {
        requests.refused(
            HTTPProblem(status, code: code, message: message), method: request.method, route: context.endpointPath,
            environment)
        context.logger.info(
            "request refused",
            metadata: [
                "status": .stringConvertible(status.code), "code": .string(code),
                "route": .string(context.endpointPath ?? "none"),
            ])
    }

    private static func response(_ status: HTTPResponse.Status, _ json: [UInt8]) -> Response {
        Response(
            status: status, headers: [.contentType: contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }
}
