import Database
import Foundation
import MerchantWire
import StoreWire

/// One purchase of the evidence with all that can be known before the database is asked.
struct RedemptionPlan: Sendable {
    var purchase: VerifiedPurchase
    var product: MerchantProduct
    var key: RedemptionKey
    /// Keys that it may be known by instead, because the product was of another kind before.
    var formerKeys: [RedemptionKey]
    /// What the purchase gives, for all of its quantity.
    var grants: [ProductGrant]
    /// ``grants`` as they are kept.
    var grantsJSON: String
    /// When it ends; of a subscription's period that was made longer, later than the purchase says.
    var expiresAt: Int64?
    /// Why it gives nothing any longer, if it was not redeemed before.
    var obstacle: MerchantErrorCode?

    /// - Throws: ``MerchantError`` `malformed_receipt` when the quantity is beyond all bounds.
    init(_ purchase: VerifiedPurchase, _ entry: ProductCatalog.Entry, _ policy: MerchantPolicy, at now: Int64) throws {
        self.purchase = purchase
        product = entry.product
        key = RedemptionKey(purchase, kind: entry.product.kind)
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
        } else if purchase.contradicts(product.kind) {
            // Known by the wrong identity, it could be redeemed again, or never again.
            obstacle = .wrongKind
        } else if product.kind == .autoRenewableSubscription, let expiresAt = purchase.expiresAt,
            expiresAt <= now || purchase.isUpgraded == true
        {
            // Of a period in which another plan took over, the money was given back.
            obstacle = .expired
        }
    }

    /// Finds a purchase that was redeemed, or spoken of by the store, when its product was of another kind.
    mutating func recall(_ connection: Connection) throws {
        guard !formerKeys.isEmpty else { return }
        if let row = try RedemptionRow.find(key.text, connection), row.state != .open { return }
        for former in formerKeys {
            guard let row = try RedemptionRow.find(former.text, connection) else { continue }
            // What was once owned for good and renews now: each later period is a purchase of its own.
            guard product.kind != .autoRenewableSubscription || row.transactionID == purchase.transactionID else {
                continue
            }
            key = former
            return
        }
    }

    /// What every change of it begins with on every way: rows are locked in the order of these names.
    var lockName: String {
        product.kind == .autoRenewableSubscription ? RedemptionKey.subscription(purchase) : key.text
    }

    /// Takes in what is known of its subscription: that the period was made longer since, or that another plan took its place.
    mutating func learn(from row: SubscriptionRow, at now: Int64) {
        expiresAt = expiresAt.map { row.end(of: purchase, $0) }
        if obstacle == .expired, purchase.isUpgraded != true, let expiresAt, expiresAt > now { obstacle = nil }
        if obstacle == nil, row.hasReplaced(purchase) { obstacle = .expired }
    }

    /// Whether the evidence proves that the money was given back. For a subscription a receipt has the same date when another plan took over
    /// (`cancellation_date`), which takes nothing away from who subscribes.
    var isRefund: Bool {
        purchase.revokedAt != nil && (product.kind != .autoRenewableSubscription || purchase.isUpgraded == false)
    }

    /// What is answered of it.
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
    /// Whether a purchase gives its product's credits, beside its rights.
    func givesCredits(for purchase: VerifiedPurchase) -> Bool {
        (purchase.isTrial != true || givesCreditsForTrials)
            && (purchase.isShared != true || givesCreditsForSharedCopies)
    }
}

extension ProductGrant {
    /// The same so many times: credits are more for it, and an entitlement that ends lasts longer.
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
