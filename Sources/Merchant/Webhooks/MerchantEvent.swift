import Crypto
import Database
import Foundation
import MerchantWire
import StoreWire

/// A change that the merchant's backend is told of.
enum MerchantEvent {
    case redeemed(RedemptionPlan, UserID)
    case transferred(String, from: UserID, to: UserID)
    /// A purchase was refunded or is no longer shared.
    case revoked(String, UserID, takenBack: [Balance])
    case reinstated(String, UserID)
    case balanceChanged(UserID, CurrencyID, String)
    /// The store said something new of a subscription.
    case subscriptionChanged(String, UserID, type: String, subtype: String?)

    var type: String {
        switch self {
        case .redeemed: "purchase.redeemed"
        case .transferred: "purchase.transferred"
        case .revoked: "purchase.revoked"
        case .reinstated: "purchase.reinstated"
        case .balanceChanged: "balance.changed"
        case .subscriptionChanged: "subscription.changed"
        }
    }

    fileprivate var data: EventData {
        switch self {
        case .redeemed(let plan, let user):
            EventData(
                user: user, purchase: plan.key.text, product: plan.purchase.productID,
                transaction: plan.purchase.transactionID, grants: plan.grants, expiresAt: plan.expiresAt)
        case .transferred(let key, let from, let to): EventData(user: to, purchase: key, formerUser: from)
        case .revoked(let key, let user, let takenBack):
            EventData(user: user, purchase: key, takenBack: takenBack)
        case .reinstated(let key, let user): EventData(user: user, purchase: key)
        case .balanceChanged(let user, let currency, let reason):
            EventData(user: user, currency: currency, reason: reason)
        case .subscriptionChanged(let key, let user, let type, let subtype):
            EventData(user: user, purchase: key, notification: type, subtype: subtype)
        }
    }
}

/// The event's own part of its body; what does not concern it is left out.
private struct EventData: Encodable {
    var user: UserID
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

    func write(_ event: MerchantEvent, _ connection: Connection) throws {
        guard isOn else { return }
        let data = event.data
        let about = [
            event.type, data.user.rawValue, data.purchase ?? "", data.currency?.rawValue ?? "", data.reason ?? "",
        ]
        let digest = SHA256.hash(data: Array(about.joined(separator: "\u{1F}").utf8)).prefix(8)
        let id = base + "-" + digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = try encoder.encode(EventBody(id: id, type: event.type, createdAt: now, data: data))
        try connection.execute(
            """
            INSERT INTO webhook_events (event_id, type, body, created_at, state, due_at, attempts)
            VALUES ($1, $2, $3, $4, 'waiting', $4, 0) ON CONFLICT (event_id) DO NOTHING
            """, [id, event.type, String(decoding: body, as: UTF8.self), now])
    }
}
