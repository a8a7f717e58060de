/// A change made by recording a purchase.
public enum VaultChange: Sendable, Hashable {
    /// The product was unlocked.
    case unlocked(String)
    /// The amount was added to the balance of a currency.
    case credited(Int, of: String)
    /// The product was revoked, because the receipt shows it as refunded.
    case revoked(String)
    /// The purchase was recorded before. Nothing changed.
    case alreadyRecorded
}

/// The result of ``PurchaseVault/spend(_:of:key:)``.
public enum VaultSpend: Sendable, Equatable {
    /// The amount was deducted. `left` is the remaining balance.
    case spent(left: Int)
    /// The vault made a spend with this key before. Nothing was deducted.
    case alreadySpent
}
