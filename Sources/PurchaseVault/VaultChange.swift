/// What recording a purchase changed.
public enum VaultChange: Sendable, Hashable {
    /// The product is unlocked now, and was not before.
    case unlocked(String)
    /// So much was added to the balance of a currency.
    case credited(Int, of: String)
    /// The product was taken back: the receipt says it was refunded.
    case revoked(String)
    /// It stood in the vault before, and nothing was added.
    case alreadyRecorded
}

/// What ``PurchaseVault/spend(_:of:key:)`` did.
public enum VaultSpend: Sendable, Equatable {
    /// It was taken from the balance, of which this much is left.
    case spent(left: Int)
    /// A spend of this key was made before, and nothing was taken now.
    case alreadySpent
}
