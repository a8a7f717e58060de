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
