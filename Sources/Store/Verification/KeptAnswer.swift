import Database
import StoreReceipts
import StoreWire

/// A customer's part of the ledger, for the answers of `verifyReceipt`.
struct CustomerLedger: Sendable {
    let account: Account
    let transactions: [Transaction]
    /// The account's own subscriptions, and those that members of the family share with it.
    let subscriptions: [Subscription]
    let mark: LedgerMark

    /// Reads the ledger. Nil for an account that does not exist.
    init?(_ accountID: AccountID, in bundleID: BundleID, _ connection: Connection) throws {
        guard let mark = try LedgerMark(accountID, in: bundleID, connection) else { return nil }
        self.mark = mark
        account = mark.account
        transactions = try Transactions.inReceipt(of: accountID, in: bundleID, connection)
        let isShared = transactions.contains { $0.sharedFrom != nil }
        subscriptions =
            try Subscriptions.all(of: accountID, in: bundleID, connection)
            + (isShared ? FamilyShares.subscriptions(of: accountID, in: bundleID, connection) : [])
    }
}

/// Tells two states of a customer's ledger apart without reading it. Each new transaction and each change of one has a
/// higher number than those before, and each change of a subscription raises its revision.
struct LedgerMark: Sendable, Equatable {
    let account: Account
    private let numbers: [SQLValue]

    /// Reads the mark. Nil for an account that does not exist.
    init?(_ accountID: AccountID, in bundleID: BundleID, _ connection: Connection) throws {
        guard let account = try Accounts.account(accountID, connection) else { return nil }
        self.account = account
        numbers =
            try Transactions.mark(of: accountID, in: bundleID, connection)
            + [SQLValue(Subscriptions.revisions(of: accountID, in: bundleID, connection))]
            + FamilyShares.mark(of: accountID, in: bundleID, connection)
    }
}

/// An answer of `verifyReceipt` to a subscriber's app receipt, with the mark of the ledger that it was made from.
///
/// Merchants ask about the same receipt again and again. The next request with the same receipt compares the mark and,
/// if nothing has changed, gets the same answer without verifying, reading, signing and encoding anew.
struct KeptAnswer: Sendable {
    let app: AppRecord
    let mark: LedgerMark
    let response: EncodedAppReceiptResponse
    /// The date of the receipt in the answer, by the store's clock.
    let madeAt: Int64

    /// Whether the answer may be given at a date. Its receipt states its creation date.
    func isFresh(at date: Int64) -> Bool {
        (madeAt...madeAt + ReceiptIssuer.longestRemembered).contains(date)
    }
}

/// The answers of `verifyReceipt` to subscribers' receipts, in memory.
struct KeptAnswers: Sendable {
    /// The most memory that the answers take, in bytes.
    static let capacity = 32 << 20

    /// Finds an answer by the last eight bytes of a receipt, which are a part of its signature.
    private struct Key: Hashable {
        let receiptEnd: UInt64
        let excludesOldTransactions: Bool

        init(_ request: VerifyReceiptRequest) {
            receiptEnd = request.receiptData.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            excludesOldTransactions = request.excludeOldTransactions
        }
    }

    private struct Entry: Sendable {
        let receiptData: [UInt8]
        let answer: KeptAnswer

        /// About the memory that the entry takes, in bytes.
        var cost: Int {
            receiptData.count + answer.response.count + 2_048
        }
    }

    private let entries = RecentValues<Key, Entry>(capacity: capacity) { $0.cost }

    /// The answer to an earlier request with the same receipt, byte by byte; nil for none.
    func answer(to request: VerifyReceiptRequest) -> KeptAnswer? {
        guard let entry = entries.value(for: Key(request)), entry.receiptData == request.receiptData else { return nil }
        return entry.answer
    }

    /// Keeps an answer, unless it alone would take a quarter of the memory.
    func keep(_ answer: KeptAnswer, to request: VerifyReceiptRequest) {
        let entry = Entry(receiptData: request.receiptData, answer: answer)
        if entry.cost <= Self.capacity / 4 { entries.insert(entry, for: Key(request)) }
    }
}
