import Database
import Foundation
import StoreWire

/// The customer's side of offer codes.
extension Store {
    /// A code for an offer, and its batch.
    struct FoundOfferCode: Sendable {
        var code: String
        var batch: OfferCodeBatch
    }

    /// Finds a code for an offer of one of the app's subscriptions; nil when the store has no such code.
    static func offerCode(
        _ code: String, in bundleID: BundleID, _ connection: Connection
    ) throws -> FoundOfferCode? {
        let batch =
            try OfferCodes.find(code, connection).flatMap { try OfferCodeBatches.find($0.batchID, connection) }
            ?? OfferCodeBatches.find(custom: code, in: bundleID, connection)
        guard let batch, batch.bundleID == bundleID else { return nil }
        return FoundOfferCode(code: code, batch: batch)
    }

    /// Redeems a code for an offer, as a purchase of the subscription with the offer.
    ///
    /// For customers without a subscription of the group, and for an upgrade, a period begins now and is paid. For
    /// other subscribers the offer begins with the next renewal, and the answer is the transaction of the current
    /// period.
    func redeem(
        _ found: FoundOfferCode, in app: CatalogApp, by account: Account
    ) async throws -> TransactionDescription {
        var payments: [CodePayment] = []
        do {
            let transaction = try await redeem(found, in: app, by: account, payments: &payments)
            for payment in payments { try await close(payment, found, by: account, refusal: nil) }
            return transaction
        } catch let error as StoreError {
            // While the processor or the database is unavailable, the last payment waits for the repeated request.
            if error.code == .unavailable { _ = payments.popLast() }
            for payment in payments {
                try await close(payment, found, by: account, refusal: error)
            }
            // Another request of the account may have redeemed the code after this one looked. While the processor is
            // unavailable, the amount under the key is not certain, so the device has to repeat the request.
            if error.code != .unavailable, let earlier = try? await redeemed(found, by: account) { return earlier }
            throw error
        }
    }

    /// A payment of a redemption.
    private struct CodePayment: Sendable {
        let request: PurchaseRequest
        /// The amount that this redemption authorized; nil while it has authorized none. An earlier one may have,
        /// before the store stopped.
        var amount: Money?
    }

    /// - Parameter payments: the payments that this redemption may have authorized and does not use.
    private func redeem(
        _ found: FoundOfferCode, in app: CatalogApp, by account: Account, payments: inout [CodePayment]
    ) async throws -> TransactionDescription {
        // A retry happens only when the account buys or redeems something else at the same moment.
        for _ in 0..<4 {
            let request = try await request(for: found, account)
            if payments.last?.request.idempotencyKey != request.idempotencyKey {
                payments.append(CodePayment(request: request))
            }
            if let earlier = try await redeemed(found, by: account) { return earlier }
            let batch = try await redeemable(found)
            guard account.paymentsAllowed, !account.asksToBuy else {
                throw StoreError(
                    .paymentNotAllowed,
                    account.paymentsAllowed
                        ? "This account needs approval for purchases, and a code for a subscription cannot wait for approval."
                        : "This account may not make payments.")
            }
            switch try await offer(request, app: app, account: account, isApproved: true, named: batch.named) {
            case .wait: throw StoreError(.internalError, "The redemption of a code was deferred.")
            case .refuse(let failure, _): throw Self.error(failure)
            case .choose(let choice):
                if let held = try await redeem(found, choice, by: account) { return held }
            case .sell(let sale):
                payments[payments.count - 1].amount = sale.amount
                guard let sold = try await redeem(found, sale, request, by: account) else { continue }
                payments.removeLast()
                return sold
            }
        }
        throw StoreError(.unavailable, "The same subscription is being bought by this account right now. Try again.")
    }

