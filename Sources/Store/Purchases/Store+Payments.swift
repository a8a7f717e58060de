import Database
import StoreWire

/// The permanent answer to an idempotency key.
struct PurchaseAnswer: Sendable, Equatable {
    var response: PurchaseResponse
    /// Whether the authorization under the key is used, or can still be.
    var usesPayment: Bool
    /// The amount in the ledger, paid or still to be paid.
    var amount: Money

    init(_ purchase: Purchase, transaction: Transaction?) {
        let state: PurchaseResponse.State =
            switch purchase.state {
            case .purchased: .purchased
            case .deferred: .deferred
            case .failed: .failed
            }
        response = PurchaseResponse(
            state: state, transaction: transaction?.description,
            failure: purchase.state == .failed ? purchase.failure : nil)
        usesPayment = purchase.usesPayment
        amount = purchase.amount
    }
}

/// The use of the payment processor in purchases.
extension Store {
    /// The payment reference of a free purchase.
    static let freeReference = "free"

    func authorize(
        _ amount: Money, _ request: PurchaseRequest, _ accountID: AccountID
    ) async throws -> PaymentDecision {
        // A free purchase needs no authorization.
        guard amount.milliunits > 0 else { return .approved(reference: Self.freeReference) }
        do {
            return try await processor.authorize(
                PaymentAuthorization(
                    idempotencyKey: request.idempotencyKey, accountID: accountID, bundleID: request.bundleID,
                    productID: request.productID, amount: amount))
        } catch let error as DatabaseError {
            // The sandbox's processor uses the store's database. After a database's error, scheduled renewals pause for
            // 2 seconds instead of 60.
            throw error
        } catch {
            throw StoreError(.unavailable, "The payment processor cannot be reached. Try again.")
        }
    }

    /// Authorizes the ledger's amount again when this request authorized another one.
    ///
    /// Two requests under one key can see different prices. The ledger keeps the one that was recorded first, but the
    /// other may have been authorized last.
    func reconcile(_ answer: PurchaseAnswer?, asked amount: Money, _ request: PurchaseRequest, _ account: Account)
        async throws
    {
        guard let answer, answer.response.state == .purchased, answer.usesPayment, answer.amount != amount else {
            return
        }
        _ = try await authorize(answer.amount, request, account.accountID)
    }

    /// Returns the recorded answer to the request's key.
    /// - Throws: ``StoreError`` `idempotency_key_reused` when the key belongs to a different purchase.
    static func firstAnswer(
        _ request: PurchaseRequest, _ account: Account, _ connection: Connection
    ) throws -> PurchaseAnswer {
        guard let first = try Purchase.find(request.idempotencyKey, connection),
            first.isSame(as: request, of: account.accountID)
        else {
            throw StoreError(
                .idempotencyKeyReused, "The idempotency key was used for another purchase. Make a new one.")
        }
        let transaction = try first.transactionID.flatMap {
            try Transactions.find($0, of: account.accountID, connection)
        }
        return PurchaseAnswer(first, transaction: transaction)
    }
}
