/// What was found when a vault was opened.
public struct VaultReport: Sendable, Equatable {
    /// What was not as the vault had left it; empty when all is well.
    public var incidents: [VaultIncident]
    /// How often the vault was written, over its whole life.
    public var generation: Int

    /// Whether all was as the vault had left it.
    public var isClean: Bool { incidents.isEmpty }
}

/// Something that was not as the vault had left it. None of them grants anything.
public enum VaultIncident: Sendable, Equatable, CustomStringConvertible {
    /// The file was changed, cut off, or sealed with another key. It was moved aside; what it held is not believed.
    case unreadable
    /// The file is gone, though the vault was written before.
    case missing
    /// The file is an older copy: this generation, while the last one written is the other. Unlocks stay; each balance
    /// is the lower of the copy's and the last one known.
    case rolledBack(generation: Int, last: Int)
    /// The mark that is kept apart from the file is gone or was changed, so that nobody can say whether the file is the
    /// newest. Unlocks stay; balances are nought.
    case unmarked
    /// The mark is older than the file.
    case markRolledBack
    /// The evidence of a purchase does not verify any more. It gives nothing while that is so.
    case evidenceRefused(productIdentifier: String, reason: String)
    /// The vault was made on another device. What this device's own receipt proves was kept, the rest was dropped, and
    /// balances stayed behind.
    case rebound(kept: [String], dropped: [String])

    /// A sentence for people.
    public var description: String {
        switch self {
        case .unreadable: "The vault was changed from outside, or is another device's; it was put aside."
        case .missing: "The vault was removed."
        case .rolledBack(let generation, let last):
            "The vault is an older copy: number \(generation), while the last one written was \(last)."
        case .unmarked: "The vault's mark was removed or changed; balances start from nought."
        case .markRolledBack: "The vault's mark is an older copy."
        case .evidenceRefused(let product, let reason): "The receipt of \(product) does not verify: \(reason)."
        case .rebound(let kept, let dropped):
            "The vault was made on another device: \(kept.count) kept by this device's receipt, \(dropped.count) not."
        }
    }
}
