import Database
import Foundation
import MerchantWire
import StoreWire

/// One purchase of the evidence with everything that is known before the database transaction.
struct RedemptionPlan: Sendable {
    var purchase: VerifiedPurchase
    /// The product's kind on the merchant's list.
    let kind: ProductKind
    /// The revision of the product list that the plan follows.
    let revision: Int64
    var key: RedemptionKey
    /// Other keys that the purchase may have, because the product had another kind before.
    var formerKeys: [RedemptionKey]
    /// The purchase's grants, multiplied by its quantity.
    var grants: [ProductGrant]
    /// ``grants`` as stored in the database.
    var grantsJSON: String
    /// The end of the purchase; nil when it does not end. For an extended subscription period, it is later than the
    /// evidence states.
    var expiresAt: Int64?
    /// The reason why the purchase grants nothing, unless it was redeemed before.
    var obstacle: MerchantErrorCode?
    /// The store's statement about the subscription's renewal, which came with the purchase; nil for none.
    var statement: RenewalStatement?

    /// Creates the plan of a purchase.
    /// - Parameter now: the time of the purchase's store, as for ``learn(from:_:at:)``.
    /// - Throws: ``MerchantError`` `malformed_receipt` when the quantity exceeds the limit.
    init(_ purchase: VerifiedPurchase, _ entry: ProductCatalog.Entry, _ policy: MerchantPolicy, at now: Int64) throws {
        self.purchase = purchase
        kind = entry.product.kind
        revision = entry.revision
        key = RedemptionKey(purchase, kind: kind)
        formerKeys = RedemptionKey.former(purchase, entry.formerIdentities)
        expiresAt = purchase.expiresAt
        if purchase.quantity == 1 {
            grants = entry.product.grants
            grantsJSON = entry.grantsJSON
        } else {
            grants = try entry.product.grants.map { try $0.times(purchase.quantity) }
            grantsJSON = try ProductCatalog.json(grants)
        }
        if !policy.givesCredits(for: purchase), grants.contains(where: \.isCredits) {
            grants.removeAll(where: \.isCredits)
            grantsJSON = try ProductCatalog.json(grants)
        }
        if purchase.revokedAt != nil {
            obstacle = .revoked
        } else if purchase.contradicts(kind) {
            // With the wrong redemption key, the purchase could be redeemed twice or not at all.
            obstacle = .wrongKind
        } else if kind == .autoRenewableSubscription, let expiresAt = purchase.expiresAt,
            purchase.isUpgraded == true
                || Right.state(expiresAt: expiresAt, graceUntil: nil, revokedAt: nil, at: now) == .expired
        {
            // The store refunded the rest of a period in which the customer changed plans.
            obstacle = .expired
        }
    }

    /// Finds the key under which a purchase was recorded when its product had another kind.
    mutating func recall(_ connection: Connection) throws {
        guard !formerKeys.isEmpty else { return }
        if let row = try RedemptionRow.find(key.text, connection), row.state != .open { return }
        for former in formerKeys {
            guard let row = try RedemptionRow.find(former.text, connection) else { continue }
            // The product used to be owned forever and renews now: each later period is a separate purchase.
            guard kind != .autoRenewableSubscription || row.transactionID == purchase.transactionID else {
                continue
            }
            key = former
            return
        }
    }

    /// The key of the row that every change of the purchase locks first. Rows are locked in the order of these keys.
    var lockName: String {
        kind == .autoRenewableSubscription ? RedemptionKey.subscription(purchase) : key.text
    }

    /// The facts that the purchase proves about its subscription; empty for other kinds of products.
    var facts: Subscription {
        // With the wrong kind, the key of the period is wrong too.
        kind == .autoRenewableSubscription && obstacle != .wrongKind
            ? Subscription(purchase, key, statement) : Subscription()
    }

