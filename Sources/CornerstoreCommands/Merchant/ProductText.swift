import MerchantWire
import StoreWire

/// How products are shown to a person.
enum ProductText {
    /// A line for each product; the app only where there are several.
    static func table(_ products: [MerchantProduct], _ style: Style) -> String {
        let hasSeveralApps = Set(products.map(\.bundleID)).count > 1
        return Table(
            heading: ["app", "product", "kind", "gives", "shelf", "sale"],
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
                ("kind", product.kind.rawValue), ("gives", gives(product)), ("shelf", product.shelf),
                ("sale", product.isOnSale ? "on sale" : "not on sale; what was bought is still redeemed"),
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

    /// - Parameter lifetime: in seconds.
    private static func text(_ lifetime: Int64?) -> String { lifetime.map { " for \(Span.text($0 * 1_000))" } ?? "" }
}
