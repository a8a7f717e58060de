import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The device's requests about notices, promotions, price increases and codes.
extension DeviceController {
    @Sendable func notices(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let query = request.uri.queryParameters
        guard let bundleID = query["bundle"] else {
            throw StoreError(.invalidRequest, "The query must contain “bundle”.")
        }
        let after = try query["after"].map { text in
            guard let number = Int64(text), number >= 0 else {
                throw StoreError(.invalidRequest, "“after” must be the “cursor” of an earlier answer.")
            }
            return number
        }
        let languages = (query["languages"] ?? "").split(separator: ",").prefix(32).map { String($0) }
        return try .json(
            try await store.notices(
                for: account, in: BundleID(String(bundleID)), after: after, languages: languages))
    }

    /// Answers with the marks of what waits for the app. The request ends early when the client leaves.
    @Sendable func waitForNews(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let query = request.uri.queryParameters
        guard let bundleID = query["bundle"] else {
            throw StoreError(.invalidRequest, "The query must contain “bundle”.")
        }
        let app = BundleID(String(bundleID))
        var since: NewsMarks?
        if let transactions = query["transactions"], let notices = query["notices"] {
            guard transactions.utf8.count <= NewsMarks.longest, notices.utf8.count <= NewsMarks.longest else {
                throw StoreError(.invalidRequest, "“transactions” and “notices” must be those of an earlier answer.")
            }
            since = NewsMarks(transactions: String(transactions), notices: String(notices))
        }
        let wait = query["wait"].flatMap { Int($0) } ?? 0
        let limit = Duration.seconds(min(max(wait, 0), NewsBoard.longestWait))
        let start = ContinuousClock.now
        let marks = try await context.whileClientStays { [news, since] in
            try await news.marks(of: account, in: app, since: since, waiting: limit)
        }
        let response = try Response.json(marks)
        // The request was turned away or lost its place. Free its connection until the app asks again.
        let isCut = since == marks && start.duration(to: .now) < limit
        return isCut ? response.closingConnection() : response
    }

    @Sendable func takePromotion(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(PromotionRequest.self, upTo: 16 << 10)
        try await store.takePromotion(body.promotionID, of: account)
        return Response(status: .noContent)
    }

    @Sendable func answerPriceIncrease(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(PriceConsentRequest.self, upTo: 16 << 10)
        try await store.answerPriceIncrease(body, of: account)
        return Response(status: .noContent)
    }

    @Sendable func redeem(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(CodeRedemptionRequest.self, upTo: 16 << 10)
        try codes.take(account.accountID, at: store.clock.realMilliseconds)
        do {
            let transaction = try await store.redeem(body, by: account)
            codes.giveBack(account.accountID)
            return .message(transaction)
        } catch {
            // Only a code that does not exist counts.
            if (error as? StoreError)?.code != .unknownCode { codes.giveBack(account.accountID) }
            throw error
        }
    }
}
