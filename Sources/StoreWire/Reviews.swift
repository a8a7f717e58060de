import Foundation

/// Rates or reviews the app that sends it. Sent to ``StoreRoute/writeReview``. Sending the same again changes nothing.
public struct ReviewRequest: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// One to five stars.
    public var stars: Int
    /// The title, at most 100 characters; nil for a rating alone, which keeps the title and text of an earlier review.
    public var title: String?
    /// The text, at most 6,000 characters; nil exactly when ``title`` is nil.
    public var text: String?

    /// Creates a request.
    public init(bundleID: BundleID, stars: Int, title: String? = nil, text: String? = nil) {
        self.bundleID = bundleID
        self.stars = stars
        self.title = title
        self.text = text
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case stars, title, text
    }
}

/// Rates or reviews the item of a visit, for a customer who owns it. Sent to ``StoreRoute/reviewVisit(_:)``. Sending
/// the same again changes nothing.
public struct VisitReviewRequest: Codable, Sendable, Equatable {
    /// One to five stars.
    public var stars: Int
    /// The title and text as in ``ReviewRequest``; nil for a rating alone, which keeps those of an earlier review.
    public var title: String?
    /// The text; nil exactly when ``title`` is nil.
    public var text: String?

    /// Creates a request.
    public init(stars: Int, title: String? = nil, text: String? = nil) {
        self.stars = stars
        self.title = title
        self.text = text
    }
}

/// The ratings of an item in a storefront, and its newest reviews.
public struct ItemReviews: Codable, Sendable, Equatable {
    /// The number of ratings.
    public var count: Int
    /// The average of the ratings, 1 to 5; nil without ratings.
    public var average: Double?
    /// The newest reviews with a title and text, newest first.
    public var newest: [ReviewDescription]
    /// The account's own review; nil when the account has written none.
    public var own: ReviewDescription?

    /// Creates the ratings of an item.
    public init(count: Int, average: Double?, newest: [ReviewDescription], own: ReviewDescription?) {
        self.count = count
        self.average = average
        self.newest = newest
        self.own = own
    }
}

/// The account's own review of an app in its storefront.
public struct ReviewResponse: Codable, Sendable, Equatable {
    /// The review; nil when the account has written none.
    public var review: ReviewDescription?

    /// Creates a response.
    public init(review: ReviewDescription?) { self.review = review }
}

/// A customer's review.
public struct ReviewDescription: Codable, Sendable, Equatable {
    /// One to five stars.
    public var stars: Int
    /// The title; nil for a rating alone.
    public var title: String?
    /// The text; nil for a rating alone.
    public var text: String?
    /// The app's version that the customer reviewed.
    public var version: String?
    /// When the customer last changed the review, in milliseconds since 1970.
    public var editedAt: Int64
    /// The developer's answer; nil without one.
    public var answer: String?
    /// When the developer answered, in milliseconds since 1970.
    public var answeredAt: Int64?
    /// Whether the store has hidden the review from everyone else.
    public var isHidden: Bool

    /// Creates a review.
    public init(
        stars: Int, title: String?, text: String?, version: String?, editedAt: Int64, answer: String?,
        answeredAt: Int64?, isHidden: Bool
    ) {
        self.stars = stars
        self.title = title
        self.text = text
        self.version = version
        self.editedAt = editedAt
        self.answer = answer
        self.answeredAt = answeredAt
        self.isHidden = isHidden
    }

    private enum CodingKeys: String, CodingKey {
        case stars, title, text, version, editedAt, answer, answeredAt
        case isHidden = "hidden"
    }
}
