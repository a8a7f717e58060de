import Database
import MerchantWire
import StoreWire

/// The changes of users' accounts and rights that one database transaction puts off to its end.
///
/// On PostgreSQL two transactions that wait for each other's rows would end each other. Every transaction that redeems
/// or takes back therefore takes rows in this order:
///
/// 1. the purchases: a subscription's row before its periods', and purchases in the order of their
///    ``RedemptionPlan/lockName``;
/// 2. the accounts, in the order of users and account names, each account's credits that end after its entry;
/// 3. the rights that its purchases gave, whose rows nobody else changes before step 4;
/// 4. all rights of the chains that change (``TimedRight/Chain``), in the order of the chains, once for each chain.
///
/// A transaction that spends, adjusts or takes out ended credits has step 2 alone.
final class Settlement {
    private struct Account: Hashable, Comparable {
        var user: UserID
        var currency: CurrencyID

        static func < (left: Account, right: Account) -> Bool {
            (left.user.rawValue, left.currency.rawValue) < (right.user.rawValue, right.currency.rawValue)
        }
    }

    private var postings: [Account: [() throws -> Void]] = [:]
    private var granted: [String: [CreditAccount]] = [:]
    private var endings: [() throws -> Void] = []
    private var timed: [TimedRight.Chain: TimedRight.Position] = [:]

    /// Changes an account at the end of the transaction, after what was put off for it before.
    /// - Parameter currency: the account's ``CreditAccount/name``.
    func post(_ user: UserID, _ currency: CurrencyID, _ body: @escaping () throws -> Void) {
        postings[Account(user: user, currency: currency), default: []].append(body)
    }

    /// As ``post(_:_:_:)``, for the credits that a purchase gives.
    func grant(_ redemption: String, to user: UserID, _ account: CreditAccount, _ body: @escaping () throws -> Void) {
        granted[redemption, default: []].append(account)
        post(user, account.name, body)
    }

    /// The account that a purchase's credits are about to go to; nil for what was not granted in this transaction.
    func account(_ currency: CurrencyID, grantedBy redemption: String) -> CreditAccount? {
        granted[redemption]?.first { $0.currency == currency }
    }

    /// Changes rights, or tells the outcome, once all accounts are changed. Bodies run in the order in which they were
    /// given.
    func afterPostings(_ body: @escaping () throws -> Void) { endings.append(body) }

    /// Settles an entitlement with a lifetime from one purchase on.
    func settle(_ chain: TimedRight.Chain, from position: TimedRight.Position) {
        timed[chain] = min(timed[chain] ?? position, position)
    }

    /// Does what was put off.
    func finish(_ connection: Connection) throws {
        for (_, bodies) in postings.sorted(by: { $0.key < $1.key }) {
            for body in bodies { try body() }
        }
        for ending in endings { try ending() }
        for (chain, position) in timed.sorted(by: { $0.key < $1.key }) {
            try TimedRight.settle(chain, from: position, connection)
        }
        postings = [:]
        endings = []
        timed = [:]
    }
}
