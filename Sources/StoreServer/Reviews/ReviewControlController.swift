import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store

/// Serves the operator and the developer: lists, answers and hides reviews.
struct ReviewControlController: Sendable {
    let reviews: Reviews

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.reviews(), use: list)
        on(router, .review(UUID())) { id, _ in try await reviews.review(id) }
        on(router, .answerReview(UUID())) { id, request in
            let body = try await request.decodeJSON(ControlAPI.ReviewAnswer.self, upTo: Self.largestBody)
            return try await reviews.answer(id, body.text)
        }
        on(router, .removeReviewAnswer(UUID())) { id, _ in try await reviews.removeAnswer(id) }
        on(router, .hideReview(UUID())) { id, request in
            let body = try await request.decodeJSON(ControlAPI.ReviewHiding.self, upTo: Self.largestBody)
            return try await reviews.hide(id, reason: body.reason)
        }
        on(router, .unhideReview(UUID())) { id, _ in try await reviews.unhide(id) }
    }

    /// An answer of 5,970 characters, each of up to 12 bytes as JSON escapes.
    private static let largestBody = 96 << 10

    /// Registers a route of one review, which answers with the review.
    private func on(
        _ router: Router<StoreRequestContext>, _ route: ControlRoute,
        _ handler: @escaping @Sendable (UUID, Request) async throws -> Review
    ) {
        router.on(route) { request, context in
            guard let id = context.parameter(.id).flatMap(UUID.init(uuidString:)) else {
                throw StoreError(.invalidRequest, "The id must be a UUID.")
            }
            return try Response.json(ControlAPI.Review(try await handler(id, request)))
        }
    }

    @Sendable private func list(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let item = try Self.value(request, .item, "an item's number") { Int64($0) }
        let hidden = try Self.value(request, .hidden, "true or false") { Bool($0) }
        let after = try Self.value(request, .after, "the cursor of a review") { ReviewCursor($0) }
        let limit = try Self.value(request, .limit, "a number from 1 to 200") { text in
            Int(text).flatMap { (1...ReviewLimits.page).contains($0) ? $0 : nil }
        }
        let list = try await reviews.list(item: item, onlyHidden: hidden ?? false, after: after, limit: limit ?? 50)
        return try .json(list.map(ControlAPI.Review.init))
    }

    private static func value<Value>(
        _ request: Request, _ name: ControlRoute.Parameter, _ expected: String, _ read: (String) -> Value?
    ) throws -> Value? {
        try request.query(name).map { text in
            guard let value = read(text) else {
                throw StoreError(.invalidRequest, "“\(name.rawValue)” must be \(expected).")
            }
            return value
        }
    }
}

extension ControlAPI.Review {
    init(_ review: Review) {
        self.init(
            reviewId: review.id, environment: review.environment.name, accountId: review.accountID.rawValue,
            item: review.item, storefront: review.storefront, stars: review.stars, title: review.words?.title,
            text: review.words?.text, version: review.version, createdDate: ControlAPI.text(review.createdAt),
            editedDate: ControlAPI.text(review.editedAt), answer: review.answer?.text,
            answeredDate: review.answer.map { ControlAPI.text($0.date) }, hiddenReason: review.hiding?.reason,
            hiddenDate: review.hiding.map { ControlAPI.text($0.date) }, cursor: review.cursor.description)
    }
}
