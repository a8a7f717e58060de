import Database
import MerchantWire
import StoreWire

/// The subscriptions that one database transaction changes, and the changes of users' accounts and rights that it makes
/// at its end.
///
/// On PostgreSQL, two transactions that wait for each other's rows end in a deadlock error. Every transaction that
/// redeems or revokes therefore locks rows in this order:
///
/// 1. the purchases: a subscription's row before the rows of its periods, and purchases in the order of their
///    ``RedemptionPlan/lockName``;
/// 2. the accounts, sorted by user and account name, each account's expiring credits after its entry;
/// 3. the rights that its purchases granted, whose rows no other transaction changes before step 4;
/// 4. all rights of the changed chains (``TimedRight/Chain``), sorted by chain, once for each chain;
/// 5. the account token of the one user who redeems, and the calls of the store's API that set it, in the order of the
///    purchases.
///
/// A transaction that spends, adjusts or removes expired credits has only step 2.
final class Settlement {
    private struct Account: Comparable {
        var user: UserID
        var currency: CurrencyID

        static func < (left: Account, right: Account) -> Bool {
            (left.user, left.currency) < (right.user, right.currency)
        }
    }

    private var postings: [(account: Account, body: () throws -> Void)] = []
    private var granted: [String: [CreditAccount]] = [:]
    private var endings: [() throws -> Void] = []
    private var calls: [() throws -> Void] = []
    private var timed: [TimedRight.Chain: TimedRight.Position] = [:]
    private var subscriptions: [String: Known] = [:]
    private var given: [String: [SubscriptionRight]] = [:]

    /// A subscription in this transaction.
    private struct Known {
        /// The row in the database; nil when there is none.
        var before: SubscriptionRow?
        var row: SubscriptionRow?
    }

    /// Returns a subscription with the changes of this transaction; nil for an unknown one.
    func subscription(_ key: String, _ connection: Connection) throws -> SubscriptionRow? {
        if let known = subscriptions[key] { return known.row }
        let row = try SubscriptionRow.find(key, connection)
        subscriptions[key] = Known(before: row, row: row)
        return row
    }

    /// Records a changed subscription, whose rights are changed at the end of the transaction.
    func keep(_ row: SubscriptionRow, _ connection: Connection) throws {
        if try subscription(row.key, connection) == nil { try row.insert(connection) }
        subscriptions[row.key]?.row = row
    }

    /// Schedules the grant of a right from a subscription's period.
    func give(_ right: SubscriptionRight, from subscription: String) {
        given[subscription, default: []].append(right)
    }

    /// Schedules a change of an account, after the changes that were scheduled for it before.
    /// - Parameter currency: the account's ``CreditAccount/name``.
    func post(_ user: UserID, _ currency: CurrencyID, _ body: @escaping () throws -> Void) {
        postings.append((Account(user: user, currency: currency), body))
    }

    /// Schedules the grant of a purchase's credits, as ``post(_:_:_:)`` does.
    func grant(_ redemption: String, to user: UserID, _ account: CreditAccount, _ body: @escaping () throws -> Void) {
        granted[redemption, default: []].append(account)
        post(user, account.name, body)
    }

    /// The account to which this transaction grants a purchase's credits; nil when it grants none.
    func account(_ currency: CurrencyID, grantedBy redemption: String) -> CreditAccount? {
        granted[redemption]?.first { $0.currency == currency }
    }

    /// Schedules a change of rights or an event, after all changes of accounts. Bodies run in the order in which they
    /// were scheduled.
    func afterPostings(_ body: @escaping () throws -> Void) { endings.append(body) }

    /// Schedules a call of the store's API and the account token in it, after all changes of rights. Bodies run in the
    /// order in which they were scheduled.
    func afterRights(_ body: @escaping () throws -> Void) { calls.append(body) }

    /// Schedules the computation of a chain's ends, from one purchase on.
    func settle(_ chain: TimedRight.Chain, from position: TimedRight.Position) {
        timed[chain] = min(timed[chain] ?? position, position)
    }

    /// Makes the scheduled changes.
    func finish(_ connection: Connection) throws {
        for known in subscriptions.values.sorted(by: { ($0.row?.key ?? "") < ($1.row?.key ?? "") })
        where known.row != known.before {
            try known.row?.update(known.before, connection)
        }
        let sorted = postings.enumerated().sorted {
            ($0.element.account, $0.offset) < ($1.element.account, $1.offset)
        }
        for (_, posting) in sorted { try posting.body() }
        for ending in endings { try ending() }
        for (key, known) in subscriptions.sorted(by: { $0.key < $1.key }) {
            guard let row = known.row, row.facts != known.before?.facts || given[key] != nil else { continue }
            try Rights.follow(row, granting: given[key] ?? [], connection)
        }
        for (chain, position) in timed.sorted(by: { $0.key < $1.key }) {
            try Rights.settle(chain, from: position, connection)
        }
        for call in calls { try call() }
        postings = []
        endings = []
        calls = []
        timed = [:]
        subscriptions = [:]
        given = [:]
    }
}
