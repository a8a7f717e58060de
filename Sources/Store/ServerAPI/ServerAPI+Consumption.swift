import Database
import StoreWire

extension ServerAPI {
    /// Answers `PUT /inApps/v1/transactions/consumption/{transactionId}`, and version 2: keeps what an app's server
    /// says of a purchase whose refund the customer asks for. The last answer counts. When no request waits for an
    /// answer, the information is accepted and not kept.
    /// - Parameters:
    ///   - id: the transaction of the request, or a restore's delivery of it.
    ///   - body: Apple's `ConsumptionRequestV1` or `ConsumptionRequest`. Other members are ignored.
    ///   - version: 1, which is for consumables and auto-renewable subscriptions, or 2, which is for all products.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func consumption(_ id: String, _ body: [UInt8], version: Int, of bundleID: BundleID) async throws {
        let answer = try ConsumptionAnswer(body, version: version)
        let transaction = try await found(id, of: bundleID).transaction
        guard transaction.sharedFrom == nil else { throw APIError.familyShared }
        let isSubscription = transaction.kind == .autoRenewableSubscription
        guard version != 1 || isSubscription || transaction.kind == .consumable else {
            throw APIError.transactionTypeNotSupported
        }
        guard !isSubscription || answer.consumed == nil else { throw APIError.percentageOfSubscription }
        let now = store.clock.milliseconds
        let isKept = try await store.database.write { connection in
            // The request is for the purchase, also when a restore delivered it under this identifier.
            let id = transaction.transactionID
            let bought = try RestoredTransactions.source(of: id, connection) ?? id
            return try RefundRequests.answer(answer, for: bought, at: now, connection)
        }
        if isKept { store.changed(.transactions) }
    }
}
