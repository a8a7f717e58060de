import Foundation
import StoreWire

/// An account's rating of an item in one storefront, with a title and a text if the customer wrote them.
public struct Review: Sendable, Equatable, Identifiable {
    /// The developer's answer below a review.
    public struct Answer: Sendable, Equatable {
        /// The answer, as plain text with line feeds.
        public var text: String
        /// When the developer wrote or last changed the answer, in milliseconds since 1970.
        public var date: Int64
    }

    /// The operator's decision to hide a review.
    public struct Hiding: Sendable, Equatable {
        /// The reason, for the operator and the developer.
        public var reason: String
        /// When the operator hid the review, in milliseconds since 1970.
        public var date: Int64
    }

    /// The review's identifier, unique in both environments.
    public let id: UUID
    /// The environment of the account.
    public let environment: StoreEnvironment
    /// The account that wrote the review.
    public let accountID: AccountID
    /// The number of the item.
    public let item: Int64
    /// The storefront's country code, ISO 3166-1 alpha-3.
    public let storefront: String
    /// One to five stars.
    public var stars: Int
    /// The title and text; nil for a rating alone.
    public var words: ReviewWords?
    /// The app's current version when the customer wrote or last changed the review; nil for items without versions.
    public var version: String?
    /// When the customer wrote the review, in milliseconds since 1970 by the environment's clock.
    public let createdAt: Int64
    /// When the customer last changed the review; ``createdAt`` if never.
    public var editedAt: Int64
    /// The developer's answer; nil without one.
    public var answer: Answer?
    /// The operator's decision to hide the review; nil while it is shown and counted.
    public var hiding: Hiding?

    /// Whether the customer changed the review after the developer answered it.
    public var isChangedSinceAnswer: Bool { answer.map { editedAt > $0.date } ?? false }

    /// The review's place in lists that begin with the newest.
    public var cursor: ReviewCursor { ReviewCursor(editedAt: editedAt, id: id) }
}

/// The title and text of a review, without control characters.
public struct ReviewWords: Sendable, Equatable {
    /// The title, in one line.
    public let title: String
    /// The text, as plain text with line feeds. It may be in any script and direction, and contain anything that looks
    /// like markup: escape it for the place where it is shown.
    public let text: String

    /// Makes a review's words from a customer's input: removes control characters other than line feeds, and white
    /// space at both ends. Both empty, or both nil, are nil.
    /// - Throws: ``StoreError`` `invalid_request` when only one of them is there, or `review_too_long`.
    public init?(title: String?, text: String?) throws {
        let title = ReviewLimits.cleaned(title ?? "").replacing("\n", with: " ")
        let text = ReviewLimits.cleaned(text ?? "")
        if title.isEmpty, text.isEmpty { return nil }
        guard !title.isEmpty, !text.isEmpty else {
            throw StoreError(.invalidRequest, "A review needs both a title and a text. A rating has neither.")
        }
        try ReviewLimits.check(title, "title", ReviewLimits.title)
        try ReviewLimits.check(text, "text", ReviewLimits.text)
        (self.title, self.text) = (title, text)
    }

    /// Words that were checked when they were stored.
    init(storedTitle: String, text: String) { (title, self.text) = (storedTitle, text) }
}

/// The largest lengths of texts in reviews. They count Unicode scalars, because a character can have any number of
/// them.
public enum ReviewLimits {
    /// The longest title.
    public static let title = 100
    /// The longest text.
    public static let text = 6_000
    /// The longest answer, as in App Store Connect.
    public static let answer = 5_970
    /// The longest reason for hiding a review.
    public static let reason = 500
    /// The most reviews in one list.
    public static let page = 200

    static func cleaned(_ text: String) -> String {
        let scalars = text.unicodeScalars.filter { $0 == "\n" || $0.properties.generalCategory != .control }
        return String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    static func check(_ text: String, _ name: String, _ limit: Int) throws(StoreError) {
        guard text.unicodeScalars.count <= limit else {
            throw StoreError(
                .reviewTooLong,
                "The \(name) has \(text.unicodeScalars.count) characters. It can have at most \(limit).")
        }
    }

    /// A text that must not be empty, cleaned and checked.
    static func required(_ text: String, _ name: String, _ limit: Int) throws(StoreError) -> String {
        let text = cleaned(text)
        guard !text.isEmpty else { throw StoreError(.invalidRequest, "The \(name) is empty.") }
        try check(text, name, limit)
        return text
    }
}

/// The customer who rates, writes or removes a review.
public struct Reviewer: Sendable, Equatable {
    /// The environment of the account.
    public var environment: StoreEnvironment
    /// The account.
    public var accountID: AccountID
    /// The account's storefront, an ISO 3166-1 alpha-3 code. The review belongs to it.
    public var storefront: String

    /// Creates a reviewer from an account of an environment.
    public init(_ account: Account, in environment: StoreEnvironment) {
        self.environment = environment
        accountID = account.accountID
        storefront = account.storefront
    }
}

/// A place in a list of reviews that begins with the newest. Its text, such as
/// `1770091506789-8C5B3A5E-4F0C-4A6B-9B44-0E52F6C2A7D1`, is for addresses.
public struct ReviewCursor: Sendable, Hashable, LosslessStringConvertible {
    /// When the review at this place was last changed, in milliseconds since 1970.
    public var editedAt: Int64
    /// The review at this place.
    public var id: UUID

    /// Creates a cursor.
    public init(editedAt: Int64, id: UUID) { (self.editedAt, self.id) = (editedAt, id) }

    /// Reads a cursor's text; nil for any other text.
    public init?(_ description: String) {
        let parts = description.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let editedAt = Int64(parts[0]), let id = UUID(uuidString: String(parts[1])) else {
            return nil
        }
        self.init(editedAt: editedAt, id: id)
    }

    /// The cursor's text.
    public var description: String { "\(editedAt)-\(id.uuidString)" }
}
