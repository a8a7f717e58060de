import Database
import StoreWire

extension Store {
    /// A purchase that is ready to be recorded. It has so many members that each copy of a structure would cost more
    /// than this object.
    public final class PreparedPurchase: Sendable {
        fileprivate let request: PurchaseRequest
        fileprivate let account: Account
        fileprivate let sale: Sale
        fileprivate let transaction: Transaction
        fileprivate let purchase: Purchase

        fileprivate init(
            _ request: PurchaseRequest, _ account: Account, _ sale: Sale, _ transaction: Transaction,
            _ purchase: Purchase
        ) {
            (self.request, self.account, self.sale) = (request, account, sale)
            (self.transaction, self.purchase) = (transaction, purchase)
        }
    }

    /// Prepares the most frequent purchase without waiting: a consumable, bought by an account in the cache, with a
    /// sandbox processor that has no rules. ``purchase(_:by:)`` handles all purchases and would answer this one the
    /// same.
    /// - Returns: nil when the request is another kind of purchase or would be refused.
    public func preparePurchase(_ request: PurchaseRequest, token: Substring) -> PreparedPurchase? {
        guard canRepeatAuthorization, request.namedOffer == nil, !faults.isOrdered(.purchases),
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
            request, account, sale, transaction, Self.purchase(transaction, request, reference: reference))
    }

    /// Whether the account of a token is cached, which ``preparePurchase(_:token:)`` requires.
    public func knowsAccount(token: Substring) -> Bool { accounts.knownAccount(token: token) != nil }

    /// The e-mail address of the account of a token, when the account is cached.
    public func knownEmail(token: Substring?) -> String? {
        token.flatMap { accounts.knownAccount(token: $0)?.email }
    }

    /// Looks up the account of a token and caches it.
    /// - Parameter completion: called on a database thread, with false when the token has no usable account;
    ///   ``Accounts/account(token:)`` then throws the reason.
    public func learnAccount(token: Substring, completion: @escaping @Sendable (Bool) -> Void) {
        accounts.learnAccount(token: token) { completion($0 != nil) }
    }

    /// Records a prepared purchase.
    /// - Parameter completion: called on a database thread once the purchase is durable, with nil when it could not be
    ///   recorded; ``purchase(_:by:)`` under the same key then throws the reason.
    public func record(_ prepared: PreparedPurchase, completion: @escaping @Sendable (PurchaseResponse?) -> Void) {
        database.write { [recorder] connection in
            try Self.record(
                prepared.purchase, prepared.transaction, prepared.sale, prepared.request, prepared.account, recorder,
                connection)
        } completion: { [changes, environment] result in
            if case .success = result { changes.record(ChangeTopic(.transactions, environment)) }
            completion(try? result.get().response)
        }
    }
}
