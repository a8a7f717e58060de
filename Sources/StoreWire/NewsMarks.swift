/// Marks of what waits at the store for an app and an account. A mark differs from an earlier one when something came
/// or went. The answer to ``StoreRoute/news(_:since:wait:)``.
public struct NewsMarks: Codable, Sendable, Equatable {
    /// The mark of unfinished transactions that the account got from the store itself; ``nothing`` without any.
    public var transactions: String
    /// The mark of notices, the account's state, and payments that wait for approval.
    public var notices: String

    /// The mark of no transactions.
    public static let nothing = "0"
    /// The most bytes of UTF-8 in a mark.
    public static let longest = 128

    /// Creates marks.
    public init(transactions: String, notices: String) {
        self.transactions = transactions
        self.notices = notices
    }
}
