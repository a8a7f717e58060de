import MerchantWire
import StoreWire

/// Formats products as text.
enum ProductText {
    /// Returns a table of the products. It shows the app only when there are several.
    static func table(_ products: [MerchantProduct], _ style: Style) -> String {
        let hasSeveralApps = Set(products.map(\.bundleID)).count > 1
        return Table(
            heading: ["app", "product", "kind", "grants", "shelf", "sale"],
            rows: products.map { product in
                [
                    hasSeveralApps ? product.bundleID.rawValue : "", product.productID.rawValue, product.kind.rawValue,
                    gives(product), product.shelf ?? "", product.isOnSale ? "" : "not on sale",
                ]
            }
        ).text(style)
    }

    static func fields(_ product: MerchantProduct, _ style: Style) -> String {
        Table.fields(
            [
                ("product", product.productID.rawValue), ("app", product.bundleID.rawValue),
                ("kind", product.kind.rawValue), ("grants", gives(product)), ("shelf", product.shelf),
                ("sale", product.isOnSale ? "on sale" : "not on sale; purchases can still be redeemed"),
            ], style)
    }

    private static func gives(_ product: MerchantProduct) -> String {
        product.grants.map(text).joined(separator: ", ")
    }

    private static func text(_ grant: ProductGrant) -> String {
        switch grant {
        case .credits(let currency, let amount, let lifetime):
            "\(amount) \(currency.rawValue)" + text(lifetime)
        case .entitlement(let name, let lifetime): "entitlement \(name.rawValue)" + text(lifetime)
        case .content(let item): "content \(item.rawValue)"
        }
    }

    /// Returns the lifetime as text, such as ` for 30d`.
    /// - Parameter lifetime: the lifetime in seconds.
    private static func text(_ lifetime: Int64?) -> String { lifetime.map { " for \(Span.text($0 * 1_000))" } ?? "" }
}
