import Database
import Foundation
import StoreWire

/// A request to buy an item.
public struct ItemPurchaseRequest: Sendable, Equatable {
    /// The item's number.
    public var item: Int64
    /// The price that the customer has seen and agreed to; nil for whatever it costs.
    public var agreedPrice: Money?
    /// The first answer to a key is final.
    public var idempotencyKey: UUID

    /// Creates a request.
    public init(item: Int64, agreedPrice: Money? = nil, idempotencyKey: UUID) {
        self.item = item
        self.agreedPrice = agreedPrice
        self.idempotencyKey = idempotencyKey
    }
}

extension Store {
    /// Buys an item for an account, at the price of its storefront. An item that the account owns is not bought again:
    /// the answer is the purchase by which it is owned, for a song of an owned album that of the album. A free item is
    /// bought for nothing.
    ///
    /// Repeating a request with its key returns the same answer, and nothing is paid twice. A song that the account
    /// buys while its album is being bought is given back, and the album is paid alone. A refusal by the storefront,
    /// the account's settings or the payment processor is recorded as an attempt.
    /// - Returns: the purchase.
    /// - Throws: ``StoreError`` `not_found` for an unknown item, `product_not_available` when the storefront does not
    ///   sell it, `payment_not_allowed` when the account may not pay, `awaits_approval` when it must ask first,
    ///   `payment_declined`, `price_changed`, `idempotency_key_reused`, `unavailable`, `internal_error` when the
    ///   account's storefront is unknown; ``DatabaseError`` when the purchase could not be recorded. Nothing is bought
    ///   when this throws.
    public func buyItem(_ request: ItemPurchaseRequest, by account: Account) async throws -> ItemPurchase {
        if let known = try await earlierAnswer(to: request, by: account) { return known }
        // A purchase with a later identifier was made meanwhile.
        let began = ids.next()
        guard let item = catalog.value.storeItem(request.item) else {
            throw StoreError(.notFound, "There is no item with the number \(request.item).")
        }
        let storefront = try storefront(of: account)
        guard let price = item.price(in: storefront) else {
            return try await refuse(
                request, of: item, for: Money(milliunits: 0, currency: storefront.currency), by: account,
                WireError(
                    code: .productNotAvailable,
                    message: "The storefront \(storefront.countryCode) does not sell the item \(item.number)."))
        }
        guard account.paymentsAllowed else {
            return try await refuse(
                request, of: item, for: price, by: account,
                WireError(code: .paymentNotAllowed, message: "This account may not make payments."))
        }
        guard request.agreedPrice.map({ $0 == price }) ?? true else {
            throw StoreError(.priceChanged, "The price has changed to \(price.decimal) \(price.currency).")
        }
        if account.asksToBuy { return try await ask(request, for: price, by: account) }
        let reference: String
        switch try await authorize(price, item, request, account) {
        case .approved(let approved): reference = approved
        case .declined(let message):
            return try await refuse(
                request, of: item, for: price, by: account, WireError(code: .paymentDeclined, message: message))
        }
        let new = ItemPurchase(
            ids.next(), item, price, request, by: account, reference: reference, at: clock.milliseconds)
        let (recorded, parts) = try await record(new, of: item, began, request, by: account)
        changed(.transactions)
        try await refund(parts, givenBackBy: recorded)
        // Another request bought the item meanwhile. Its payment has another key.
        if recorded.idempotencyKey != request.idempotencyKey, price.milliunits > 0 {
            await processor.void(request.idempotencyKey)
        }
        return recorded
    }

    /// Records a purchase, unless the account owns the item by now.
    /// - Parameter began: an identifier that was made when the request began.
    /// - Returns: the purchase by which the account owns the item, and the parts of a collection that were given back.
    private func record(
        _ new: ItemPurchase, of item: CatalogItem, _ began: TransactionID, _ request: ItemPurchaseRequest,
        by account: Account
    ) async throws -> (purchase: ItemPurchase, parts: [ItemPurchase]) {
        let (collection, catalog) = (item.place?.collection, catalog.value)
        return try await database.write { [environment] connection in
            if let known = try Self.knownPurchase(request, account, collection, connection) { return (known, []) }
            try ItemPurchases.insert(new, in: environment, connection)
            guard item.kind.isCollection else { return (new, []) }
            return (new, try Self.giveBackParts(of: new, boughtSince: began, catalog, connection))
        }
    }

    /// The purchase by which an account owns an item; nil when it does not. A song belongs to the owner of its album,
    /// and an episode to the owner of its season.
    /// - Throws: ``DatabaseError``.
    public func ownedItem(_ item: Int64, by account: Account) async throws -> ItemPurchase? {
        let collection = try await collection(of: item)
        return try await database.read { try Self.owned(item, collection, by: account, $0) }
    }

    /// The album or season that an item belongs to. One that has left the catalog belongs to that of its last delivery.
    func collection(of number: Int64) async throws -> Int64? {
        if let item = catalog.value.storeItem(number) { return item.place?.collection }
        guard let content else { return nil }
        return try await content.database.read { try ItemBlob.find(number, $0) }?.collection
    }

    static func owned(
        _ item: Int64, _ collection: Int64?, by account: Account, _ connection: Connection
    ) throws -> ItemPurchase? {
        if let own = try ItemPurchases.owned(item, by: account.accountID, connection) { return own }
        return try collection.flatMap { try ItemPurchases.owned($0, by: account.accountID, connection) }
    }

