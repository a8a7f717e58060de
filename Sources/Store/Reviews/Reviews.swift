import Database
import Foundation
import StoreWire
import Synchronization

/// The ratings and reviews of the storefront's items.
///
/// A customer has one review of an item in a storefront. Writing it again edits it. The storefront shows the reviews of
/// both environments together, so both stores share one service. The times are those of the environment's clock.
public final class Reviews: Sendable {
    /// The counts of all ratings, for search, lookup and pages.
    public let ratings: RatingTotals

    private let database: Database
    private let items: CurrentItemIndex
    private let now: @Sendable (StoreEnvironment) -> Int64
    /// Whether other processes write reviews too. The ratings of an item are then counted again after each change.
    private let isShared: Bool
    /// Runs the changes one at a time, so that ``ratings`` follows them in the order of their commits.
    private let changes = SerialTasks()
    /// Runs the counts one at a time, so that an older one never replaces a newer one.
    private let counts = SerialTasks()
    /// Whether a commit's outcome is unknown, so that ``ratings`` may differ from the database.
    private let isUncertain = Mutex(false)

    private init(
        database: Database, items: CurrentItemIndex, ratings: RatingTotals, isShared: Bool,
        now: @escaping @Sendable (StoreEnvironment) -> Int64
    ) {
        self.database = database
        self.isShared = isShared
        self.items = items
        self.ratings = ratings
        self.now = now
    }

    /// Opens the service and counts the ratings.
    /// - Parameters:
    ///   - isShared: whether other processes write reviews too and announce it.
    ///   - now: an environment's time in milliseconds since 1970.
    /// - Throws: ``DatabaseError``.
    public static func open(
        _ databases: StoreDatabases, items: CurrentItemIndex, isShared: Bool = false,
        now: @escaping @Sendable (StoreEnvironment) -> Int64
    ) async throws -> Reviews {
        let database = databases.apps
        let totals = try await database.read { try ReviewRows.totals($0) }
        return Reviews(
            database: database, items: items, ratings: RatingTotals(totals), isShared: isShared, now: now)
    }

    // MARK: The customer

    /// Rates an item. A title and text that the customer wrote before stay.
    /// - Parameters:
    ///   - number: the item's number.
    ///   - stars: 1 to 5.
    ///   - owns: whether the account owns the item. An app that asks for its own rating on a device counts as owned.
    /// - Returns: the review as it is now. An equal rating of the same version changes nothing.
    /// - Throws: ``StoreError`` `invalid_stars`, `unknown_item` when the storefront does not show the item, or
    ///   `not_owned`; ``DatabaseError``, `SQLiteError`.
    @discardableResult
    public func rate(_ number: Int64, stars: Int, by reviewer: Reviewer, owns: Bool) async throws -> Review {
        try await put(number, stars, by: reviewer, owns: owns) { _ in }
    }

    /// Writes a review, or edits the one that the customer wrote before. The developer's answer stays.
    /// - Parameters:
    ///   - number: the item's number.
    ///   - stars: 1 to 5.
    ///   - words: the title and text; nil leaves a rating alone and removes an earlier title and text.
    ///   - owns: whether the account owns the item. An app that asks for its own rating on a device counts as owned.
    /// - Returns: the review as it is now. Writing the same again changes nothing.
    /// - Throws: ``StoreError`` `invalid_stars`, `unknown_item` when the storefront does not show the item, or
    ///   `not_owned`; ``DatabaseError``, `SQLiteError`.
    @discardableResult
    public func write(
        _ words: ReviewWords?, stars: Int, about number: Int64, by reviewer: Reviewer, owns: Bool
    ) async throws -> Review {
        try await put(number, stars, by: reviewer, owns: owns) { $0.words = words }
    }

    /// Removes the customer's review with the developer's answer. Without a review it has no effect.
    /// - Throws: ``StoreError`` `wrong_state` when the operator has hidden the review: it must stay, so that the
    ///   customer cannot write it anew. ``DatabaseError``.
    public func remove(_ number: Int64, by reviewer: Reviewer) async throws {
        _ = try await change { connection in
            guard let before = try ReviewRows.find(number, reviewer, connection) else { return (nil, nil) }
            guard before.hiding == nil else {
                throw StoreError(.wrongState, "The store has hidden this review. It can be edited but not removed.")
            }
            try ReviewRows.remove(before.id, connection)
            return (before, nil)
        }
    }