    /// Applies what is known of the subscription: the store may have extended the period or may grant a grace period
    /// after it, or another plan may have replaced the period.
    mutating func learn(from facts: Subscription, _ policy: MerchantPolicy, at now: Int64) {
        guard let period = facts[key] else { return }
        expiresAt = period.expiresAt
        // The store has reversed the refund that the evidence states.
        if obstacle == .revoked, isRefund, !facts.isRefunded(key) { obstacle = .expired }
        // Whether the period alone is over: what a later one changes, such as its refund, is no obstacle to this one.
        let state = Right.state(
            expiresAt: period.expiresAt, graceUntil: facts.access(through: key)?.graceUntil, revokedAt: nil, at: now)
        if obstacle == .expired, purchase.isUpgraded != true, state != .expired { obstacle = nil }
        // All credits of the period would be taken back at once.
        if obstacle == nil, policy.superseded == .takeBack, facts.hasSuccessor(key) { obstacle = .expired }
    }

    /// Whether the evidence proves a refund. For a subscription, a receipt has the same date (`cancellation_date`)
    /// after a change of plan, which takes nothing from the subscriber.
    var isRefund: Bool {
        purchase.revokedAt != nil && (kind != .autoRenewableSubscription || purchase.isUpgraded == false)
    }

    /// How much later than a refund evidence must be signed to prove the refund's reversal, in milliseconds. A store
    /// reads a purchase before it signs and dates the evidence, so evidence of the same moment may not know the refund.
    static let reversalMargin: Int64 = 60_000

    /// Whether the evidence proves that the store has reversed a refund: it states the purchase without the refund, and
    /// the store signed it later.
    ///
    /// Only a signed transaction proves that for a consumable. A receipt states the cancellation of the other kinds
    /// alone (Apple's “Receipt Validation Programming Guide”, “Receipt Fields”). An iOS 6 receipt is as old as its
    /// purchase. A period that another plan has replaced has lost the rest of its price either way.
    /// - Parameter signedAt: the time at which the store signed its statement about the refund.
    func provesReversal(ofRefundSignedAt signedAt: Int64) -> Bool {
        guard purchase.revokedAt == nil, purchase.isUpgraded != true, obstacle != .wrongKind,
            kind != .consumable || purchase.isUpgraded != nil && purchase.statedKind != nil
        else { return false }
        return purchase.signedAt > signedAt + Self.reversalMargin
    }

    /// Creates the answer about the purchase.
    func answer(redeemedAt: Int64, expiresAt: Int64?, grants: [ProductGrant], wentToNamedOwner: Bool)
        -> RedeemedTransaction
    {
        RedeemedTransaction(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            productID: purchase.productID, quantity: purchase.quantity, environment: purchase.environment,
            grants: grants, redeemedAt: redeemedAt, expiresAt: expiresAt, wentToNamedOwner: wentToNamedOwner)
    }
}

extension MerchantPolicy {
    /// Whether a purchase grants its product's credits in addition to its entitlements.
    func givesCredits(for purchase: VerifiedPurchase) -> Bool {
        (purchase.isTrial != true || givesCreditsForTrials)
            && (purchase.isShared != true || givesCreditsForSharedCopies)
    }
}

extension ProductGrant {
    /// The grant multiplied by a quantity: more credits, or a longer lifetime.
    func times(_ quantity: Int64) throws -> ProductGrant {
        switch self {
        case .credits(let currency, let amount, let lifetime):
            let (total, overflow) = amount.multipliedReportingOverflow(by: quantity)
            guard !overflow, total <= MerchantLimits.amount * 1_000 else { throw MerchantError(.malformedReceipt) }
            return .credits(currency, amount: total, lifetime: lifetime)
        case .entitlement(let name, let lifetime?):
            let (total, overflow) = lifetime.multipliedReportingOverflow(by: quantity)
            return .entitlement(name, lifetime: overflow ? Self.longestLifetime : min(total, Self.longestLifetime))
        case .entitlement, .content: return self
        }
    }
}
