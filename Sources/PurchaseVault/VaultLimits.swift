/// What the vault takes at most.
enum VaultLimits {
    /// The whole file, in bytes.
    static let file = 32 << 20
    /// One receipt, in bytes.
    static let receipt = 2 << 20
    /// Receipts as evidence, together, in bytes.
    static let evidence = 16 << 20
    /// Unlocks, and credits that are not used up; each.
    static let entries = 10_000
    /// Transactions that were counted and need no evidence any more.
    static let counted = 50_000
    /// Spends whose keys are remembered.
    static let spends = 1_000
    /// Intermediate certificates.
    static let intermediates = 6
    /// Identifiers, currencies and keys, in bytes of UTF-8.
    static let text = 255
}
