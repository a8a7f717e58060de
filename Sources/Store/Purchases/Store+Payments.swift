import Database
import StoreWire

/// What a key is answered, now and for ever.
struct PurchaseAnswer: Sendable, Equatable {
    var response: PurchaseResponse
    /// Whether what the processor authorized under the key is in use, or may come to be.
    var usesPayment: Bool
    /// What the ledger says is paid, or is to be.
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

/// The processor's part in a purchase.
extension Store {
    /// Stands for the processor's where nothing is to be paid.
    static let freeReference = "free"

    func authorize(_ amount: Money, _ request: PurchaseRequest, _ account: Account) async throws -> PaymentDecision {
        // Nothing to pay needs nobody's consent.
        guard amount.milliunits > 0 else { return .approved(reference: Self.freeReference) }
        do {
            return try await processor.authorize(
                PaymentAuthorization(
                    idempotencyKey: request.idempotencyKey, accountID: account.accountID, bundleID: request.bundleID,
                    productID: request.productID, amount: amount))
        } catch {
            throw StoreError(.unavailable, "The payment processor cannot be reached. Try again.")
        }
    }

    /// Has the processor hold what the ledger says, when it was asked for another amount meanwhile: of two requests under one key that saw
    /// different prices the first to be recorded counts, and the other may have asked last.
    func reconcile(_ answer: PurchaseAnswer?, asked amount: Money, _ request: PurchaseRequest, _ account: Account)
        async throws
    {
        guard let answer, answer.response.state == .purchased, answer.usesPayment, answer.amount != amount else {
            return
        }
        _ = try await authorize(answer.amount, request, account)
    }

    /// What was answered to this key before.
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
