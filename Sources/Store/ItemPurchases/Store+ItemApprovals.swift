import Database
import Foundation
import StoreWire

extension Store {
    /// Records that an account asks for an item. An account that asks again under another key keeps its first request.
    /// - Throws: ``StoreError`` `awaits_approval`.
    func ask(_ request: ItemPurchaseRequest, for price: Money, by account: Account) async throws -> ItemPurchase {
        let new = ItemRequest(request, by: account, price: price, at: clock.milliseconds)
        let attemptID = ids.next()
        let recorded = try await database.write { connection in
            if let known = try ItemRequest.find(request.idempotencyKey, connection) { return known }
            if let waiting = try ItemRequest.waiting(request.item, by: account.accountID, connection) {
                return waiting
            }
            try new.insert(connection)
            try Attempts.insert(attemptID, of: account.accountID, key: request.idempotencyKey, connection)
            return new
        }
        changed(.attempts)
        throw recorded.refusal ?? StoreError(.wrongState, "The request was approved meanwhile. Try again.")
    }

    /// Records that the purchase of an item was refused. The key keeps this answer.
    /// - Returns: the purchase by which the account owns the item, when it was bought meanwhile.
    /// - Throws: ``StoreError`` with the code and message of the refusal; ``DatabaseError``.
    func refuse(
        _ request: ItemPurchaseRequest, of item: CatalogItem, for price: Money, by account: Account,
        _ failure: WireError
    ) async throws -> ItemPurchase {
        let refused = ItemRequest(request, by: account, price: price, refusedFor: failure, at: clock.milliseconds)
        let attemptID = ids.next()
        let collection = item.place?.collection
        let known = try await database.write { connection -> ItemPurchase? in
            if let known = try Self.knownPurchase(request, account, collection, connection) { return known }
            try refused.insert(connection)
            try Attempts.insert(attemptID, of: account.accountID, key: request.idempotencyKey, connection)
            return nil
        }
        if let known {
            try await useNoPayment(under: request.idempotencyKey, besides: known)
            return known
        }
        changed(.attempts)
        // The same request may have authorized the payment before a crash.
        await processor.void(request.idempotencyKey)
        throw StoreError(failure.code, failure.message)
    }

    /// The account's request for an item, or for the album or season that the item belongs to, that nobody has decided
    /// yet.
    func waitingRequest(for item: Int64, by account: Account) async throws -> ItemRequest? {
        let collection = try await collection(of: item)
        return try await database.read { connection in
            if let own = try ItemRequest.waiting(item, by: account.accountID, connection) { return own }
            return try collection.flatMap { try ItemRequest.waiting($0, by: account.accountID, connection) }
        }
    }

    /// The requests for items that wait for approval, oldest first.
    func pendingItems() async throws -> [PendingPurchase] {
        try await database.read { try ItemRequest.waiting(limit: 1_000, $0) }.reversed().map { request in
            PendingPurchase(
                idempotencyKey: request.idempotencyKey, accountID: request.accountID,
                bundleID: catalog.value.storeItem(request.item)?.bundleID ?? "",
                productID: CatalogItem.paymentName(request.item), quantity: 1, createdAt: request.createdAt,
                isInterrupted: false)
        }
    }

    /// Approves a request for an item: takes the payment at the price of the request and delivers the item.
    /// - Returns: the answer; nil when no request for an item waits under this key.
    func approveItem(_ key: UUID) async throws -> PurchaseResponse? {
        guard let waiting = try await database.read({ try ItemRequest.find(key, $0) }), waiting.state == .waiting,
            var account = try await accounts.account(waiting.accountID)
        else { return nil }
        account.storefront = waiting.storefront
        let request = ItemPurchaseRequest(item: waiting.item, agreedPrice: waiting.price, idempotencyKey: key)
        guard let item = catalog.value.storeItem(waiting.item) else {
            return try await failItem(
                key, WireError(code: .productNotAvailable, message: "The store no longer sells the item."))
        }
        guard account.paymentsAllowed else {
            return try await failItem(
                key, WireError(code: .paymentNotAllowed, message: "This account may not make payments."))
        }
        // A purchase with a later identifier was made meanwhile.
        let began = ids.next()
        let isOwned = try await ownedItem(waiting.item, by: account) != nil
        let price = isOwned ? Money(milliunits: 0, currency: waiting.price.currency) : waiting.price
        let reference: String
        switch try await authorize(price, item, request, account) {
        case .approved(let approved): reference = approved
        case .declined(let message):
            return try await failItem(key, WireError(code: .paymentDeclined, message: message))
        }
        let new = ItemPurchase(
            ids.next(), item, price, request, by: account, reference: reference, at: clock.milliseconds)
        let collection = item.place?.collection
        let (catalog, environment) = (catalog.value, environment)
        // Nil when another request has settled it; without a purchase when the account came to own the item meanwhile.
        let settled: (isBought: Bool, parts: [ItemPurchase])? = try await database.write { [account] connection in
            guard try ItemRequest.settle(key, as: .approved, connection) else { return nil }
            guard try Self.owned(item.number, collection, by: account, connection) == nil else { return (false, []) }
            try ItemPurchases.insert(new, in: environment, connection)
            guard item.kind.isCollection else { return (true, []) }
            return (true, try Self.giveBackParts(of: new, boughtSince: began, catalog, connection))
        }
        guard let settled else {
            // If the other one approved it, it uses the same authorization.
            let other = try await database.read { try ItemRequest.find(key, $0) }
            if other?.state != .approved { await processor.void(key) }
            throw Waiting.forApproval.error
        }
        if !settled.isBought, price.milliunits > 0 { await processor.void(key) }
        try await refund(settled.parts, givenBackBy: new)
        return PurchaseResponse(state: .purchased, transaction: nil, failure: nil)
    }

    /// Declines a request for an item. Returns false when none waits under this key.
    func declineItem(_ key: UUID) async throws -> Bool {
        let isDeclined = try await database.write { try ItemRequest.settle(key, as: .declined, $0) }
        if isDeclined { await processor.void(key) }
        return isDeclined
    }

    private func failItem(_ key: UUID, _ failure: WireError) async throws -> PurchaseResponse {
        guard try await database.write({ try ItemRequest.settle(key, as: .failed, failure: failure, $0) }) else {
            throw Waiting.forApproval.error
        }
        await processor.void(key)
        return PurchaseResponse(state: .failed, transaction: nil, failure: failure)
    }
}
