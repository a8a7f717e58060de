import ControlWire
import Store

extension ControlAPI.Transaction {
    /// The newest rows of both parts of the ledger.
    static func newest(
        _ limit: Int, of products: [Transaction], items: [ItemPurchase], named catalog: Catalog
    ) -> [ControlAPI.Transaction] {
        let rows =
            products.map { ($0.transactionID, ControlAPI.Transaction($0)) }
            + items.map { ($0.transactionID, ControlAPI.Transaction($0, catalog.storeItem($0.item))) }
        return rows.sorted { $0.0 > $1.0 }.prefix(limit).map(\.1)
    }

    init(_ transaction: Transaction) {
        self.init(
            transactionId: transaction.transactionID.description,
            originalTransactionId: transaction.originalTransactionID.description,
            accountId: transaction.accountID.rawValue,
            bundleId: transaction.bundleID.rawValue, productId: transaction.productID.rawValue,
            kind: transaction.kind.rawValue,
            quantity: transaction.quantity, price: transaction.price.decimal, currency: transaction.price.currency,
            purchaseDate: ControlAPI.text(transaction.purchaseDate),
            expiresDate: transaction.expiresDate.map(ControlAPI.text),
            finishedDate: transaction.finishedAt.map(ControlAPI.text),
            revocationDate: transaction.revokedAt.map(ControlAPI.text),
            revocationReason: transaction.revocationReason.flatMap(RevocationReason.init(rawValue:)).map(\.name))
    }

    /// The purchase of an item; `item` is nil when the catalog no longer has it.
    init(_ purchase: ItemPurchase, _ item: CatalogItem?) {
        self.init(
            transactionId: purchase.transactionID.description,
            originalTransactionId: purchase.transactionID.description, accountId: purchase.accountID.rawValue,
            bundleId: item?.bundleID?.rawValue ?? "", productId: "item.\(purchase.item)", kind: "item", quantity: 1,
            price: purchase.price.decimal, currency: purchase.price.currency,
            purchaseDate: ControlAPI.text(purchase.purchaseDate), expiresDate: nil, finishedDate: nil,
            revocationDate: purchase.revokedAt.map(ControlAPI.text),
            revocationReason: purchase.revocationReason.map(\.name), item: purchase.item,
            name: item?.text(for: []).name)
    }
}
