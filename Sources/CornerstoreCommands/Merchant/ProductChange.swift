import ArgumentParser
import MerchantWire
import StoreWire

/// The changes that `merchant products put` makes to a product. Settings that are not given keep their values.
struct ProductChange: ParsableArguments {
    enum Sale: String, EnumerableFlag {
        case onSale
        case offSale

        static func help(for value: Sale) -> ArgumentHelp? {
            value == .onSale
                ? "Show the product in apps (default)."
                : "Hide the product in apps. Its purchases can still be redeemed."
        }
    }

    @Option(
        help: ArgumentHelp(
            "The product's kind: \(ProductKind.allCases.map(\.rawValue).joined(separator: ", ")). It cannot change later."
        ),
        completion: .list(ProductKind.allCases.map(\.rawValue)), transform: Self.kind)
    var kind: ProductKind?
    @Option(
        help: ArgumentHelp(
            "The credits that one unit grants, such as 100:gold. A third part is their lifetime, such as 100:gold:30d. Repeat the option for several currencies.",
            valueName: "amount:currency"), transform: Self.credits)
    var credits: [ProductGrant] = []
    @Option(
        help: ArgumentHelp(
            "An entitlement that the product grants. For a consumable or a non-renewing subscription, append its duration, such as pass:30d. Repeat the option for several.",
            valueName: "name"), transform: Self.entitlement)
    var entitlement: [ProductGrant] = []
    @Option(
        help: ArgumentHelp(
            "A content item that the product grants. Repeat the option for several.", valueName: "item"))
    var content: [String] = []
    @Option(
        help: ArgumentHelp(
            "A word that tells the app where to show the product. An empty word removes it.", valueName: "word"))
    var shelf: String?
    @Flag var sale: Sale?

    /// All grants given on the command line. They replace all grants of the product.
    private var grants: [ProductGrant] {
        credits + entitlement + content.map { .content(ContentItemID($0)) }
    }

    /// Checks that at least one option is given.
    ///
    /// Call it from `run()`, not from `validate()`, so that ArgumentParser reports unknown options first.
    /// - Throws: `ValidationError` without any option.
    func checkIsNamed() throws {
        guard kind != nil || !grants.isEmpty || shelf != nil || sale != nil else {
            throw ValidationError(
                "Give at least one of --kind, --credits, --entitlement, --content, --shelf, --on-sale and --off-sale.")
        }
    }

    /// Returns the product with the changes.
    /// - Parameter old: the existing product; nil for a new one.
    /// - Throws: ``CommandError`` when a new product has no kind or grants.
    func applied(to old: MerchantProduct?, _ bundleID: BundleID, _ productID: ProductID) throws -> MerchantProduct {
        guard let kind = kind ?? old?.kind, let grants = self.grants.isEmpty ? old?.grants : self.grants else {
            throw CommandError(
                .usage,
                "There is no product \(Style.printable(productID.rawValue)) in \(Style.printable(bundleID.rawValue)) yet. A new product needs "
                    + "--kind and at least one of --credits, --entitlement and --content.")
        }
        return MerchantProduct(
            bundleID: bundleID, productID: productID, kind: kind, grants: grants,
            isOnSale: sale.map { $0 == .onSale } ?? old?.isOnSale ?? true,
            shelf: shelf.map { $0.isEmpty ? nil : $0 } ?? old?.shelf)
    }

    private static func kind(_ text: String) throws -> ProductKind {
        guard let kind = ProductKind(rawValue: text) else {
            throw ValidationError("The kinds are \(ProductKind.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return kind
    }

    private static func credits(_ text: String) throws -> ProductGrant {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), let amount = Int64(parts[0]), !parts[1].isEmpty else {
            throw ValidationError(
                "Credits must be AMOUNT:CURRENCY, such as 100:gold, or AMOUNT:CURRENCY:TIME, such as 100:gold:30d.")
        }
        guard parts.count == 3 else { return .credits(CurrencyID(parts[1]), amount: amount, lifetime: nil) }
        guard let seconds = lifetime(parts[2]) else {
            throw ValidationError("The credits' lifetime must be a time in whole seconds, such as 30d, 12h or 1d12h.")
        }
        return .credits(CurrencyID(parts[1]), amount: amount, lifetime: seconds)
    }

    /// Parses an entitlement. The part after the last colon is the lifetime if it is a time span; names may contain
    /// colons.
    private static func entitlement(_ text: String) -> ProductGrant {
        guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
            let seconds = lifetime(String(text[text.index(after: colon)...]))
        else { return .entitlement(EntitlementID(text)) }
        return .entitlement(EntitlementID(String(text[..<colon])), lifetime: seconds)
    }

    /// Returns a lifetime in seconds; nil when the text is not a positive number of whole seconds.
    private static func lifetime(_ text: String) -> Int64? {
        guard let span = Span(argument: text), span.months == 0, span.milliseconds > 0, span.milliseconds % 1_000 == 0
        else { return nil }
        return span.milliseconds / 1_000
    }
}
