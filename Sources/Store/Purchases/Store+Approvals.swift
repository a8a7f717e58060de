import Database
import Foundation
import StoreWire

extension Store {
    /// A purchase that waits for approval or was interrupted.
    public struct PendingPurchase: Sendable, Equatable {
        /// The key under which the device asked for the purchase.
        public var idempotencyKey: UUID
        /// The account that is buying.
        public var accountID: AccountID
        /// The app's bundle identifier.
        public var bundleID: BundleID
        /// The product being bought.
        public var productID: ProductID
        /// How many of the product, 1 to 10.
        public var quantity: Int
        /// When the device asked, in milliseconds since 1970 by the store's clock.
        public var createdAt: Int64
        /// Whether the purchase was interrupted; false when it waits for approval.
        public var isInterrupted: Bool
    }

    /// The event that a purchase waits for. Until then its answer to the device is `deferred` or `failed`.
    enum Waiting: Sendable {
        case forApproval
        case forSettlement

        var error: StoreError {
            switch self {
            case .forApproval: StoreError(.wrongState, "No purchase with this key is waiting for approval.")
            case .forSettlement: StoreError(.wrongState, "No interrupted purchase with this key is waiting.")
            }
        }

        func holds(_ purchase: Purchase) -> Bool {
            switch self {
            case .forApproval: purchase.state == .deferred
            case .forSettlement: purchase.state == .failed && purchase.failure?.code == .interrupted
            }
        }
    }

    /// Returns the purchases that wait for approval or were interrupted: the newest 1,000, oldest first.
    /// - Throws: ``DatabaseError``.
    public func pendingPurchases() async throws -> [PendingPurchase] {
        let products = try await database.read { connection in
            try [Waiting.forApproval, .forSettlement].flatMap { try Purchase.pending($0, connection) }
        }
        return Array((products + (try await pendingItems())).sorted { $0.createdAt < $1.createdAt }.suffix(1000))
    }

    /// Declines a purchase that waits for approval or was interrupted.
    ///
    /// The device learns that a deferred purchase was declined when it repeats the request. To the device, an
    /// interrupted purchase has failed already.
    /// - Throws: ``StoreError`` `wrong_state` when the purchase does not wait; ``DatabaseError``.
    public func decline(_ idempotencyKey: UUID) async throws {
        defer { changed(.attempts) }
        if try await declineItem(idempotencyKey) { return }
        let failure = WireError(code: .paymentDeclined, message: "The request to buy was declined.")
        do {
            _ = try await settle(idempotencyKey, failure: failure, .forApproval)
        } catch let error as StoreError where error == Waiting.forApproval.error {
            let failure = WireError(code: .paymentDeclined, message: "The purchase was not completed.")
            do { _ = try await settle(idempotencyKey, failure: failure, .forSettlement) } catch is StoreError {
                throw error
            }
        }
    }

    /// Approves a waiting purchase. The store takes the payment and delivers the product as if it were bought now.
    ///
    /// The price is the one at the time of the request, in the storefront of that time, even if the catalog or the
    /// account's storefront has changed. A product that the account came to own meanwhile costs nothing. A subscription
    /// gets the offer that was shown with the request, even if the catalog no longer has it, and then the usual price
    /// of that time. It fails if the account has since used the introductory offer or that of an overdue renewal. The
    /// device finds the transaction among its unfinished ones.
    ///
    /// The approval of a request for an item delivers the item, and its answer has no transaction.
    /// - Returns: the new answer, which is `failed` when the purchase is no longer possible.
    /// - Throws: ``StoreError`` `wrong_state` when the purchase does not wait; ``DatabaseError``.
    public func approve(_ idempotencyKey: UUID) async throws -> PurchaseResponse {
        defer { settled() }
        if let answer = try await approveItem(idempotencyKey) { return answer }
        return try await complete(idempotencyKey, .forApproval)
    }

    /// Completes an interrupted purchase, as if the customer had resolved the interruption. The store takes the payment
    /// at the price that the sheet showed, and delivers the product as if it were bought now. The device finds the
    /// transaction among its unfinished ones.
    /// - Throws: ``StoreError`` `wrong_state` when the purchase was not interrupted or was resolved before;
    ///   ``DatabaseError``.
    public func resolve(_ idempotencyKey: UUID) async throws -> PurchaseResponse {
        defer { settled() }
        return try await complete(idempotencyKey, .forSettlement)
    }

    /// Records that a waiting purchase was settled, which may have changed the ledger.
    private func settled() {
        changed(.attempts)
        changed(.transactions)
    }

