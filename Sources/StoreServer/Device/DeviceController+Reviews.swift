import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// An app's requests about its own review. A device that runs the app has the app, so its account counts as an owner,
/// even if it never bought the app as an item.
extension DeviceController {
    /// A text of 6,000 characters, each of up to 12 bytes as JSON escapes, and the other members.
    private static let largestReview = 96 << 10

    @Sendable func ownReview(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        guard let bundleID = request.uri.queryParameters["bundle"] else {
            throw StoreError(.invalidRequest, "The query must contain “bundle”.")
        }
        let review = try await reviews.review(
            of: try reviews.item(of: BundleID(String(bundleID))), by: Reviewer(account, in: store.environment))
        return try .json(ReviewResponse(review: review.map(ReviewDescription.init)))
    }

    @Sendable func writeReview(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(ReviewRequest.self, upTo: Self.largestReview)
        let item = try reviews.item(of: body.bundleID)
        let reviewer = Reviewer(account, in: store.environment)
        let review =
            if let words = try ReviewWords(title: body.title, text: body.text) {
                try await reviews.write(words, stars: body.stars, about: item, by: reviewer, owns: true)
            } else {
                try await reviews.rate(item, stars: body.stars, by: reviewer, owns: true)
            }
        store.changes.record(ChangeTopic(.reviews, nil))
        return try .json(ReviewResponse(review: ReviewDescription(review)))
    }
}

extension ReviewDescription {
    init(_ review: Review) {
        self.init(
            stars: review.stars, title: review.words?.title, text: review.words?.text, version: review.version,
            editedAt: review.editedAt, answer: review.answer?.text, answeredAt: review.answer?.date,
            isHidden: review.hiding != nil)
    }
}
