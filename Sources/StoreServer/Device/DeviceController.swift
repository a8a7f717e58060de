import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Store
import StoreWire

/// Serves the devices of one store. Each handler authenticates, decodes, calls one function and encodes.
struct DeviceController: Sendable {
    /// The largest JSON body of a purchase, in bytes.
    static let largestPurchase = 16 << 10

    let store: Store
    let reviews: Reviews
    let visits: VisitDesk
    /// The rate limit on sign-ins; nil for no limit.
    var signIns: SignInLimits?
    /// Whether the server is behind a proxy that adds the client's address to `X-Forwarded-For`.
    var isBehindProxy = false
    /// The rate limit on codes that are not valid.
    var codes = CodeLimit()
    /// Counts the purchases; nil when nobody counts.
    var metrics: StoreMetrics?
    /// The requests that wait for news.
    let news: NewsBoard

    /// - Parameter connections: the most connections of the port, of which requests that wait for news take half.
    init(
        store: Store, reviews: Reviews, visits: VisitDesk, signIns: SignInLimits? = nil, isBehindProxy: Bool = false,
        metrics: StoreMetrics? = nil, connections: Int = ServerLimits.Values().connections
    ) {
        self.store = store
        self.reviews = reviews
        self.visits = visits
        self.signIns = signIns
        self.isBehindProxy = isBehindProxy
        self.metrics = metrics
        news = NewsBoard(store, most: connections / 2)
    }

    func addRoutes(to router: Router<StoreRequestContext>) {
        let routes: [(StoreRoute, @Sendable (Request, StoreRequestContext) async throws -> Response)] = [
            (.signIn, signIn), (.signOut, signOut), (.account, account), (.products, products), (.purchases, purchase),
            (.unfinishedTransactions("", after: nil), unfinished), (.arrivedTransactions("", after: nil), arrived),
            (.news("", since: nil, wait: 0), waitForNews), (.finish(.any), finish), (.restores, restore),
            (.appReceipt, appReceipt), (.transactionReceipt(.any), transactionReceipt),
            (.notices("", after: nil, languages: []), notices), (.promotions, takePromotion),
            (.priceConsents, answerPriceIncrease), (.redemptions, redeem), (.content(.any), content),
            (.refundable(.any, in: ""), refundable), (.requestRefund(.any), requestRefund),
            (.review(""), ownReview), (.writeReview, writeReview),
            (.openVisit, openVisit), (.visit("", wait: nil), visit), (.reviewVisit(""), reviewVisit),
            (.library(after: nil), library),
            (.buyItem, buyItem), (.itemFile(0), itemFile),
            (.subscriptions(nil, after: nil), subscriptions), (.setRenewal(.any), setRenewal),
            (.changePlan(.any), changePlan), (.openSubscriptions, openSubscriptions),
        ]
        for (route, handler) in routes {
            router.on(RouterPath(route.template), method: HTTPRequest.Method(route.method), use: handler)
        }
    }

    // MARK: The account