    /// The account's library: its purchases of items that were not refunded, oldest first.
    /// - Parameters:
    ///   - after: the last purchase of the page before; nil for the first page.
    ///   - limit: the most purchases, 1 to 1,000.
    /// - Throws: ``DatabaseError``.
    public func ownedItems(
        of account: Account, after: TransactionID? = nil, limit: Int = 1_000
    ) async throws -> [ItemPurchase] {
        try await database.read {
            try ItemPurchases.owned(by: account.accountID, after: after, limit: min(max(limit, 1), 1_000), $0)
        }
    }

    /// The best-selling items of a storefront, by the number of purchases that were not refunded.
    /// - Parameters:
    ///   - first: the first moment that counts, in milliseconds since 1970.
    ///   - end: the first moment that no longer counts.
    ///   - limit: the most items.
    /// - Throws: ``DatabaseError``.
    public func itemSales(
        in storefront: Storefront, from first: Int64, until end: Int64, limit: Int
    ) async throws -> [ItemSales] {
        try await database.read {
            try ItemPurchases.sales(in: storefront.countryCode, from: first, until: end, limit: limit, $0)
        }
    }

    /// Refunds the purchase of an item. The account no longer owns it, and can buy it again.
    ///
    /// As with ``refund(_:reason:)``, repeating the call tells the payment processor again when it could not be
    /// reached.
    /// - Throws: ``StoreError`` `unknown_transaction`, `wrong_state` when it was refunded before, `unavailable` when
    ///   the ledger has the refund but the processor could not be reached; ``DatabaseError``.
    public func refundItem(_ transactionID: TransactionID, reason: RevocationReason) async throws -> ItemPurchase {
        let now = clock.milliseconds
        let (purchase, isNew) = try await database.write { connection in
            let isNew = try ItemPurchases.revoke(transactionID, at: now, reason: reason, connection)
            guard let purchase = try ItemPurchases.find(transactionID, connection) else {
                throw StoreError(.unknownTransaction, "The ledger has no purchase of an item with this number.")
            }
            return (purchase, isNew)
        }
        changed(.transactions)
        if purchase.price.milliunits > 0 {
            do {
                try await processor.refund(purchase.refund)
            } catch {
                throw StoreError(
                    .unavailable,
                    "The ledger has the refund, but the payment processor could not be reached. Refund the purchase again to notify it."
                )
            }
        }
        guard isNew else { throw StoreError(.wrongState, "The purchase was refunded before.") }
        return purchase
    }

    /// Answers a request whose key has an answer, or whose item the account owns; nil when it has to be decided. The
    /// process may have ended before it told the payment processor what follows from the answer, so this does it again.
    private func earlierAnswer(to request: ItemPurchaseRequest, by account: Account) async throws -> ItemPurchase? {
        let key = request.idempotencyKey
        let collection = try await collection(of: request.item)
        do {
            let known = try await database.read { try Self.knownPurchase(request, account, collection, $0) }
            if let known { try await useNoPayment(under: key, besides: known) }
            if let known, known.idempotencyKey == key { try await refundPartsAgain(of: known) }
            return known
        } catch let error as StoreError where Self.finalRefusals.contains(error.code) {
            await processor.void(key)
            throw error
        }
    }

    /// The refusals that the key of a request keeps. A request that waits is not among them.
    private static let finalRefusals: [WireError.Code] = [
        .productNotAvailable, .paymentNotAllowed, .paymentDeclined,
    ]

    /// Voids the authorization under the key of a request that another purchase answers, unless the request waits for
    /// approval.
    func useNoPayment(under key: UUID, besides known: ItemPurchase) async throws {
        guard known.idempotencyKey != key else { return }
        let asked = try await database.read { try ItemRequest.find(key, $0) }
        if asked?.state != .waiting { await processor.void(key) }
    }

    /// The first answer to the request's key, or the purchase by which the account owns the item.
    static func knownPurchase(
        _ request: ItemPurchaseRequest, _ account: Account, _ collection: Int64?, _ connection: Connection
    ) throws -> ItemPurchase? {
        if let first = try ItemPurchases.find(key: request.idempotencyKey, connection) {
            guard first.accountID == account.accountID, first.item == request.item else {
                throw StoreError(
                    .idempotencyKeyReused, "The idempotency key was used for another purchase. Make a new one.")
            }
            return first
        }
        guard try Purchase.find(request.idempotencyKey, connection) == nil else {
            throw StoreError(
                .idempotencyKeyReused, "The idempotency key was used for another purchase. Make a new one.")
        }
        let owned = try owned(request.item, collection, by: account, connection)
        if let asked = try ItemRequest.find(request.idempotencyKey, connection) {
            guard asked.accountID == account.accountID, asked.item == request.item else {
                throw StoreError(
                    .idempotencyKeyReused, "The idempotency key was used for another purchase. Make a new one.")
            }
            if owned == nil, let refusal = asked.refusal { throw refusal }
        }
        return owned
    }

    func authorize(
        _ price: Money, _ item: CatalogItem, _ request: ItemPurchaseRequest, _ account: Account
    ) async throws -> PaymentDecision {
        guard price.milliunits > 0 else { return .approved(reference: Self.freeReference) }
        do {
            return try await processor.authorize(
                PaymentAuthorization(
                    idempotencyKey: request.idempotencyKey, accountID: account.accountID,
                    bundleID: item.bundleID ?? "", productID: item.paymentName, amount: price))
        } catch {
            throw StoreError(.unavailable, "The payment processor cannot be reached. Try again.")
        }
    }
}

extension CatalogItem {
    /// The name under which payment rules know the item: `item.1400000003`.
    public var paymentName: ProductID { Self.paymentName(number) }

    static let paymentPrefix = "item."

    static func paymentName(_ number: Int64) -> ProductID { ProductID(paymentPrefix + "\(number)") }
}
