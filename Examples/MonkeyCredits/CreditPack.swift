/// What the app sells: it knows the identifiers and what each is worth; names and prices come from the store.
public struct CreditPack: Sendable, Equatable {
    public let productIdentifier: String
    public let credits: Int

    public static let all = [
        CreditPack(productIdentifier: "com.example.monkeys.credits5", credits: 5),
        CreditPack(productIdentifier: "com.example.monkeys.credits10", credits: 10),
    ]

    /// The pack of a product's identifier, whole (`com.example.monkeys.credits5`) or short (`credits5`).
    public static func named(_ name: String) -> CreditPack? {
        all.first { $0.productIdentifier == name || $0.productIdentifier.hasSuffix(".\(name)") && !name.contains(".") }
    }
}
