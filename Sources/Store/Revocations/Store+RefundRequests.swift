import Database
import StoreWire

/// Customers' requests for refunds, and the decisions on them.
///
/// A request is approved in the database transaction of the refund, and declined in that of its news. So a crash leaves
/// it decided with everything that belongs to it, or waiting; and a refund that the operator makes without it decides
/// it, too.
extension Store {
    /// How long the app's server can answer a request, in milliseconds: 12 hours, and 5 minutes in the sandbox (Apple's
    /// numbers).
    static func refundAnswerTime(in environment: StoreEnvironment) -> Int64 {
        environment == .production ? 12 * 3_600_000 : 5 * 60_000
    }

    /// The error for an identifier that no request has.
    static let unknownRefundRequest = StoreError(.notFound, "There is no request for a refund with this identifier.")

    // MARK: The customer

    /// The error for a prorated refund that would take the product and give nothing back.
    static let nothingUnused = StoreError(
        .wrongState,
        "All of the purchase is used, and nothing would be given back. Decline the request, or refund all of it.")

    /// Asks for the refund of a transaction, as the customer does. For consumables and auto-renewable subscriptions the
    /// store asks the app's server how the purchase was used (`CONSUMPTION_REQUEST`). Auto-renew of a subscription is
    /// off from then on, as after Apple's refund request.
    ///
    /// While the request waits, the same request again changes nothing.
    /// - Returns: the request.
    /// - Throws: ``StoreError`` `unknown_transaction`; `wrong_state` when the transaction is refunded, a family shares
    ///   it, or a request with another reason waits; ``DatabaseError``.
    public func requestRefund(
        of transactionID: TransactionID, reason: RefundReason
    ) async throws -> RefundRequest {
        try await requestRefund(of: transactionID, reason: reason, isRepeatable: true)
    }

    /// Asks for the refund of a transaction.
    /// - Parameter isRepeatable: whether the same request again changes nothing while one waits; false to refuse it.
    /// - Throws: as ``requestRefund(of:reason:)``, and ``StoreError`` `refund_requested`.
    func requestRefund(
        of transactionID: TransactionID, reason: RefundReason, isRepeatable: Bool
    ) async throws -> RefundRequest {
        guard let found = try await database.read({ try Transactions.find(transactionID, $0) }) else {
            throw Self.unknownRefunded
        }
        if found.kind == .autoRenewableSubscription, found.sharedFrom == nil {
            _ = try await change(found.originalTransactionID) { [recorder] subscription, now, _, connection in
                guard
                    try Self.writeRequest(
                        transactionID, reason, isRepeatable: isRepeatable, at: now, recorder, connection) != nil
                else { return [] }
                return subscription.refundRequested(transactionID, reason, at: now)
            }
        } else {
            let (now, recorder) = (clock.milliseconds, recorder)
            try await database.write { connection in
                guard
                    let transaction = try Self.writeRequest(
                        transactionID, reason, isRepeatable: isRepeatable, at: now, recorder, connection),
                    transaction.kind == .consumable
                else { return }
                try OneTimeNews.consumptionRequest.tell(
                    of: transaction, reason: reason, at: now, recorder, connection)
            }
        }
        guard let request = try await database.read({ try RefundRequests.newest(for: transactionID, $0) }) else {
            throw Self.unknownRefunded
        }
        schedule.add(request.deadline)
        changed(.transactions)
        return request
    }

    private static let unknownRefunded = StoreError(.unknownTransaction, "The ledger has no such transaction.")

    /// Writes a request for the refund of a transaction.
    /// - Returns: the transaction; nil when the same request waits already.
    private static func writeRequest(
        _ transactionID: TransactionID, _ reason: RefundReason, isRepeatable: Bool, at date: Int64,
        _ recorder: Recorder, _ connection: Connection
    ) throws -> Transaction? {
        guard let transaction = try Transactions.find(transactionID, connection) else { throw unknownRefunded }
        try checkRefundable(transaction)
        if let last = try RefundRequests.newest(for: transactionID, connection), last.state == .waiting {
            guard isRepeatable else { throw refundRequested }
            guard last.reason == reason else {
                throw StoreError(
                    .wrongState,
                    "The request \(last.requestID) for this transaction waits, with the reason "
                        + "\(last.reason.rawValue).")
            }
            return nil
        }
        try RefundRequests.insert(
            RefundRequest(
                requestID: recorder.next(), transactionID: transactionID, accountID: transaction.accountID,
                bundleID: transaction.bundleID, productID: transaction.productID, reason: reason, requestedAt: date,
                deadline: date + refundAnswerTime(in: recorder.environment), state: .waiting, consumption: nil,
                decidedAt: nil),
            connection)
        return transaction
    }

    /// The error for a second request for a transaction while one waits.
    static let refundRequested = StoreError(
        .refundRequested, "A request for the refund of this transaction waits for a decision already.")

    /// Checks that a transaction was paid for and is not refunded.
    /// - Throws: ``StoreError`` `wrong_state`.
    static func checkRefundable(_ transaction: Transaction) throws {
        if let source = transaction.sharedFrom {
            throw StoreError(
                .wrongState,
                "A member of the family shares this purchase, and nothing was paid for it. Request the refund of "
                    + "\(source) instead.")
        }
        guard transaction.revokedAt == nil else { throw StoreError(.wrongState, "The transaction is refunded.") }
    }

    // MARK: The operator

