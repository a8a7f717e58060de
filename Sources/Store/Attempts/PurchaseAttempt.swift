import Database
import Foundation
import StoreWire

/// A device's attempt to buy a product or an item, for the operator.
public struct PurchaseAttempt: Sendable, Equatable {
    /// The result of an attempt, as it is now.
    public enum State: String, Sendable, CaseIterable {
        /// The product was bought.
        case bought
        /// The purchase was refused, or declined by a person.
        case declined
        /// The purchase waits for approval.
        case waiting
        /// The purchase was interrupted and waits until it is resolved.
        case interrupted
    }

    /// The attempt's place in the series of transaction identifiers.
    public var attemptID: TransactionID
    /// The key of the purchase.
    public var idempotencyKey: UUID
    /// The account.
    public var accountID: AccountID
    /// The app's bundle identifier; empty for an item.
    public var bundleID: BundleID
    /// The product.
    public var productID: ProductID
    /// How many of the product, 1 to 10.
    public var quantity: Int
    /// The user name that the app gave with the payment.
    public var applicationUsername: String?
    /// The result.
    public var state: State
    /// The reason, when the purchase was declined or interrupted.
    public var failure: WireError?
    /// The transaction, when the product was bought.
    public var transactionID: TransactionID?
    /// The price for the whole quantity.
    public var amount: Money
    /// The payment processor's reference.
    public var paymentReference: String?
    /// When the device asked, in milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
    /// The promotional, code or win-back offer that the request named.
    public var namedOffer: NamedOffer?
    /// The account's storefront at the time of the request.
    public var storefront: String?

    init(_ purchase: Purchase, attemptID: TransactionID) {
        self.attemptID = attemptID
        idempotencyKey = purchase.idempotencyKey
        accountID = purchase.accountID
        bundleID = purchase.bundleID
        productID = purchase.productID
        quantity = purchase.quantity
        applicationUsername = purchase.applicationUsername
        state =
            switch purchase.state {
            case .purchased: .bought
            case .deferred: .waiting
            case .failed: purchase.waits ? .interrupted : .declined
            }
        failure = purchase.failure
        transactionID = purchase.transactionID
        amount = purchase.amount
        paymentReference = purchase.paymentReference
        createdAt = purchase.createdAt
        namedOffer = purchase.namedOffer
        storefront = purchase.storefront
    }

    /// A request for an item that was not bought at once. A request that was approved later lacks its transaction and
    /// the payment's reference.
    init(_ request: ItemRequest, attemptID: TransactionID) {
        self.attemptID = attemptID
        idempotencyKey = request.idempotencyKey
        accountID = request.accountID
        bundleID = ""
        productID = CatalogItem.paymentName(request.item)
        quantity = 1
        state =
            switch request.state {
            case .waiting: .waiting
            case .approved: .bought
            case .declined, .failed: .declined
            }
        failure =
            state == .declined
            ? request.failure ?? WireError(code: .paymentDeclined, message: "The request to buy was declined.") : nil
        amount = request.price
        createdAt = request.createdAt
        storefront = request.storefront
    }

    /// The attempt that a row of the ledger came from; nil when no payment of a device created it.
    static func bought(_ row: LedgerRow, _ connection: Connection) throws -> PurchaseAttempt? {
        switch row {
        case .product(let transaction):
            return try transaction.idempotencyKey.flatMap { try Purchase.find($0, connection) }
                .map { PurchaseAttempt($0, attemptID: transaction.transactionID) }
        case .item(let purchase):
            return PurchaseAttempt(purchase)
        }
    }

    init(_ purchase: ItemPurchase) {
        attemptID = purchase.transactionID
        idempotencyKey = purchase.idempotencyKey
        accountID = purchase.accountID
        bundleID = ""
        productID = CatalogItem.paymentName(purchase.item)
        quantity = 1
        state = .bought
        transactionID = purchase.transactionID
        amount = purchase.price
        paymentReference = purchase.paymentReference
        createdAt = purchase.purchaseDate
        storefront = purchase.storefront
    }
}

/// The attempts that the operator asks for. Properties that are nil select every attempt.
public struct AttemptQuery: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID?
    /// The product.
    public var productID: ProductID?
    /// The result. Nil selects the attempts that did not succeed at once, and `bought` the purchases of the ledger.
    public var state: PurchaseAttempt.State?
    /// The account.
    public var accountID: AccountID?
    /// The attempt before which the list begins; nil for the newest.
    public var before: TransactionID?
    /// The most attempts, 1 to 1,000.
    public var limit: Int

    /// Creates a query for the newest attempts.
    public init(before: TransactionID? = nil, accountID: AccountID? = nil, limit: Int = 50) {
        self.before = before
        self.accountID = accountID
        self.limit = min(max(limit, 1), 1_000)
    }

    var isFiltered: Bool { bundleID != nil || productID != nil || state != nil }
}

extension Store {
    /// Returns attempts to buy products and items for the operator, newest first.
    /// - Throws: ``DatabaseError``.
    public func attempts(_ query: AttemptQuery) async throws -> LedgerPage<PurchaseAttempt> {
        guard query.state == .bought else { return try await database.read { try Attempts.page(query, $0) } }
        var purchases = LedgerQuery(before: query.before, accountID: query.accountID, limit: query.limit)
        (purchases.bundleID, purchases.productID) = (query.bundleID, query.productID)
        let bought = purchases
        return try await database.read { connection in
            let page = try Self.ledger(bought, connection)
            return LedgerPage(
                rows: try page.rows.compactMap { try PurchaseAttempt.bought($0, connection) }, next: page.next)
        }
    }
}