    /// Voids a payment that is authorized for nothing. If another request of the same redemption has paid with the
    /// key, the amount that it recorded is authorized again, in case this one authorized another.
    /// - Parameter refusal: why the redemption failed; the key is then recorded as refused, and not used again. Nil
    ///   when the code is redeemed, so that no other request can use the key.
    /// - Throws: ``StoreError`` `unavailable`; ``DatabaseError``.
    private func close(
        _ payment: CodePayment, _ found: FoundOfferCode, by account: Account, refusal: StoreError?
    ) async throws {
        let key = payment.request.idempotencyKey
        if let refusal {
            let nothing = Money(milliunits: 0, currency: try storefront(of: account).currency)
            do {
                try await record(
                    payment.request, by: account, .failed,
                    failure: WireError(code: refusal.code, message: refusal.detail),
                    amount: payment.amount ?? nothing, named: found.batch.named)
                changed(.attempts)
            } catch let error as StoreError where error.code == .idempotencyKeyReused {}
        }
        guard let paid = try await database.read({ try Purchase.find(key, $0) }), paid.usesPayment else {
            return await processor.void(key)
        }
        // The sandbox's processor holds nothing, and a rule that declines the next payment would count this one.
        if paid.amount != payment.amount, payment.amount != nil || refusal == nil, !usesSandboxProcessor {
            _ = try await authorize(paid.amount, payment.request, account.accountID)
        }
    }

    /// Why a purchase with a code fails. The offer was found, so a missing one left the catalog meanwhile.
    private static func error(_ failure: WireError) -> StoreError {
        failure.code == .invalidOfferIdentifier ? invalidCode : StoreError(failure.code, failure.message)
    }

    private static let invalidCode = StoreError(.unknownCode, "This code is no longer valid.")

    /// The transaction of an earlier redemption of the same code by the account, for a device that lost the answer;
    /// nil when the account has not redeemed a code of the offer.
    /// - Throws: ``StoreError`` `code_used` when the account redeemed another code of the offer, or the transaction is
    ///   finished or revoked.
    private func redeemed(_ found: FoundOfferCode, by account: Account) async throws -> TransactionDescription? {
        try await database.read { connection in
            guard let earlier = try OfferCodeRedemptions.find(found.batch, by: account.accountID, connection) else {
                return nil
            }
            guard earlier.code.hasSameBytes(as: found.code) else {
                throw StoreError(.codeUsed, "You have redeemed a code of this offer before.")
            }
            guard let first = try Transactions.find(earlier.transactionID, of: account.accountID, connection),
                first.revokedAt == nil
            else { throw Self.usedCode }
            let waits = try Subscriptions.find(first.originalTransactionID, connection)?.nextOffer == found.batch.named
            guard first.finishedAt == nil || waits else { throw Self.usedCode }
            return first.description
        }
    }

    /// The batch of a code that can be redeemed now.
    private func redeemable(_ found: FoundOfferCode) async throws -> OfferCodeBatch {
        let (batch, code) = try await database.read { connection in
            (try OfferCodeBatches.find(found.batch.batchID, connection), try OfferCodes.find(found.code, connection))
        }
        guard let batch, batch.isActive else { throw Self.invalidCode }
        guard batch.expiresAt.map({ $0 > clock.milliseconds }) ?? true else {
            throw StoreError(.unknownCode, "This code has expired.")
        }
        guard batch.redeemed < batch.total, code?.accountID == nil else { throw Self.usedCode }
        return batch
    }

    /// The purchase that a redemption makes. It keeps the `applicationUsername` of the customer's subscription.
    private func request(for found: FoundOfferCode, _ account: Account) async throws -> PurchaseRequest {
        let batch = found.batch
        let group = catalog.value.app(batch.bundleID)?.product(batch.productID)?.subscription?.groupID
        let (keys, username) = try await database.read { connection in
            let known = try group.flatMap {
                try Subscriptions.find(of: account.accountID, in: batch.bundleID, group: $0, connection)
            }
            let username = try known.flatMap {
                try Transactions.find($0.transactionID, connection)?.applicationUsername
            }
            return (try Self.redemptionKey(found, account.accountID, connection), username)
        }
        // The store may have stopped before it voided the last payment that failed.
        if let failed = keys.failed { await processor.void(failed) }
        return PurchaseRequest(
            idempotencyKey: keys.next, bundleID: batch.bundleID, productID: batch.productID, quantity: 1,
            applicationUsername: username, simulatesAskToBuy: false, agreedPrice: nil)
    }

