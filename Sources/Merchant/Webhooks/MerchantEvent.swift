import Crypto
import Database
import Foundation
import MerchantWire
import StoreWire

/// What a webhook tells of: `type` in its body. New versions may add types.
public enum MerchantEventType: String, Sendable, CaseIterable {
    case redeemed = "purchase.redeemed"
    case transferred = "purchase.transferred"
    case revoked = "purchase.revoked"
    case reinstated = "purchase.reinstated"
    case balanceChanged = "balance.changed"
    case subscriptionChanged = "subscription.changed"
    /// Nothing changed: the operator tries the receiver.
    case test = "webhook.test"
}

/// A change that the merchant's backend is told of.
enum MerchantEvent {
    case redeemed(RedemptionPlan, UserID)
    case transferred(String, from: UserID, to: UserID)
    /// A purchase was refunded or is no longer shared.
    case revoked(String, UserID, takenBack: [Balance])
    case reinstated(String, UserID)
    /// Of an account, by its ``CreditAccount/name``.
    case balanceChanged(UserID, CurrencyID, String)
    /// The store said something new of a subscription.
    case subscriptionChanged(String, UserID, type: String, subtype: String?)
    /// The operator tries the receiver.
    case test

    var type: MerchantEventType {
        switch self {
        case .redeemed: .redeemed
        case .transferred: .transferred
        case .revoked: .revoked
        case .reinstated: .reinstated
        case .balanceChanged: .balanceChanged
        case .subscriptionChanged: .subscriptionChanged
        case .test: .test
        }
    }

    /// The JSON body of the event's webhook, with its members in order.
    /// - Parameters:
    ///   - id: the event's id.
    ///   - now: milliseconds since 1970.
    func body(id: String, at now: Int64) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(
            decoding: try encoder.encode(EventBody(id: id, type: type.rawValue, createdAt: now, data: data)),
            as: UTF8.self)
    }

    fileprivate var data: EventData {
        switch self {
        case .redeemed(let plan, let user):
            EventData(
                user: user, environment: plan.purchase.environment, purchase: plan.key.text,
                product: plan.purchase.productID,
                transaction: plan.purchase.transactionID, grants: plan.grants, expiresAt: plan.expiresAt)
        case .transferred(let key, let from, let to):
            EventData(user: to, environment: RedemptionKey.environment(of: key), purchase: key, formerUser: from)
        case .revoked(let key, let user, let takenBack):
            EventData(
                user: user, environment: RedemptionKey.environment(of: key), purchase: key, takenBack: takenBack)
        case .reinstated(let key, let user):
            EventData(user: user, environment: RedemptionKey.environment(of: key), purchase: key)
        case .balanceChanged(let user, let name, let reason):
            EventData(user: user, account: CreditAccount(named: name), reason: reason)
        case .subscriptionChanged(let key, let user, let type, let subtype):
            EventData(
                user: user, environment: RedemptionKey.environment(of: key), purchase: key, notification: type,
                subtype: subtype)
        case .test: EventData()
        }
    }
}

/// The event's own part of its body; what does not concern it is left out.
private struct EventData: Encodable {
    var user: UserID?
    /// Where the purchase was made, or whose balance changed.
    var environment: StoreEnvironment?
    var purchase: String?
    var product: ProductID?
    var transaction: String?
    var grants: [ProductGrant]?
    var expiresAt: Int64?
    var formerUser: UserID?
    var takenBack: [Balance]?
    var currency: CurrencyID?
    var reason: String?
    var notification: String?
    var subtype: String?
}

extension EventData {
    fileprivate init(user: UserID, account: CreditAccount, reason: String) {
        self.init(user: user, environment: account.environment, currency: account.currency, reason: reason)
    }
}

private struct EventBody: Encodable {
    var id: String
    var type: String
    var createdAt: Int64
    var data: EventData
}

/// Writes events into the outbox, in the transaction that makes the change.
struct EventWriter: Sendable {
    private let isOn: Bool
    private let base: String
    private let now: Int64

    /// - Parameter id: a UUID of the change's own; its events are named after it and what they are about. It depends on nothing that
    ///   the transaction finds, which may run more than once.
    init(_ policy: MerchantPolicy, id: @autoclosure () -> UUID, now: Int64) {
        isOn = policy.sendsWebhooks
        base = isOn ? id().text.lowercased() : ""
        self.now = now
    }

    /// - Returns: the event's id; nil when no webhooks are sent.
    @discardableResult
    func write(_ event: MerchantEvent, _ connection: Connection) throws -> String? {
        guard isOn else { return nil }
        let data = event.data
        let about = [
            event.type.rawValue, data.user?.rawValue ?? "", data.purchase ?? "", data.currency?.rawValue ?? "",
            data.reason ?? "", data.currency == nil ? "" : data.environment?.rawValue ?? "",
        ]
        let digest = SHA256.hash(data: Array(about.joined(separator: "\u{1F}").utf8)).prefix(8)
        let id = base + "-" + digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try connection.execute(
            """
            INSERT INTO webhook_events (event_id, type, body, created_at, state, due_at, attempts)
            VALUES ($1, $2, $3, $4, 'waiting', $4, 0) ON CONFLICT (event_id) DO NOTHING
            """, [id, event.type.rawValue, try event.body(id: id, at: now), now])
        return id
    }
}
