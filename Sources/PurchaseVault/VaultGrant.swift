/// The grant of a product: what the customer receives for it.
public enum VaultGrant: Sendable, Equatable {
    /// Unlocks the product: a non-consumable for good, a subscription until it expires.
    case unlock
    /// Credits an amount of a currency for each unit bought. For consumables.
    ///
    /// The vault computes balances from the receipts, so a product's amount must never change. Sell another product to
    /// sell another amount.
    case credit(Int, of: String)
}
