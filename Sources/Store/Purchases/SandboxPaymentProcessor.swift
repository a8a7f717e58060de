import Database
import Foundation
import StoreWire

/// A rule by which the sandbox's processor declines payments. Every condition that is set must match; a rule without
/// conditions declines everything.
public struct DeclineRule: Sendable, Equatable, Codable {
    /// The rule's name, unique in the store.
    public var ruleID: String
    /// The account whose payments it declines; nil for every account.
    public var accountID: AccountID?
    /// The product whose payments it declines; nil for every product.
    public var productID: ProductID?
    /// The smallest amount to decline, in milliunits; nil for every amount.
    public var minimumAmount: Int64?
    /// The number of payments still to decline; nil for no limit.
    public var remaining: Int?

    /// Creates a rule.
    public init(ruleID: String, accountID: AccountID?, productID: ProductID?, minimumAmount: Int64?, remaining: Int?) {
        self.ruleID = ruleID
        self.accountID = accountID
        self.productID = productID
        self.minimumAmount = minimumAmount
        self.remaining = remaining
    }

    fileprivate func matches(_ payment: PaymentAuthorization) -> Bool {
        (accountID.map { $0 == payment.accountID } ?? true) && (productID.map { $0 == payment.productID } ?? true)
            && (minimumAmount.map { payment.amount.milliunits >= $0 } ?? true)
    }
}

/// A payment processor that moves no money. It approves every payment that no rule declines.
///
/// The rules are in the store's database. The processor keeps no authorizations, so voiding and refunding have no
/// effect: the ledger already keeps the answer to each key.
public final class SandboxPaymentProcessor: PaymentProcessor {
    private let database: Database
    /// The rules in the order of their names. Their counts can be older than those of the database.
    private let rules: DatabaseCopy<[DeclineRule]>
    /// Called when the rules or their counts have changed.
    private let changed: @Sendable () -> Void

    private init(database: Database, rules: [DeclineRule], changed: @escaping @Sendable () -> Void) {
        self.database = database
        self.rules = DatabaseCopy(rules)
        self.changed = changed
    }

    /// Reads the rules from a database with ``StoreSchema``.
    /// - Parameter changed: called when the rules or their counts have changed.
    /// - Throws: ``DatabaseError``.
    public static func open(
        _ database: Database, changed: @escaping @Sendable () -> Void = {}
    ) async throws -> SandboxPaymentProcessor {
        SandboxPaymentProcessor(
            database: database, rules: try await database.read { try load($0) }, changed: changed)
    }

    /// Declines when a rule matches, else approves. The first rule in the order of the names decides.
    /// - Throws: ``DatabaseError`` when the rule's remaining count cannot be saved.
    public func authorize(_ payment: PaymentAuthorization) async throws -> PaymentDecision {
        let approval = PaymentDecision.approved(reference: Self.reference(payment.idempotencyKey))
        guard let rule = rules.value.first(where: { $0.matches(payment) }) else { return approval }
        if rule.remaining != nil, try await !isStillDeclined(payment) { return approval }
        return .declined(message: "Your payment method was declined.")
    }

    /// Counts a payment that the first matching rule of the database declines.
    /// - Returns: false when no rule declines the payment any more: other payments have used it up.
    private func isStillDeclined(_ payment: PaymentAuthorization) async throws -> Bool {
        let isDeclined = try await rules.write(to: database, load: Self.load) { connection in
            guard let rule = try Self.load(connection).first(where: { $0.matches(payment) }) else { return false }
            guard let remaining = rule.remaining else { return true }
            if remaining > 1 {
                try connection.execute(
                    "UPDATE payment_rules SET remaining = $2 WHERE rule_id = $1", [rule.ruleID, remaining - 1])
            } else {
                try connection.execute("DELETE FROM payment_rules WHERE rule_id = $1", [rule.ruleID])
            }
            return true
        }
        if isDeclined { changed() }
        return isDeclined
    }

    /// The processor's identifier of an authorization.
    static func reference(_ idempotencyKey: UUID) -> String { "sandbox-" + idempotencyKey.text }

    /// Does nothing: this processor keeps no authorizations.
    public func void(_ idempotencyKey: UUID) async {}

    /// Does nothing and throws nothing: this processor moves no money.
    public func refund(_ refund: PaymentRefund) async throws {}

    /// All rules in the order of their names.
    /// - Throws: ``DatabaseError``.
    public var declineRules: [DeclineRule] {
        get async throws { try await database.read { try Self.load($0) } }
    }

    /// Adds a rule, or replaces the rule of the same name.
    /// - Throws: ``StoreError`` `invalid_request` when the name, count or amount is invalid; ``DatabaseError``.
    public func setRule(_ rule: DeclineRule) async throws {
        guard rule.remaining.map({ $0 > 0 }) ?? true, rule.minimumAmount.map({ $0 >= 0 }) ?? true, !rule.ruleID.isEmpty
        else {
            throw StoreError(
                .invalidRequest, "A rule needs a name. Its count must be positive and its amount must not be negative.")
        }
        try await write { connection in
            try connection.execute(
                """
                INSERT INTO payment_rules (rule_id, account_id, product_id, minimum_amount, remaining)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (rule_id) DO UPDATE SET account_id = excluded.account_id, product_id = excluded.product_id,
                    minimum_amount = excluded.minimum_amount, remaining = excluded.remaining
                """,
                [rule.ruleID, rule.accountID?.rawValue, rule.productID?.rawValue, rule.minimumAmount, rule.remaining])
        }
    }

    /// Whether the processor currently has no rules.
    var approvesEverything: Bool { rules.value.isEmpty }

    /// Removes all rules.
    /// - Throws: ``DatabaseError``.
    public func removeRules() async throws {
        try await write { try $0.execute("DELETE FROM payment_rules") }
    }

    /// Removes a rule.
    /// - Returns: false when there is no rule of this name.
    /// - Throws: ``DatabaseError``.
    public func removeRule(_ ruleID: String) async throws -> Bool {
        try await write { try $0.execute("DELETE FROM payment_rules WHERE rule_id = $1", [ruleID]) } > 0
    }

    /// Reads the rules again, which another process may have changed.
    /// - Throws: ``DatabaseError``.
    func reload() async throws { try await rules.reload(from: database, Self.load) }

    /// Changes the rules and announces it.
    /// - Returns: the number of rules that the statement changed.
    @discardableResult
    private func write(_ statement: @escaping @Sendable (Connection) throws -> Int) async throws -> Int {
        let count = try await rules.write(to: database, load: Self.load) { connection in
            try connection.announce("rules")
            return try statement(connection)
        }
        changed()
        return count
    }

    @Sendable private static func load(_ connection: Connection) throws -> [DeclineRule] {
        try connection.query(
            "SELECT rule_id, account_id, product_id, minimum_amount, remaining FROM payment_rules ORDER BY rule_id"
        ).map { row in
            DeclineRule(
                ruleID: try row.string(0), accountID: try row.optionalString(1).map { AccountID($0) },
                productID: try row.optionalString(2).map { ProductID($0) }, minimumAmount: try row.optionalInt64(3),
                remaining: try row.optionalInt64(4).map(Int.init))
        }
    }
}
