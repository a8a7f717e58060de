import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// An app's requests about its own review. A device that runs the app has the app, so its account counts as an owner,
/// even if it never bought the app as an item.
extension DeviceController {
    /// A text of 6,000 characters, each of up to 12 bytes as JSON escapes, and the other members.
    static let largestReview = 96 << 10
    /// The reviews that a page in an app shows at first.
    private static let reviewsAtFirst = 3

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
        let review = try await write(
            stars: body.stars, title: body.title, text: body.text, about: try reviews.item(of: body.bundleID),
            by: account, owns: true)
        return try .json(ReviewResponse(review: ReviewDescription(review)))
    }

    func write(
        stars: Int, title: String?, text: String?, about item: Int64, by account: Account, owns: Bool
    ) async throws -> Review {
        let reviewer = Reviewer(account, in: store.environment)
        defer { store.changes.record(ChangeTopic(.reviews, nil)) }
        guard let words = try ReviewWords(title: title, text: text) else {
            return try await reviews.rate(item, stars: stars, by: reviewer, owns: owns)
        }
        return try await reviews.write(words, stars: stars, about: item, by: reviewer, owns: owns)
    }

    /// The ratings and newest reviews of an item, for a page in an app.
    func itemReviews(
        of item: CatalogItem, for account: Account, in storefront: Storefront
    ) async throws -> ItemReviews {
        let rating = reviews.ratings.rating(of: item, in: storefront)
        let newest = try await reviews.page(of: item.number, in: storefront, limit: Self.reviewsAtFirst)
        let own = try await reviews.review(of: item.number, by: Reviewer(account, in: store.environment))
        return ItemReviews(
            count: rating.count, average: rating.count > 0 ? rating.average : nil,
            newest: newest.map(ReviewDescription.init), own: own.map(ReviewDescription.init))
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
