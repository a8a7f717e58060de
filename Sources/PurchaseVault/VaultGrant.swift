/// What buying a product gives in an app.
public enum VaultGrant: Sendable, Equatable {
    /// The product itself, for as long as it is owned: non-consumables, and subscriptions until they run out.
    case unlock
    /// So many units of a currency for each piece bought; for consumables.
    ///
    /// The amount belongs to the product's identifier for good, since balances are counted anew from the receipts:
    /// sell another product to sell another amount.
    case credit(Int, of: String)
}