    private func complete(_ idempotencyKey: UUID, _ waiting: Waiting) async throws -> PurchaseResponse {
        let (found, subscription) = try await database.read { connection in
            (try Purchase.find(idempotencyKey, connection), try WaitingSubscription.find(idempotencyKey, connection))
        }
        guard let purchase = found, waiting.holds(purchase),
            var account = try await accounts.account(purchase.accountID)
        else { throw waiting.error }
        // The device that asked waits for the outcome, whichever it is.
        defer { tell(purchase.accountID) }
        guard let app = catalog.value.app(purchase.bundleID) else {
            let message = "The store no longer sells products of this app."
            return try await settle(
                idempotencyKey, failure: WireError(code: .productNotAvailable, message: message), waiting)
        }
        // The request showed the amount in the storefront of its time. The transaction belongs to that storefront.
        account.storefront = purchase.storefront ?? account.storefront
        guard try storefront(of: account).currency == purchase.amount.currency else {
            let message = "The account has moved to another storefront, where the price is different. Ask again."
            return try await settle(
                idempotencyKey, failure: WireError(code: .priceChanged, message: message), waiting)
        }
        let request = PurchaseRequest(
            idempotencyKey: idempotencyKey, bundleID: purchase.bundleID, productID: purchase.productID,
            quantity: purchase.quantity, applicationUsername: purchase.applicationUsername, simulatesAskToBuy: false,
            agreedPrice: nil)
        switch try await offer(
            request, app: app, account: account, isApproved: true, named: purchase.namedOffer,
            kept: subscription?.catalogOffer(at: purchase.amount))
        {
        case .wait:
            throw StoreError(.internalError, "The approved purchase was deferred again.")
        case .refuse(let failure, _):
            return try await settle(idempotencyKey, failure: failure, waiting)
        case .choose(var choice):
            choice.offer = choice.offer.map { subscription?.agreed($0, for: purchase.amount) ?? $0 }
            return try await settle(purchase, choice, waiting)
        case .sell(var sale):
            sale.subscription?.isOfEarlierRequest = true
            // Charge the amount that the customer agreed to, or nothing for a product that the account owns.
            if sale.owned == nil {
                if let subscription {
                    if let failure = subscription.refusal(of: sale, for: purchase) {
                        return try await settle(idempotencyKey, failure: failure, waiting)
                    }
                    subscription.apply(to: &sale, of: purchase)
                } else {
                    sale.amount = purchase.amount
                    if sale.introduction != nil {
                        sale.introduction = sale.amount.milliunits == 0 ? .trial : .introductory
                    }
                }
            }
            switch try await authorize(sale.amount, request, account.accountID) {
            case .declined(let message):
                return try await settle(
                    idempotencyKey, failure: WireError(code: .paymentDeclined, message: message), waiting)
            case .approved(let reference):
                let transaction = self.transaction(sale, request, account)
                return try await settle(purchase, transaction: transaction, sale, reference: reference, waiting)
            }
        }
    }

    private func settle(_ idempotencyKey: UUID, failure: WireError, _ waiting: Waiting) async throws
        -> PurchaseResponse
    {
        let failed = try await database.write { connection -> Purchase? in
            guard try Purchase.fail(idempotencyKey, failure, waiting, connection) else { return nil }
            try WaitingSubscription.delete(idempotencyKey, connection)
            return try Purchase.find(idempotencyKey, connection)
        }
        guard let failed else { throw waiting.error }
        tell(failed.accountID)
        await processor.void(idempotencyKey)
        return PurchaseResponse(state: .failed, transaction: nil, failure: failure)
    }

    private func settle(
        _ purchase: Purchase, _ choice: PlanChoice, _ waiting: Waiting
    ) async throws -> PurchaseResponse {
        let now = clock.milliseconds
        let nothing = Money(milliunits: 0, currency: purchase.amount.currency)
        let held: Transaction?
        do {
            held = try await database.write { [recorder, policy] connection in
                guard
                    try Purchase.complete(
                        purchase.idempotencyKey, choice.known.transactionID, nothing, reference: Self.freeReference,
                        waiting, connection)
                else { throw waiting.error }
                try WaitingSubscription.delete(purchase.idempotencyKey, connection)
                try choice.record(at: now, recorder, policy: policy, connection)
                return try Transactions.find(choice.known.transactionID, connection)
            }
        } catch is OwnedMeanwhile {
            throw StoreError(.wrongState, "The subscription changed in the meantime. Approve again.")
        }
        schedule.add(choice.known.expiresDate - policy.lead)
        await voidDueRenewal(of: choice.known)
        await processor.void(purchase.idempotencyKey)
        return PurchaseResponse(state: .purchased, transaction: held?.description, failure: nil)
    }

    private func settle(
        _ purchase: Purchase, transaction: Transaction, _ sale: Sale, reference: String, _ waiting: Waiting
    ) async throws -> PurchaseResponse {
        do {
            try await database.write { [recorder] connection in
                guard
                    try Purchase.complete(
                        purchase.idempotencyKey, transaction.transactionID, sale.amount, reference: reference, waiting,
                        connection)
                else { throw waiting.error }
                try WaitingSubscription.delete(purchase.idempotencyKey, connection)
                try Self.insert(transaction, sale, recorder, connection)
            }
            schedule.add(transaction.expiresDate.map { $0 - policy.lead })
            await voidDueRenewal(of: sale.subscription?.known)
            if !(sale.subscription?.replaced.isEmpty ?? true) { await tellRefunds(mostFailures: 1) }
        } catch is OwnedMeanwhile {
            // Keep the authorization: the purchase still waits, and its outcome decides whether the authorization is
            // used.
            throw StoreError(.wrongState, "The account bought or lost the product in the meantime. Approve again.")
        } catch let error as StoreError where error == waiting.error {
            // Another request settled the purchase. If it declined, void the authorization. If it approved, it uses the
            // same authorization.
            let settled = try await database.read { try Purchase.find(purchase.idempotencyKey, $0) }
            if settled?.usesPayment == false { await processor.void(purchase.idempotencyKey) }
            throw waiting.error
        }
        if reference == Self.freeReference { await processor.void(purchase.idempotencyKey) }
        return PurchaseResponse(state: .purchased, transaction: transaction.description, failure: nil)
    }
}
