import MerchantWire
import StoreWire

/// An entitlement or a content item that a user may use.
enum Right: Sendable, Hashable {
    case entitlement(EntitlementID)
    case content(ContentItemID)

    init?(_ grant: ProductGrant) {
        switch grant {
        case .credits: return nil
        case .entitlement(let entitlement, _): self = .entitlement(entitlement)
        case .content(let item): self = .content(item)
        }
    }

    var kind: String {
        switch self {
        case .entitlement: "entitlement"
        case .content: "content"
        }
    }

    var name: String {
        switch self {
        case .entitlement(let entitlement): entitlement.rawValue
        case .content(let item): item.rawValue
        }
    }

    /// The state of a right at a point in time. A right with a revocation date is revoked at every point in time: the
    /// date is the store's and says that a refund or a transfer was made, whatever clock it is compared with.
    static func state(expiresAt: Int64?, graceUntil: Int64?, revokedAt: Int64?, at now: Int64) -> Entitlement.State {
        guard revokedAt == nil else { return .revoked }
        guard let expiresAt, expiresAt <= now else { return .active }
        if let graceUntil, graceUntil > now { return .grace }
        return .expired
    }
}
