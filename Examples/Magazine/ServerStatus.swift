import Foundation
import MerchantClient

/// The subscription's state according to the app's own server, the merchant. The server also knows whether the
/// subscription renews, and whether it has a grace period, if the store told it.
public struct ServerStatus: Sendable, Equatable {
    /// The name of the entitlement that each plan gives.
    public static let entitlement: EntitlementID = "magazine"

    private let right: Entitlement

    /// Finds the entitlement to the magazine, a usable one if there is one; nil without any.
    public init?(_ list: EntitlementList) {
        let rights = list.entitlements.filter { $0.entitlement == Self.entitlement }
        let newest = rights.max { ($0.isUsable ? 1 : 0, $0.expiresAt ?? 0) < ($1.isUsable ? 1 : 0, $1.expiresAt ?? 0) }
        guard let newest else { return nil }
        right = newest
    }

    /// Whether the reader may read.
    public var isActive: Bool { right.isUsable }

    /// The status for the reader.
    public var text: String {
        let title = Self.title(right.productID.rawValue)
        let end = Self.day(right.expiresAt)
        switch right.state {
        case .active: return "\(title), until \(end)\(renewal)"
        case .grace: return "\(title), not paid since \(end), and readable until \(Self.day(right.graceUntil))"
        case .expired: return "\(title), over since \(end)"
        case .revoked: return "\(title), refunded"
        }
    }

    private var renewal: String {
        switch right.willRenew {
        case nil: ""
        case false?: ", and does not renew"
        case true?:
            right.renewsAs.map { $0 == right.productID ? ", and renews" : ", and then \(Self.title($0.rawValue))" }
                ?? ", and renews"
        }
    }

    private static func title(_ product: String) -> String { Plan.named(product)?.title ?? product }

    private static func day(_ milliseconds: Int64?) -> String {
        milliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000).day } ?? "an unknown date"
    }
}
