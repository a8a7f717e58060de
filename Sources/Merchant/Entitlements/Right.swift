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

    /// The state of a right at a point in time.
    static func state(expiresAt: Int64?, graceUntil: Int64?, revokedAt: Int64?, at now: Int64) -> Entitlement.State {
        if let revokedAt, revokedAt <= now { return .revoked }
        guard let expiresAt, expiresAt <= now else { return .active }
        if let graceUntil, graceUntil > now { return .grace }
        return .expired
    }
}