    /// The customer's own review of an item, also when it is hidden; nil without one.
    /// - Throws: ``DatabaseError``.
    public func review(of number: Int64, by reviewer: Reviewer) async throws -> Review? {
        try await database.read { try ReviewRows.find(number, reviewer, $0) }
    }

    /// The number of an app's item, for the app's own request on a device.
    /// - Throws: ``StoreError`` `unknown_item` when the app has no item; `SQLiteError`.
    public func item(of app: BundleID) throws -> Int64 {
        guard let item = try items.value.item(bundleID: app) else {
            throw StoreError(.unknownItem, "The catalog has no item of the app \(app.rawValue.prefix(255)).")
        }
        return item.number
    }

    // MARK: Pages

    /// The reviews that an item's page shows: those with a title and text that are not hidden, the last changed first.
    /// - Parameters:
    ///   - cursor: the ``Review/cursor`` of the last review of the page before; nil for the first page.
    ///   - limit: the most reviews, 1 to 200.
    /// - Throws: ``DatabaseError``.
    public func page(
        of number: Int64, in storefront: Storefront, after cursor: ReviewCursor? = nil, limit: Int
    ) async throws -> [Review] {
        let limit = min(max(limit, 1), ReviewLimits.page)
        return try await database.read {
            try ReviewRows.shown(number, storefront, after: cursor, limit: limit, $0)
        }
    }

    // MARK: The developer and the operator

    /// Lists reviews, ratings alone and hidden ones included, the last changed first.
    /// - Parameters:
    ///   - item: the number of the only item to list; nil for all items.
    ///   - onlyHidden: whether to list only hidden ones.
    ///   - cursor: the ``Review/cursor`` of the last review of the list before; nil to begin.
    ///   - limit: the most reviews, 1 to 200.
    /// - Throws: ``DatabaseError``.
    public func list(
        item: Int64? = nil, onlyHidden: Bool = false, after cursor: ReviewCursor? = nil, limit: Int
    ) async throws -> [Review] {
        let limit = min(max(limit, 1), ReviewLimits.page)
        return try await database.read {
            try ReviewRows.all(item: item, onlyHidden: onlyHidden, after: cursor, limit: limit, $0)
        }
    }

    /// The review with an identifier.
    /// - Throws: ``StoreError`` `unknown_review`; ``DatabaseError``.
    public func review(_ id: UUID) async throws -> Review {
        try await database.read { try Self.existing(id, $0) }
    }

    /// Answers a review as the developer, or changes the answer. A review has one answer.
    /// - Parameter text: at most ``ReviewLimits/answer`` characters.
    /// - Throws: ``StoreError`` `unknown_review`, `invalid_request` when the text is empty, or `review_too_long`;
    ///   ``DatabaseError``.
    @discardableResult
    public func answer(_ id: UUID, _ text: String) async throws -> Review {
        let text = try ReviewLimits.required(text, "answer", ReviewLimits.answer)
        return try await change(id) { review, now in
            // The clock may have gone back since the customer's edit, and the answer is to that edit.
            review.answer = Review.Answer(text: text, date: max(now, review.editedAt))
        }
    }

    /// Removes the developer's answer. Without one it has no effect.
    /// - Throws: ``StoreError`` `unknown_review`; ``DatabaseError``.
    @discardableResult
    public func removeAnswer(_ id: UUID) async throws -> Review {
        try await change(id) { review, _ in review.answer = nil }
    }

    /// Hides a review as the operator: pages do not show it and its stars do not count. Its author still sees it.
    /// - Parameter reason: at most ``ReviewLimits/reason`` characters.
    /// - Throws: ``StoreError`` `unknown_review`, `invalid_request` when the reason is empty, or `review_too_long`;
    ///   ``DatabaseError``.
    @discardableResult
    public func hide(_ id: UUID, reason: String) async throws -> Review {
        let reason = try ReviewLimits.required(reason, "reason", ReviewLimits.reason)
        return try await change(id) { review, now in
            review.hiding = Review.Hiding(reason: reason, date: review.hiding?.date ?? now)
        }
    }

    /// Shows and counts a hidden review again. It has no effect on a review that is not hidden.
    /// - Throws: ``StoreError`` `unknown_review`; ``DatabaseError``.
    @discardableResult
    public func unhide(_ id: UUID) async throws -> Review {
        try await change(id) { review, _ in review.hiding = nil }
    }

