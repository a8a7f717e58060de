/// The findings of opening a vault.
public struct VaultReport: Sendable, Equatable {
    /// The differences from the state in which the vault was last written; empty when there are none.
    public var incidents: [VaultIncident]
    /// The number of times the vault was written since its creation.
    public var generation: Int

    /// Whether there are no incidents.
    public var isClean: Bool { incidents.isEmpty }
}

/// A difference from the state in which the vault was last written. No incident grants anything.
public enum VaultIncident: Sendable, Equatable, CustomStringConvertible {
    /// The file was changed, truncated, or encrypted with another key. The vault moved it aside and ignores its
    /// contents.
    case unreadable
    /// The vault was written before, but its file is missing.
    case missing
    /// The file is an older copy, of `generation`, while the vault wrote `last` generations. Unlocks stay. Each balance
    /// is the lower of the copy's and the last known one.
    case rolledBack(generation: Int, last: Int)
    /// The mark, which is stored apart from the file, is missing or was changed. The file may therefore be an older
    /// copy. Unlocks stay. Balances are zero.
    case unmarked
    /// The mark is older than the file.
    case markRolledBack
    /// The receipt of a purchase no longer verifies. The purchase grants nothing until it does.
    case evidenceRefused(productIdentifier: String, reason: String)
    /// The vault was created on another device. The vault kept the products in this device's own receipt, dropped the
    /// others and reset the balances.
    case rebound(kept: [String], dropped: [String])

    /// A sentence that describes the incident.
    public var description: String {
        switch self {
        case .unreadable: "The vault was changed from outside or belongs to another device. It was put aside."
        case .missing: "The vault was removed."
        case .rolledBack(let generation, let last):
            "The vault is an older copy: generation \(generation), while the last one written was \(last)."
        case .unmarked: "The vault's mark was removed or changed. Balances start from zero."
        case .markRolledBack: "The vault's mark is an older copy."
        case .evidenceRefused(let product, let reason): "The receipt of \(product) does not verify: \(reason)."
        case .rebound(let kept, let dropped):
            "The vault was created on another device. Products kept by this device's receipt: \(kept.count); dropped: "
                + "\(dropped.count)."
        }
    }
}
