import Database
import StoreWire

/// The store's rule for a refund request whose deadline is over. The raw values are those of the database and of the
/// control port.
public enum RefundRule: String, Sendable, CaseIterable {
    /// The request waits for the operator.
    case ask
    /// The store refunds the whole payment.
    case approve
    /// The store refuses the refund.
    case decline
    /// The store does what the app's server prefers, and refunds the whole payment when it prefers nothing.
    case preference

    /// The rule until the operator sets one. Apple's sandbox approves requests by itself.
    static func usual(in environment: StoreEnvironment) -> RefundRule { environment == .sandbox ? .approve : .ask }

    /// The decision on a request; nil when it waits.
    func decision(on request: RefundRequest) -> RefundDecision? {
        switch self {
        case .ask: return nil
        case .approve: return .approve(.whole)
        case .decline: return .decline
        case .preference:
            switch request.consumption?.preference {
            case .decline: return .decline
            case .grantProrated: return .approve(.prorated)
            case .grantFull, nil: return .approve(.whole)
            }
        }
    }
}

/// The table `refund_rule`: the store's rule, from when the operator first sets one.
enum RefundRules {
    /// The rule of an environment's store, and when it was set, in milliseconds since 1970; 0 for the usual one.
    static func current(
        in environment: StoreEnvironment, _ connection: Connection
    ) throws -> (rule: RefundRule, setAt: Int64) {
        guard let row = try connection.queryOne("SELECT rule, set_at FROM refund_rule WHERE id = 1", []) else {
            return (.usual(in: environment), 0)
        }
        guard let rule = RefundRule(rawValue: try row.string(0)) else {
            throw StoreError(.internalError, "There is a rule for refunds that this program does not know.")
        }
        return (rule, try row.int64(1))
    }

    /// Sets the rule.
    /// - Parameter date: now, in milliseconds since 1970 by the store's clock.
    static func save(_ rule: RefundRule, at date: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO refund_rule (id, rule, set_at) VALUES (1, $1, $2)
            ON CONFLICT (id) DO UPDATE SET rule = excluded.rule, set_at = excluded.set_at
            """, [rule.rawValue, date])
    }
}
