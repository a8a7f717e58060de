import PurchaseVault

/// A product of the app. Its name and price come from the store.
public struct CreditPack: Sendable, Equatable {
    /// The product's identifier.
    public let productIdentifier: String
    /// The number of credits in the pack.
    public let credits: Int

    /// All packs.
    public static let all = [
        CreditPack(productIdentifier: "com.example.monkeys.credits5", credits: 5),
        CreditPack(productIdentifier: "com.example.monkeys.credits10", credits: 10),
    ]

    /// The name of the balance in the vault.
    public static let currency = "credits"

    /// The grants of each product, for the vault.
    public static let grants = Dictionary(
        uniqueKeysWithValues: all.map { ($0.productIdentifier, VaultGrant.credit($0.credits, of: currency)) })

    /// Returns the pack with a product identifier, in full (`com.example.monkeys.credits5`) or short (`credits5`).
    public static func named(_ name: String) -> CreditPack? {
        all.first { $0.productIdentifier == name || $0.productIdentifier.hasSuffix(".\(name)") && !name.contains(".") }
    }
}