    // MARK: Changes

    private func put(
        _ number: Int64, _ stars: Int, by reviewer: Reviewer, owns: Bool,
        _ write: @escaping @Sendable (inout Review) -> Void
    ) async throws -> Review {
        guard (1...5).contains(stars) else { throw StoreError(.invalidStars, "A rating has 1 to 5 stars.") }
        guard let item = try items.value.item(number), let storefront = Storefront.named(reviewer.storefront),
            item.availability.includes(storefront)
        else {
            throw StoreError(
                .unknownItem, "The storefront \(reviewer.storefront) has no item with the number \(number).")
        }
        guard owns else { throw StoreError(.notOwned, "Only customers who own the item can review it.") }
        let (id, now) = (UUID(), now(reviewer.environment))
        let version = item.versions.first?.version
        let review = try await change { connection in
            if let before = try ReviewRows.find(number, reviewer, connection) {
                var after = before
                (after.stars, after.version) = (stars, version)
                write(&after)
                guard after != before else { return (before, before) }
                // The time tells that the change is newer than the answer, even if the clock stands still.
                after.editedAt = max(now, before.answer.map { $0.date + 1 } ?? now)
                try ReviewRows.update(after, connection)
                return (before, after)
            }
            var new = Review(
                id: id, environment: reviewer.environment, accountID: reviewer.accountID, item: number,
                storefront: reviewer.storefront, stars: stars, version: version, createdAt: now, editedAt: now)
            write(&new)
            try ReviewRows.insert(new, connection)
            return (nil, new)
        }
        guard let review else { throw StoreError(.internalError, "The review was not recorded.") }
        return review
    }

    /// Changes an existing review.
    private func change(
        _ id: UUID, _ body: @escaping @Sendable (inout Review, _ now: Int64) -> Void
    ) async throws -> Review {
        let review = try await change { [now] connection in
            let before = try Self.existing(id, connection)
            var after = before
            body(&after, now(before.environment))
            if after != before { try ReviewRows.update(after, connection) }
            return (before, after)
        }
        guard let review else { throw Self.unknown(id) }
        return review
    }

    /// Commits a change of one review, and lets the ratings follow it. The body returns the review before and after.
    private func change(
        _ body: @escaping @Sendable (Connection) throws -> (before: Review?, after: Review?)
    ) async throws -> Review? {
        guard !isShared else { return try await changeShared(body) }
        return try await changes.run { [self] in
            do {
                if isUncertain.withLock({ $0 }) { try await recount() }
                let change = try await database.write(body)
                ratings.follow(from: change.before, to: change.after)
                return change.after
            } catch let error as DatabaseError {
                // The commit may have succeeded.
                isUncertain.withLock { $0 = true }
                try? await recount()
                throw error
            }
        }
    }

    /// Commits a change of one review, announces it, and counts the ratings of its item.
    private func changeShared(
        _ body: @escaping @Sendable (Connection) throws -> (before: Review?, after: Review?)
    ) async throws -> Review? {
        let change = try await database.write { connection -> (before: Review?, after: Review?) in
            let change = try body(connection)
            if change.before != change.after, let item = (change.after ?? change.before)?.item {
                try connection.announce("reviews", String(item))
            }
            return change
        }
        // The process also hears its own announcement, so a failure here is not the last attempt.
        if change.before != change.after, let item = (change.after ?? change.before)?.item { try? await recount(item) }
        return change.after
    }

    /// Counts the ratings of an item again, which another process may have changed.
    /// - Parameter item: the item's number; nil for all items.
    /// - Throws: ``DatabaseError``.
    func recount(_ item: Int64? = nil) async throws {
        try await counts.run { [self] in
            let totals = try await database.read { try ReviewRows.totals(of: item, $0) }
            if let item { ratings.replace(item, with: totals) } else { ratings.replace(with: totals) }
        }
        if item == nil { isUncertain.withLock { $0 = false } }
    }

    private static func existing(_ id: UUID, _ connection: Connection) throws -> Review {
        guard let review = try ReviewRows.find(id, connection) else { throw unknown(id) }
        return review
    }

    private static func unknown(_ id: UUID) -> StoreError {
        StoreError(.unknownReview, "There is no review with the id \(id.uuidString).")
    }
}