    @Sendable private func signIn(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.signIn, request)
        let body = try await request.decodeJSON(SignInRequest.self, upTo: 16 << 10)
        let address = NetworkAddress(
            of: context.channel.remoteAddress, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy)
        try signIns?.take(body.email, from: address, at: store.clock.realMilliseconds)
        // Checking a password is expensive, so stop when the client has left.
        do {
            let (token, account) = try await context.whileClientStays { [store] in
                try await store.accounts.signIn(body, from: .client(address.text), at: store.clock.milliseconds)
            }
            signIns?.giveBack(body.email, from: address)
            return try .json(SignInResponse(token: token, account: store.description(of: account)))
        } catch let error as StoreError where error.code == .unavailable {
            // The store tried no password.
            signIns?.giveBack(body.email, from: address)
            throw error
        }
    }

    @Sendable private func signOut(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        if let token = request.bearerToken { try await store.accounts.signOut(token: String(token)) }
        return Response(status: .noContent)
    }

    @Sendable private func account(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try .json(store.description(of: try await signedIn(request)))
    }

    // MARK: Products and purchases

    @Sendable private func products(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.products, request)
        let body = try await request.decodeJSON(ProductsRequest.self, upTo: StoreLimits.deviceRequest)
        // Anyone may read prices, and the account only decides the storefront. Answer a stale token too.
        var account: Account?
        if request.bearerToken != nil {
            do { account = try await signedIn(request) } catch is StoreError {}
        }
        var response = try await store.products(body, for: account)
        if body.isForSheet == true, let account {
            response.customer = try await store.customerState(body, for: account)
        }
        return try .json(response)
    }

    @Sendable private func purchase(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.purchases, request)
        let account = try await signedIn(request)
        let purchase = try await request.message(PurchaseRequest.self, upTo: Self.largestPurchase)
        let response = try await store.purchase(purchase, by: account)
        metrics?.purchased(response.state, in: store.environment)
        return .message(response)
    }

    // MARK: Transactions

    @Sendable private func unfinished(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let (bundleID, after) = try Self.page(request)
        return .message(try await store.unfinishedTransactions(of: account, in: bundleID, after: after))
    }

    @Sendable private func arrived(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let (bundleID, after) = try Self.page(request)
        return .message(try await store.arrivedTransactions(of: account, in: bundleID, after: after))
    }

    /// The app and the place in its list of transactions that a query names.
    private static func page(_ request: Request) throws -> (bundleID: BundleID, after: TransactionID?) {
        let query = request.uri.queryParameters
        guard let bundleID = query["bundle"] else {
            throw HTTPProblem(
                .badRequest, code: WireError.Code.invalidRequest.rawValue, message: "The query must contain “bundle”.")
        }
        return (BundleID(String(bundleID)), try query["after"].map { try Self.transactionID($0) })
    }

    @Sendable private func finish(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.finish, request)
        let account = try await signedIn(request)
        try await store.finish(try Self.transactionID(context), of: account)
        return Response(status: .noContent)
    }

    @Sendable private func restore(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.restores, request)
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(RestoreRequest.self, upTo: 16 << 10)
        return .message(try await store.restore(body, for: account))
    }

    @Sendable private func content(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let fault = try await store.faults.next(.content, account: store.knownEmail(token: request.bearerToken))
        if let fault, fault.wrongContent == nil { throw Self.problem(fault) }
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(ContentRequest.self, upTo: 16 << 10)
        var grant = try await store.contentGrant(try Self.transactionID(context), body, for: account)
        fault?.wrongContent?.falsify(&grant)
        return try .json(grant)
    }

    // MARK: Receipts

    @Sendable private func appReceipt(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await fail(.receipts, request)
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(AppReceiptRequest.self, upTo: 16 << 10)
        let receipt = try await store.appReceipt(body, for: account)
        do { try await store.noteVersion(in: body, of: account) } catch {
            // The receipt is as good without it.
            context.logger.warning("an app's version is not remembered", metadata: ["error": "\(error)"])
        }
        return Self.bytes(receipt)
    }

    @Sendable private func transactionReceipt(_ request: Request, _ context: StoreRequestContext) async throws
        -> Response
    {
        try await fail(.receipts, request)
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(TransactionReceiptRequest.self, upTo: 16 << 10)
        return Self.bytes(try await store.transactionReceipt(try Self.transactionID(context), body, for: account))
    }

    // MARK: Helpers

    func signedIn(_ request: Request) async throws -> Account {
        guard let token = request.bearerToken else { throw StoreError(.notSignedIn, "Sign in first.") }
        return try await store.accounts.account(token: token)
    }

    func fail(_ operation: Faults.Operation, _ request: Request) async throws {
        let fault = try await store.faults.next(operation, account: store.knownEmail(token: request.bearerToken))
        if let fault { throw Self.problem(fault) }
    }

    /// The response to a request that an ordered fault fails.
    static func problem(_ fault: Faults.Fault) -> HTTPProblem {
        if let error = fault.error {
            return HTTPProblem(
                .unprocessableContent, code: WireError.Code.ordered.rawValue,
                message: "The operator ordered this failure.",
                cause: HTTPProblem.Cause(domain: error.domain, code: error.code))
        }
        return HTTPProblem(
            HTTPResponse.Status(code: fault.status), code: WireError.Code.unavailable.rawValue,
            message: "The operator ordered this failure.")
    }

    static func transactionID(_ context: StoreRequestContext) throws -> TransactionID {
        try transactionID(context.parameters.get("id") ?? "")
    }

    static func transactionID(_ text: some StringProtocol) throws -> TransactionID {
        guard let id = TransactionID(text) else {
            throw HTTPProblem(
                .badRequest, code: WireError.Code.invalidRequest.rawValue,
                message: "The request must name a valid transaction id.")
        }
        return id
    }

    private static func bytes(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/octet-stream"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension TransactionID {
    /// A placeholder for any id, where only a route's template is needed.
    fileprivate static var any: TransactionID { TransactionID(rawValue: 1) }
}

extension HTTPRequest.Method {
    init(_ method: RouteMethod) {
        self =
            switch method {
            case .get: .get
            case .post: .post
            case .put: .put
            case .patch: .patch
            case .delete: .delete
            }
    }
}
