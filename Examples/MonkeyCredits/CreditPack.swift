import PurchaseVault

/// What the app sells: it knows the identifiers and what each is worth; names and prices come from the store.
public struct CreditPack: Sendable, Equatable {
    public let productIdentifier: String
    public let credits: Int

    public static let all = [
        CreditPack(productIdentifier: "com.example.monkeys.credits5", credits: 5),
        CreditPack(productIdentifier: "com.example.monkeys.credits10", credits: 10),
    ]

    /// The name of the balance in the vault.
    public static let currency = "credits"

    /// What the vault needs to know: what buying each product gives.
    public static let grants = Dictionary(
        uniqueKeysWithValues: all.map { ($0.productIdentifier, VaultGrant.credit($0.credits, of: currency)) })

    /// The pack of a product's identifier, whole (`com.example.monkeys.credits5`) or short (`credits5`).
    public static func named(_ name: String) -> CreditPack? {
        all.first { $0.productIdentifier == name || $0.productIdentifier.hasSuffix(".\(name)") && !name.contains(".") }
    }
}
