import ArgumentParser
import MerchantWire
import StoreWire

/// What `merchant products put` is to make of a product: what is not named stays as it is.
struct ProductChange: ParsableArguments {
    enum Sale: String, EnumerableFlag {
        case onSale
        case offSale

        static func help(for value: Sale) -> ArgumentHelp? {
            value == .onSale ? "Apps are shown it (as is usual)." : "Apps are not; what was bought is still redeemed."
        }
    }

    @Option(
        help: ArgumentHelp(
            "What it is: \(ProductKind.allCases.map(\.rawValue).joined(separator: ", ")). It cannot change later."),
        completion: .list(ProductKind.allCases.map(\.rawValue)), transform: Self.kind)
    var kind: ProductKind?
    @Option(
        help: ArgumentHelp(
            "Credits that one unit gives, 100:gold; with a third part they end after so long, 100:gold:30d. Again for another currency.",
            valueName: "amount:currency"), transform: Self.credits)
    var credits: [ProductGrant] = []
    @Option(
        help: ArgumentHelp(
            "What it entitles to; of a consumable or a non-renewing subscription for so long, pass:30d. Again for another.",
            valueName: "name"), transform: Self.entitlement)
    var entitlement: [ProductGrant] = []
    @Option(
        help: ArgumentHelp("The content item that it gives; may be given again.", valueName: "item"))
    var content: [String] = []
    @Option(
        help: ArgumentHelp(
            "Where the app shows it, in a word of its own; an empty one takes it away.", valueName: "word"))
    var shelf: String?
    @Flag var sale: Sale?

    /// All that is named to be given: it takes the place of all that was.
    private var grants: [ProductGrant] {
        credits + entitlement + content.map { .content(ContentItemID($0)) }
    }

    /// To be called once the whole command was read, so that an option that is none is told of first.
    func checkIsNamed() throws {
        guard kind != nil || !grants.isEmpty || shelf != nil || sale != nil else {
            throw ValidationError(
                "Name what it is to be: --kind, --credits, --entitlement, --content, --shelf, --on-sale or --off-sale.")
        }
    }

    /// - Parameter old: the product as it stands; nil for one that is not on the list.
    /// - Throws: ``CommandError`` when something is missing of a new one.
    func applied(to old: MerchantProduct?, _ bundleID: BundleID, _ productID: ProductID) throws -> MerchantProduct {
        guard let kind = kind ?? old?.kind, let grants = self.grants.isEmpty ? old?.grants : self.grants else {
            throw CommandError(
                .usage,
                "There is no product \(Style.printable(productID.rawValue)) in \(Style.printable(bundleID.rawValue)) yet. A new one needs "
                    + "--kind, and what it gives: --credits, --entitlement or --content.")
        }
        return MerchantProduct(
            bundleID: bundleID, productID: productID, kind: kind, grants: grants,
            isOnSale: sale.map { $0 == .onSale } ?? old?.isOnSale ?? true,
            shelf: shelf.map { $0.isEmpty ? nil : $0 } ?? old?.shelf)
    }

    private static func kind(_ text: String) throws -> ProductKind {
        guard let kind = ProductKind(rawValue: text) else {
            throw ValidationError("There are \(ProductKind.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return kind
    }

    private static func credits(_ text: String) throws -> ProductGrant {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), let amount = Int64(parts[0]), !parts[1].isEmpty else {
            throw ValidationError(
                "Credits are AMOUNT:CURRENCY, such as 100:gold, or AMOUNT:CURRENCY:TIME, such as 100:gold:30d.")
        }
        guard parts.count == 3 else { return .credits(CurrencyID(parts[1]), amount: amount, lifetime: nil) }
        guard let seconds = lifetime(parts[2]) else {
            throw ValidationError("Credits end after a time in whole seconds, such as 30d, 12h or 1d12h.")
        }
        return .credits(CurrencyID(parts[1]), amount: amount, lifetime: seconds)
    }

    /// What follows the last colon is a lifetime if it reads as one; a name may have colons.
    private static func entitlement(_ text: String) -> ProductGrant {
        guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
            let seconds = lifetime(String(text[text.index(after: colon)...]))
        else { return .entitlement(EntitlementID(text)) }
        return .entitlement(EntitlementID(String(text[..<colon])), lifetime: seconds)
    }

    /// In seconds; nil for what is no whole number of them.
    private static func lifetime(_ text: String) -> Int64? {
        guard let span = Span(argument: text), span.milliseconds > 0, span.milliseconds % 1_000 == 0 else { return nil }
        return span.milliseconds / 1_000
    }
}
