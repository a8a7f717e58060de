import Database
import StoreWire

extension Store {
    /// A purchase that lacks nothing but its record.
    public struct PreparedPurchase: Sendable {
        fileprivate let request: PurchaseRequest
        fileprivate let account: Account
        fileprivate let sale: Sale
        fileprivate let transaction: Transaction
        fileprivate let purchase: Purchase
    }

    /// Prepares the most frequent purchase without waiting for anything: a consumable, by an account that this process knows, approved by the
    /// sandbox's processor without rules. ``purchase(_:by:)`` is for all others, and would give this one the same answer.
    /// - Returns: nil when it is not such a purchase, or would be refused.
    public func preparePurchase(_ request: PurchaseRequest, token: some StringProtocol) -> PreparedPurchase? {
        guard asksFreely, request.offer == nil, !faults.isOrdered(.purchases),
            let account = accounts.knownAccount(token: token),
            !asks(account, request), !account.interruptsPurchases, (try? Self.validate(request)) != nil,
            let app = catalog.value.app(request.bundleID),
            case .sell(let sale) = try? terms(request, app: app, account: account), sale.product.kind == .consumable,
            sale.isAgreed(to: request)
        else { return nil }
        let transaction = transaction(sale, request, account)
        let reference =
            sale.amount.milliunits > 0 ? SandboxPaymentProcessor.reference(request.idempotencyKey) : Self.freeReference
        return PreparedPurchase(
            request: request, account: account, sale: sale, transaction: transaction,
            purchase: Self.purchase(transaction, request, reference: reference))
    }

    /// Whether ``preparePurchase(_:token:)`` would know who buys.
    public func knowsAccount(token: some StringProtocol) -> Bool { accounts.knownAccount(token: token) != nil }

    /// Looks up who buys.
    /// - Parameter completion: called on a thread of the database; with false when nobody may buy with this token, and ``account(token:)`` will
    ///   tell why.
    public func learnAccount(token: some StringProtocol, completion: @escaping @Sendable (Bool) -> Void) {
        accounts.learnAccount(token: token) { completion($0 != nil) }
    }

    /// Records a prepared purchase.
    /// - Parameter completion: called on a thread of the database, once the purchase is durable; with nil when it could not be recorded, and
    ///   ``purchase(_:by:)`` under the same key will tell why.
    public func record(_ prepared: PreparedPurchase, completion: @escaping @Sendable (PurchaseResponse?) -> Void) {
        database.write { connection in
            try Self.record(
                prepared.purchase, prepared.transaction, prepared.sale, prepared.request, prepared.account, connection)
        } completion: { result in
            completion(try? result.get().response)
        }
    }
}