    /// The key of the payment, and the key of the last payment that failed; nil for none. The key depends only on the
    /// account, the code and the payments that failed, so that a repeated redemption charges once.
    private static func redemptionKey(
        _ found: FoundOfferCode, _ accountID: AccountID, _ connection: Connection
    ) throws -> (next: UUID, failed: UUID?) {
        let name = "\(found.batch.batchID) \(found.code) \(accountID)".utf8.map { Int64($0) }
        var failed: UUID?
        for failures in 0..<mostKeyedFailures {
            let key = PaymentKey.derived(from: name + [-1, Int64(failures)])
            guard try Purchase.find(key, connection)?.state == .failed else { return (key, failed) }
            failed = key
        }
        throw StoreError(.ineligibleForOffer, "This account's redemptions of the code have failed too often.")
    }

    /// The failed payments of one code after which an account cannot redeem it.
    private static let mostKeyedFailures = 100

    /// Records that the next renewal gets the offer. Returns nil when something changed since the decision.
    private func redeem(
        _ found: FoundOfferCode, _ choice: PlanChoice, by account: Account
    ) async throws -> TransactionDescription? {
        let now = clock.milliseconds
        let redemption = OfferCodeRedemption(
            accountID: account.accountID, batch: found.batch, code: found.code,
            transactionID: choice.known.transactionID, redeemedAt: now)
        do {
            let held = try await database.write { [recorder, policy] connection in
                try redemption.record(connection)
                try choice.record(at: now, recorder, policy: policy, connection)
                return try Transactions.find(choice.known.transactionID, connection)
            }
            schedule.add(choice.known.expiresDate - policy.lead)
            await voidDueRenewal(of: choice.known)
            changed(.transactions)
            changed(.offers)
            tell(account.accountID)
            guard let held else { return nil }
            return await described(held.description)
        } catch is OwnedMeanwhile {
            return nil
        } catch is OfferCodeRedemption.Refused {
            return nil
        }
    }

    /// Charges the offer's price and records the period. Returns nil when something changed since the decision.
    private func redeem(
        _ found: FoundOfferCode, _ sale: Sale, _ request: PurchaseRequest, by account: Account
    ) async throws -> TransactionDescription? {
        switch try await authorize(sale.amount, request, account.accountID) {
        case .declined(let message):
            // Another request of the same redemption may have used the key.
            let key = request.idempotencyKey
            guard try await database.read({ try Purchase.find(key, $0) }) == nil else { return nil }
            throw StoreError(.paymentDeclined, message)
        case .approved(let reference):
            let transaction = self.transaction(sale, request, account)
            let purchase = Self.purchase(
                transaction, request, named: transaction.namedOffer, reference: reference)
            let redemption = OfferCodeRedemption(
                accountID: account.accountID, batch: found.batch, code: found.code,
                transactionID: transaction.transactionID, redeemedAt: clock.milliseconds)
            do {
                try await database.write { [recorder] connection in
                    try redemption.record(connection)
                    guard try purchase.insert(connection) else { throw OwnedMeanwhile() }
                    try Self.insert(transaction, sale, recorder, connection)
                }
            } catch is OwnedMeanwhile {
                // Keep the authorization under the key. The next decision determines whether it is used.
                return nil
            } catch is OfferCodeRedemption.Refused {
                return nil
            }
            if reference == Self.freeReference { await processor.void(request.idempotencyKey) }
            schedule.add(transaction.expiresDate.map { $0 - policy.lead })
            await voidDueRenewal(of: sale.subscription?.known)
            if !(sale.subscription?.replaced.isEmpty ?? true) { await tellRefunds(mostFailures: 1) }
            changed(.transactions)
            changed(.offers)
            tell(account.accountID)
            return await described(transaction.description)
        }
    }
}
