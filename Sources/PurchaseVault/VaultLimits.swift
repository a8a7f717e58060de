/// The limits of a vault.
enum VaultLimits {
    /// The whole file, in bytes.
    static let file = 32 << 20
    /// One receipt, in bytes.
    static let receipt = 2 << 20
    /// All receipts together, in bytes.
    static let evidence = 16 << 20
    /// The number of unlocks, and of credits that are not used up.
    static let entries = 10_000
    /// The number of transactions that are used up and need no evidence any more.
    static let counted = 50_000
    /// The number of spends whose keys are remembered.
    static let spends = 1_000
    /// The number of intermediate certificates.
    static let intermediates = 6
    /// The length of identifiers, currencies and keys, in bytes of UTF-8.
    static let text = 255
}
