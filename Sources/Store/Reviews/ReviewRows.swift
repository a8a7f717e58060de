import Database
import Foundation
import StoreWire

/// The queries of the table `reviews`.
enum ReviewRows {
    private static let columns = """
        review_id, environment, account_id, item_number, storefront, stars, title, body, version, created_at, edited_at,
        answer, answered_at, hidden_reason, hidden_at
        """

    static func find(_ item: Int64, _ reviewer: Reviewer, _ connection: Connection) throws -> Review? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM reviews
            WHERE environment = $1 AND account_id = $2 AND item_number = $3 AND storefront = $4
            """, [reviewer.environment.rawValue, reviewer.accountID.rawValue, item, reviewer.storefront]
        ).map(Review.init)
    }

    static func find(_ id: UUID, _ connection: Connection) throws -> Review? {
        try connection.queryOne("SELECT \(columns) FROM reviews WHERE review_id = $1", [id.uuidString]).map(
            Review.init)
    }

    /// The reviews with words that are not hidden, newest first.
    static func shown(
        _ item: Int64, _ storefront: Storefront, after cursor: ReviewCursor?, limit: Int, _ connection: Connection
    ) throws -> [Review] {
        try list(
            ["hidden_at IS NULL", "title IS NOT NULL"],
            [("item_number =", item), ("storefront =", storefront.countryCode)], after: cursor, limit: limit,
            connection)
    }

    /// All reviews, also hidden ones and ratings alone, newest first.
    static func all(
        item: Int64?, onlyHidden: Bool, after cursor: ReviewCursor?, limit: Int, _ connection: Connection
    ) throws -> [Review] {
        try list(
            onlyHidden ? ["hidden_at IS NOT NULL"] : [], item.map { [("item_number =", $0)] } ?? [], after: cursor,
            limit: limit, connection)
    }

    private static func list(
        _ conditions: [String], _ comparisons: [(String, any SQLConvertible)], after cursor: ReviewCursor?, limit: Int,
        _ connection: Connection
    ) throws -> [Review] {
        var arguments: [any SQLConvertible] = []
        func placeholder(_ argument: any SQLConvertible) -> String {
            arguments.append(argument)
            return "$\(arguments.count)"
        }
        var conditions = conditions + comparisons.map { "\($0.0) \(placeholder($0.1))" }
        if let cursor {
            conditions.append(
                "(edited_at, review_id) < (\(placeholder(cursor.editedAt)), \(placeholder(cursor.id.uuidString)))")
        }
        let filter = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        return try connection.query(
            """
            SELECT \(columns) FROM reviews \(filter)
            ORDER BY edited_at DESC, review_id DESC LIMIT \(placeholder(limit))
            """, arguments
        ).map(Review.init)
    }

    static func insert(_ review: Review, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO reviews (\(columns))
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
            """,
            [
                review.id.uuidString, review.environment.rawValue, review.accountID.rawValue, review.item,
                review.storefront, review.stars, review.words?.title, review.words?.text, review.version,
                review.createdAt, review.editedAt, review.answer?.text, review.answer?.date, review.hiding?.reason,
                review.hiding?.date,
            ])
    }

    static func update(_ review: Review, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE reviews SET stars = $2, title = $3, body = $4, version = $5, edited_at = $6, answer = $7,
                answered_at = $8, hidden_reason = $9, hidden_at = $10
            WHERE review_id = $1
            """,
            [
                review.id.uuidString, review.stars, review.words?.title, review.words?.text, review.version,
                review.editedAt, review.answer?.text, review.answer?.date, review.hiding?.reason, review.hiding?.date,
            ])
    }

    static func remove(_ id: UUID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM reviews WHERE review_id = $1", [id.uuidString])
    }

    /// The counts of the ratings that are not hidden.
    /// - Parameter item: the number of the only item to count; nil for all items.
    static func totals(
        of item: Int64? = nil, _ connection: Connection
    ) throws -> [RatingTotals.Place: RatingTotals.Histograms] {
        var totals: [RatingTotals.Place: RatingTotals.Histograms] = [:]
        let arguments: [any SQLConvertible] = item.map { [$0] } ?? []
        for row in try connection.query(
            """
            SELECT item_number, storefront, version, stars, COUNT(*) FROM reviews
            WHERE hidden_at IS NULL \(item == nil ? "" : "AND item_number = $1")
            GROUP BY item_number, storefront, version, stars
            """, arguments)
        {
            let place = RatingTotals.Place(item: try row.int64(0), storefront: try row.string(1))
            let version = try row.optionalString(2)
            let (stars, count) = (try row.int(3), try row.int(4))
            guard (1...5).contains(stars) else { continue }
            totals[place, default: [:]][version, default: ItemRating.none.histogram][stars - 1] = count
        }
        return totals
    }
}

extension Review {
    fileprivate init(_ row: Row) throws {
        guard let id = UUID(uuidString: try row.string(0)), let environment = StoreEnvironment(name: try row.string(1))
        else { throw StoreError(.internalError, "The table of reviews has a row that this program cannot read.") }
        self.init(
            id: id, environment: environment, accountID: AccountID(rawValue: try row.string(2)),
            item: try row.int64(3), storefront: try row.string(4), stars: try row.int(5),
            version: try row.optionalString(8),
            createdAt: try row.int64(9), editedAt: try row.int64(10))
        if let title = try row.optionalString(6), let text = try row.optionalString(7) {
            words = ReviewWords(storedTitle: title, text: text)
        }
        if let text = try row.optionalString(11), let date = try row.optionalInt64(12) {
            answer = Answer(text: text, date: date)
        }
        if let reason = try row.optionalString(13), let date = try row.optionalInt64(14) {
            hiding = Hiding(reason: reason, date: date)
        }
    }
}