    /// Returns a request by its identifier.
    /// - Throws: ``StoreError`` `not_found`; ``DatabaseError``.
    public func refundRequest(_ id: TransactionID) async throws -> RefundRequest {
        guard let found = try await database.read({ try RefundRequests.find(id, $0) }) else {
            throw Self.unknownRefundRequest
        }
        return found
    }

    /// Returns requests, newest first.
    /// - Throws: ``DatabaseError``.
    public func refundRequests(_ filter: RefundRequestFilter) async throws -> LedgerPage<RefundRequest> {
        try await database.read { try RefundRequests.list(filter, $0) }
    }

    /// Decides a request, before or after its deadline. The same decision again changes nothing.
    ///
    /// When the payment processor cannot be reached, the ledger has the refund all the same, and the store tells the
    /// processor later.
    /// - Returns: the request in its new state.
    /// - Throws: ``StoreError`` `not_found`; `wrong_state` when the other decision was made before; ``DatabaseError``.
    @discardableResult
    public func decideRefund(_ id: TransactionID, _ decision: RefundDecision) async throws -> RefundRequest {
        let request = try await refundRequest(id)
        guard request.state != decision.state else { return request }
        try await carryOut(decision, on: request, at: nil)
        return try await refundRequest(id)
    }

    /// The rule by which the store decides requests when their deadlines are over.
    /// - Throws: ``DatabaseError``.
    public func refundRule() async throws -> RefundRule {
        try await database.read { [environment] in try RefundRules.current(in: environment, $0).rule }
    }

    /// Sets the rule by which the store decides requests when their deadlines are over. Returns when the requests whose
    /// deadlines are over already are decided.
    /// - Throws: ``DatabaseError``, which leaves the rule unchanged. The errors of ``settleSubscriptions()``, which
    ///   leave it changed; the rest is done later.
    public func setRefundRule(_ rule: RefundRule) async throws {
        let now = clock.milliseconds
        try await database.write { connection in
            try RefundRules.save(rule, at: now, connection)
            try connection.announce("due")
        }
        schedule.add(now)
        try await settleSubscriptions()
    }

    // MARK: Scheduled work

    /// Decides the requests whose deadlines are over by the store's rule, in the order of the deadlines.
    ///
    /// Each is decided as of its deadline, also when the clock has jumped over it: after everything that was due until
    /// then, and before what became due later. One whose deadline was over when the rule was set is decided as of that
    /// date.
    /// - Parameters:
    ///   - accountID: an account, for its requests and for those of the accounts that share with it; nil for all.
    ///   - now: the last deadline.
    /// - Throws: ``StoreError`` `unavailable` when the payment processor cannot be reached; ``DatabaseError``. The rest
    ///   stays to be done.
    func decideDueRefunds(of accountID: AccountID? = nil, until now: Int64) async throws {
        while true {
            let due = try await database.read { [environment] connection -> (RefundRequest, RefundDecision, Int64)? in
                let (rule, setAt) = try RefundRules.current(in: environment, connection)
                guard rule != .ask else { return nil }
                let request: RefundRequest? =
                    if let accountID {
                        try RefundRequests.due(at: now, concerning: accountID, connection)
                    } else {
                        try RefundRequests.due(at: now, connection)
                    }
                guard let request, let decision = rule.decision(on: request) else { return nil }
                return (request, decision, min(now, max(request.deadline, setAt)))
            }
            guard let (request, decision, date) = due else { return }
            if accountID == nil { try await settle(nil, until: date) }
            // Extensions that were accepted until then also come first.
            try await settle(request.accountID, until: date)
            do {
                do {
                    try await carryOut(decision, on: request, at: date)
                } catch let error as StoreError where error == Self.nothingUnused {
                    try await carryOut(.decline, on: request, at: date)
                }
            } catch let error as StoreError where error.code != .unavailable {
                // A decision that cannot be carried out must not hold up the others.
                try await database.write { try RefundRequests.abandon(request.requestID, at: date, $0) }
            }
        }
    }

    /// Carries out a decision.
    /// - Parameter date: when it is made, in milliseconds since 1970; nil for now.
    private func carryOut(_ decision: RefundDecision, on request: RefundRequest, at date: Int64?) async throws {
        do {
            switch decision {
            case .approve(let share):
                _ = try await refund(
                    request.transactionID, reason: request.reason.revocationReason, share: share,
                    approving: RefundApproval(request, at: date))
            case .decline:
                let (date, recorder) = (date ?? clock.milliseconds, recorder)
                try await database.write { connection in
                    try RefundRequests.checkWaits(request.requestID, connection)
                    try Self.declineRefund(request.transactionID, at: date, recorder, connection)
                }
                changed(.transactions)
            }
        } catch let error as StoreError {
            // Another call was faster, or the ledger has the refund and the payment processor is told of it later.
            let after = try await database.read { try RefundRequests.find(request.requestID, $0) }
            guard after?.state == decision.state else { throw error }
        }
    }
}

extension Subscription {
    /// The customer asked for the refund of a period. Auto-renew is off from now on, and the store wants to know how
    /// the subscription was used.
    mutating func refundRequested(
        _ transactionID: TransactionID, _ reason: RefundReason, at date: Int64
    ) -> [SubscriptionNews] {
        turnAutoRenewOff(at: date) + [
            SubscriptionNews(
                type: .consumptionRequest, date: date, transactionID: transactionID, consumptionReason: reason)
        ]
    }
}
