import Database
import Foundation
import StoreWire
import Synchronization

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
    private let rules: Mutex<[DeclineRule]>
    /// Called when the rules or their counts have changed.
    private let changed: @Sendable () -> Void

    private init(database: Database, rules: [DeclineRule], changed: @escaping @Sendable () -> Void) {
        self.database = database
        self.rules = Mutex(rules)
        self.changed = changed
    }

    /// Reads the rules from a database with ``StoreSchema``.
    /// - Parameter changed: called when the rules or their counts have changed.
    /// - Throws: ``DatabaseError``.
    public static func open(
        _ database: Database, changed: @escaping @Sendable () -> Void = {}
    ) async throws -> SandboxPaymentProcessor {
        let rules = try await database.read { connection in
            try connection.query(
                "SELECT rule_id, account_id, product_id, minimum_amount, remaining FROM payment_rules ORDER BY rule_id",
                []
            ).map { row in
                DeclineRule(
                    ruleID: try row.string(0), accountID: try row.optionalString(1).map { AccountID($0) },
                    productID: try row.optionalString(2).map { ProductID($0) }, minimumAmount: try row.optionalInt64(3),
                    remaining: try row.optionalInt64(4).map(Int.init))
            }
        }
        return SandboxPaymentProcessor(database: database, rules: rules, changed: changed)
    }

    /// Declines when a rule matches, else approves.
    /// - Throws: ``DatabaseError`` when the rule's remaining count cannot be saved.
    public func authorize(_ payment: PaymentAuthorization) async throws -> PaymentDecision {
        let declining: DeclineRule? = rules.withLock { rules in
            guard let index = rules.firstIndex(where: { $0.matches(payment) }) else { return nil }
            if let remaining = rules[index].remaining {
                rules[index].remaining = remaining - 1
                if remaining <= 1 { return rules.remove(at: index) }
            }
            return rules[index]
        }
        guard let declining else {
            return .approved(reference: Self.reference(payment.idempotencyKey))
        }
        if let remaining = declining.remaining {
            try await keep(declining.ruleID, remaining: remaining)
            changed()
        }
        return .declined(message: "Your payment method was declined.")
    }

    /// The processor's identifier of an authorization.
    static func reference(_ idempotencyKey: UUID) -> String { "sandbox-" + idempotencyKey.text }

    /// Does nothing: this processor keeps no authorizations.
    public func void(_ idempotencyKey: UUID) async {}

    /// Does nothing: this processor moves no money.
    public func refund(_ refund: PaymentRefund) async throws {}

    /// All rules in the order of their names.
    public var declineRules: [DeclineRule] { rules.withLock { $0.sorted { $0.ruleID < $1.ruleID } } }

    /// Adds a rule, or replaces the rule of the same name.
    /// - Throws: ``StoreError`` `invalid_request` when the name, count or amount is invalid; ``DatabaseError``.
    public func setRule(_ rule: DeclineRule) async throws {
        guard rule.remaining.map({ $0 > 0 }) ?? true, rule.minimumAmount.map({ $0 >= 0 }) ?? true, !rule.ruleID.isEmpty
        else {
            throw StoreError(
                .invalidRequest, "A rule needs a name. Its count must be positive and its amount must not be negative.")
        }
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO payment_rules (rule_id, account_id, product_id, minimum_amount, remaining)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (rule_id) DO UPDATE SET account_id = excluded.account_id, product_id = excluded.product_id,
                    minimum_amount = excluded.minimum_amount, remaining = excluded.remaining
                """,
                [rule.ruleID, rule.accountID?.rawValue, rule.productID?.rawValue, rule.minimumAmount, rule.remaining])
        }
        rules.withLock { rules in
            rules.removeAll { $0.ruleID == rule.ruleID }
            rules.append(rule)
        }
        changed()
    }

    /// Whether the processor currently has no rules.
    var approvesEverything: Bool { rules.withLock { $0.isEmpty } }

    /// Removes all rules.
    /// - Throws: ``DatabaseError``.
    public func removeRules() async throws {
        try await database.write { try $0.execute("DELETE FROM payment_rules", []) }
        rules.withLock { $0.removeAll() }
        changed()
    }

    /// Removes a rule.
    /// - Returns: false when there is no rule of this name.
    /// - Throws: ``DatabaseError``.
    public func removeRule(_ ruleID: String) async throws -> Bool {
        let removed = try await database.write {
            try $0.execute("DELETE FROM payment_rules WHERE rule_id = $1", [ruleID])
        }
        rules.withLock { rules in rules.removeAll { $0.ruleID == ruleID } }
        changed()
        return removed > 0
    }

    private func keep(_ ruleID: String, remaining: Int) async throws {
        try await database.write { connection in
            if remaining > 0 {
                try connection.execute(
                    "UPDATE payment_rules SET remaining = $2 WHERE rule_id = $1 AND remaining > $2",
                    [ruleID, remaining])
            } else {
                try connection.execute("DELETE FROM payment_rules WHERE rule_id = $1", [ruleID])
            }
        }
    }
}
