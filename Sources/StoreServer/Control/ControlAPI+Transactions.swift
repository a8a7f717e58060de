import ControlWire
import Store
import StoreWire

extension LedgerRow {
    /// The date of the purchase, in milliseconds since 1970.
    var purchaseDate: Int64 {
        switch self {
        case .product(let transaction): transaction.purchaseDate
        case .item(let purchase): purchase.purchaseDate
        }
    }
}

extension ControlAPI.Transaction {
    init(_ row: LedgerRow, _ catalog: Catalog) {
        switch row {
        case .product(let transaction): self.init(transaction)
        case .item(let purchase): self.init(purchase, catalog.storeItem(purchase.item))
        }
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
            revocationReason: transaction.revocationReason.flatMap(RevocationReason.init(rawValue:)).map(\.name),
            refunded: transaction.refunded == 0
                ? nil : Money(milliunits: transaction.refunded, currency: transaction.price.currency).decimal,
            isUpgraded: transaction.isUpgraded ? true : nil, sharedFrom: transaction.sharedFrom?.description,
            orderId: transaction.orderID?.description)
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
            revocationReason: purchase.revocationReason.map(\.name),
            refunded: purchase.revokedAt == nil ? nil : purchase.price.decimal, item: purchase.item,
            name: item?.text(for: []).name)
    }
}

extension ControlAPI.TransactionDetail {
    init(_ entry: LedgerEntry, _ catalog: Catalog) {
        self.init(
            transaction: ControlAPI.Transaction(entry.row, catalog), email: entry.account?.email, storefront: "",
            itemId: 0, originalPurchaseDate: "", chain: entry.chain.map(ControlAPI.Transaction.init),
            deliveries: entry.deliveries.map(ControlAPI.RestoredDelivery.init),
            purchase: entry.attempt.map(ControlAPI.Attempt.init))
        switch entry.row {
        case .product(let transaction):
            storefront = transaction.storefront
            itemId = transaction.itemID
            originalPurchaseDate = ControlAPI.text(transaction.originalPurchaseDate)
            webOrderLineItemId = transaction.webOrderLineItemID
            subscriptionGroupId = transaction.subscriptionGroupID?.rawValue
            offer = transaction.offer?.rawValue
            promotionalOfferId = transaction.promotionalOfferID
            offerCodeName = transaction.offerCodeName
            winBackOfferId = transaction.winBackOfferID
            applicationUsername = transaction.applicationUsername
        case .item(let purchase):
            storefront = purchase.storefront
            itemId = purchase.item
            originalPurchaseDate = ControlAPI.text(purchase.purchaseDate)
            itemVersion = purchase.version
            chain = [transaction]
        }
    }
}

extension ControlAPI.RestoredDelivery {
    init(_ delivery: RestoredDelivery) {
        self.init(
            transactionId: delivery.transactionID.description, sourceTransactionId: delivery.sourceID.description,
            deviceId: delivery.deviceID,
            restoredDate: ControlAPI.text(delivery.restoredAt), finishedDate: delivery.finishedAt.map(ControlAPI.text))
    }
}

extension ControlAPI.Attempt {
    init(_ attempt: PurchaseAttempt) {
        self.init(
            attemptId: attempt.attemptID.description, key: attempt.idempotencyKey,
            accountId: attempt.accountID.rawValue, bundleId: attempt.bundleID.rawValue,
            productId: attempt.productID.rawValue, quantity: attempt.quantity, amount: attempt.amount.decimal,
            currency: attempt.amount.currency, state: State(attempt.state),
            failure: attempt.failure.map { ControlAPI.Failure(code: $0.code.rawValue, message: $0.message) },
            transactionId: attempt.transactionID?.description, paymentReference: attempt.paymentReference,
            applicationUsername: attempt.applicationUsername,
            storefront: attempt.storefront, createdDate: ControlAPI.text(attempt.createdAt))
        switch attempt.namedOffer?.kind {
        case .promotional: promotionalOfferId = attempt.namedOffer?.id
        case .code: offerCodeName = attempt.namedOffer?.id
        case .winBack: winBackOfferId = attempt.namedOffer?.id
        case nil: break
        }
    }
}

extension ControlAPI.Attempt.State {
    init(_ state: PurchaseAttempt.State) {
        self =
            switch state {
            case .bought: .bought
            case .declined: .declined
            case .waiting: .waiting
            case .interrupted: .interrupted
            }
    }
}

extension ControlAPI.SearchHit {
    init(_ hit: SearchHit, _ catalog: Catalog) {
        switch hit {
        case .row(let row):
            let transaction = ControlAPI.Transaction(row, catalog)
            self.init(
                kind: .transaction, id: transaction.transactionId,
                bundleId: transaction.bundleId.isEmpty ? nil : transaction.bundleId,
                title: transaction.name ?? transaction.productId)
        case .account(let account):
            self.init(kind: .account, id: account.accountID.rawValue, title: account.email)
        case .product(let product, let app):
            self.init(
                kind: .product, id: product.productID.rawValue, bundleId: app.bundleID.rawValue,
                title: product.referenceName ?? product.productID.rawValue)
        case .app(let app):
            self.init(
                kind: .app, id: app.bundleID.rawValue, bundleId: app.bundleID.rawValue,
                title: app.name ?? app.bundleID.rawValue)
        }
    }
}
