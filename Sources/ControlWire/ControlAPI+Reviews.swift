import Foundation

/// The operator's and the developer's actions on reviews.
extension ControlAPI {
    /// A rating or review of an item.
    public struct Review: Codable, Sendable, Equatable {
        /// The review's id.
        public var reviewId: UUID
        /// `sandbox` or `production`.
        public var environment: String
        /// The id of the account that wrote it.
        public var accountId: String
        /// The item's number.
        public var item: Int64
        /// The storefront's country code, three letters.
        public var storefront: String
        /// One to five stars.
        public var stars: Int
        /// The title; nil for a rating alone.
        public var title: String?
        /// The text; nil for a rating alone.
        public var text: String?
        /// The app's version that was reviewed; nil for items without versions.
        public var version: String?
        /// When it was written, in ISO 8601.
        public var createdDate: String
        /// When its author last changed it, in ISO 8601.
        public var editedDate: String
        /// The developer's answer; nil without one.
        public var answer: String?
        /// When the developer answered, in ISO 8601.
        public var answeredDate: String?
        /// The reason why the operator hid it; nil while it is shown.
        public var hiddenReason: String?
        /// When the operator hid it, in ISO 8601.
        public var hiddenDate: String?
        /// The place in the list, for `after`.
        public var cursor: String

        /// Creates a review.
        public init(
            reviewId: UUID, environment: String, accountId: String, item: Int64, storefront: String, stars: Int,
            title: String?, text: String?, version: String?, createdDate: String, editedDate: String, answer: String?,
            answeredDate: String?, hiddenReason: String?, hiddenDate: String?, cursor: String
        ) {
            self.reviewId = reviewId
            self.environment = environment
            self.accountId = accountId
            self.item = item
            self.storefront = storefront
            self.stars = stars
            self.title = title
            self.text = text
            self.version = version
            self.createdDate = createdDate
            self.editedDate = editedDate
            self.answer = answer
            self.answeredDate = answeredDate
            self.hiddenReason = hiddenReason
            self.hiddenDate = hiddenDate
            self.cursor = cursor
        }
    }

    /// The developer's answer to a review.
    public struct ReviewAnswer: Codable, Sendable {
        /// The answer, at most 5,970 characters.
        public var text: String

        /// Creates an answer.
        public init(text: String) { self.text = text }
    }

    /// The operator's decision to hide a review.
    public struct ReviewHiding: Codable, Sendable {
        /// The reason, at most 500 characters.
        public var reason: String

        /// Creates a decision.
        public init(reason: String) { self.reason = reason }
    }
}
