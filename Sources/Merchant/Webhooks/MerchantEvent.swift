import CornerstoreEncoding
import Crypto
import Database
import Foundation
import MerchantWire
import StoreWire

/// The type of a webhook event: `type` in its body. New versions may add types.
public enum MerchantEventType: String, Sendable, CaseIterable {
    /// A purchase was redeemed.
    case redeemed = "purchase.redeemed"
    /// A purchase or subscription moved to another user.
    case transferred = "purchase.transferred"
    /// A purchase was refunded or is no longer shared.
    case revoked = "purchase.revoked"
    /// The store reversed a refund.
    case reinstated = "purchase.reinstated"
    /// A user's balance changed.
    case balanceChanged = "balance.changed"
    /// The store reported a change of a subscription.
    case subscriptionChanged = "subscription.changed"
    /// The operator tests the receiver. Nothing changed.
    case test = "webhook.test"
}

/// An event for the merchant's backend.
enum MerchantEvent {
    case redeemed(RedemptionPlan, UserID)
    case transferred(String, from: UserID, to: UserID)
    /// A purchase was refunded or is no longer shared with the user.
    case revoked(String, UserID, takenBack: [Balance])
    case reinstated(String, UserID)
    /// The balance of an account changed. The account is given by its ``CreditAccount/name``.
    case balanceChanged(UserID, CurrencyID, String)
    /// The store reported a change of the subscription.
    case subscriptionChanged(String, UserID, type: String, subtype: String?)
    /// The operator tests the receiver.
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
        String(
            decoding: try JSONEncoder.compact.encode(
                EventBody(id: id, type: type.rawValue, createdAt: now, data: data)),
            as: UTF8.self)
    }

    /// The member by which a body names its purchase.
    static func member(purchase: String) throws -> String {
        "\"purchase\":" + String(decoding: try JSONEncoder.compact.encode(purchase), as: UTF8.self)
    }

    fileprivate var data: EventData {
        switch self {
        case .redeemed(let plan, let user):
            EventData(
                userId: user, environment: plan.purchase.environment, purchase: plan.key.text,
                productId: plan.purchase.productID,
                transactionId: plan.purchase.transactionID, grants: plan.grants, expiresAt: plan.expiresAt)
        case .transferred(let key, let from, let to):
            EventData(userId: to, environment: RedemptionKey.environment(of: key), purchase: key, formerUserId: from)
        case .revoked(let key, let user, let takenBack):
            EventData(
                userId: user, environment: RedemptionKey.environment(of: key), purchase: key, takenBack: takenBack)
        case .reinstated(let key, let user):
            EventData(userId: user, environment: RedemptionKey.environment(of: key), purchase: key)
        case .balanceChanged(let user, let name, let reason):
            EventData(userId: user, account: CreditAccount(named: name), reason: reason)
        case .subscriptionChanged(let key, let user, let type, let subtype):
            EventData(
                userId: user, environment: RedemptionKey.environment(of: key), purchase: key, notification: type,
                subtype: subtype)
        case .test: EventData()
        }
    }
}

/// The event's data in the body. Members that do not apply are left out.
private struct EventData: Encodable {
    var userId: UserID?
    /// The environment of the purchase or of the balance.
    var environment: StoreEnvironment?
    var purchase: String?
    var productId: ProductID?
    var transactionId: String?
    var grants: [ProductGrant]?
    var expiresAt: Int64?
    var formerUserId: UserID?
    var takenBack: [Balance]?
    var currency: CurrencyID?
    var reason: String?
    var notification: String?
    var subtype: String?
}

extension EventData {
    fileprivate init(userId: UserID, account: CreditAccount, reason: String) {
        self.init(userId: userId, environment: account.environment, currency: account.currency, reason: reason)
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

    /// Creates a writer.
    /// - Parameter id: a UUID for the change. The identifiers of the change's events are made from it and from the
    ///   events' subjects. They do not depend on anything that the transaction reads, because the transaction may run
    ///   more than once.
    init(_ policy: MerchantPolicy, id: @autoclosure () -> UUID, now: Int64) {
        isOn = policy.sendsWebhooks
        base = isOn ? id().text.lowercased() : ""
        self.now = now
    }

    /// Writes an event into the outbox.
    /// - Parameter event: the event. It is not made when the merchant sends no webhooks.
    /// - Returns: the event's identifier; nil when the merchant sends no webhooks.
    @discardableResult
    func write(_ event: @autoclosure () -> MerchantEvent, _ connection: Connection) throws -> String? {
        guard isOn else { return nil }
        let event = event()
        let data = event.data
        let about = [
            event.type.rawValue, data.userId?.rawValue ?? "", data.purchase ?? "", data.currency?.rawValue ?? "",
            data.reason ?? "", data.currency == nil ? "" : data.environment?.rawValue ?? "",
        ]
        let digest = SHA256.hash(data: Array(about.joined(separator: "\u{1F}").utf8)).prefix(8)
        let id = base + "-" + Hexadecimal.encoded(digest)
        try DatabaseOutbox.insert(id, event.type, try event.body(id: id, at: now), at: now, connection)
        return id
    }
}
