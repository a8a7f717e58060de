import Database
import Foundation
import StoreReceipts
import StoreWire

extension Store {
    /// Answers a `verifyReceipt` request to this environment's host. If the receipt cannot be verified, the answer has
    /// an error status.
    /// - Parameter body: the request's body, which can be any bytes.
    public func verifyReceipt(_ body: [UInt8]) async -> VerifyReceiptResponse {
        switch verifyAtOnce(body.span) {
        case .answer(let response): response
        case .later(let verification): await verify(verification)
        }
    }

    /// The result of the part of a verification that does not wait.
    public enum ImmediateVerification: Sendable {
        /// The answer to the request.
        case answer(VerifyReceiptResponse)
        /// ``verify(_:)`` has to build a certificate chain, query the ledger or count a fault.
        case later(PendingVerification)
    }

    /// A request that could not be answered at once, with the results so far.
    public struct PendingVerification: Sendable {
        fileprivate enum Work: Sendable {
            /// A fault may be ordered for the request with this body.
            case meetFault([UInt8])
            case answer(VerifyReceiptRequest)
            /// Only the ledger's data for the verified receipt is missing.
            case subscriber(AppReceipt, VerifyReceiptRequest)
            /// An earlier request with the same receipt has an answer.
            case kept(KeptAnswer, VerifyReceiptRequest)
        }

        fileprivate let work: Work
    }

    /// Answers a request without waiting, unless a certificate chain must be built, the ledger queried or a fault
    /// counted. Most requests can be answered this way.
    public func verifyAtOnce(_ body: Span<UInt8>) -> ImmediateVerification {
        if faults.isOrdered(.verifyReceipt) {
            return .later(PendingVerification(work: .meetFault(body.withUnsafeBufferPointer { Array($0) })))
        }
        return verifyWithoutFault(body)
    }

    private func verifyWithoutFault(_ body: Span<UInt8>) -> ImmediateVerification {
        let request: VerifyReceiptRequest
        do {
            request = try VerifyReceiptRequest(body: body)
        } catch {
            return .answer(failure(error.outcome))
        }
        if let kept = keptAnswers.answer(to: request) {
            return secretRefusal(request, bundleID: kept.app.bundleID, isRequired: true).map { .answer($0) }
                ?? .later(PendingVerification(work: .kept(kept, request)))
        }
        guard ReceiptKind.detect(request.receiptData) == .app,
            let verification = verifier.verifyIfChainIsKnown(request.receiptData, expecting: ReceiptExpectation())
        else { return .later(PendingVerification(work: .answer(request))) }
        switch judge(verification, request) {
        case .answer(let response): return .answer(response)
        case .subscriber(let receipt): return .later(PendingVerification(work: .subscriber(receipt, request)))
        }
    }

    /// The answer to a request that is not a POST.
    public var answerToOtherMethods: VerifyReceiptResponse { failure(.notPost) }

    /// The answer to a body that did not arrive completely.
    public var answerToUnreadableBody: VerifyReceiptResponse { failure(.notJSON) }

    /// The answer to a body that is too large to read.
    public var answerToOversizedBody: VerifyReceiptResponse { failure(.malformedReceipt) }

    /// Answers a request that ``verifyAtOnce(_:)`` could not answer.
    public func verify(_ pending: PendingVerification) async -> VerifyReceiptResponse {
        do {
            let request: VerifyReceiptRequest
            switch pending.work {
            case .meetFault(let body):
                if let fault = try await faults.next(.verifyReceipt) { return failure(.ordered(fault.status)) }
                switch verifyWithoutFault(body.span) {
                case .answer(let response): return response
                case .later(let rest): return await verify(rest)
                }
            case .subscriber(let receipt, let request): return try await answer(receipt, request)
            case .kept(let kept, let known):
                if let response = try await answer(kept) { return response }
                request = known
            case .answer(let known): request = known
            }
            switch ReceiptKind.detect(request.receiptData) {
            case .app: return try await verifyAppReceipt(request)
            case .transaction: return try await verifyTransactionReceipt(request)
            case nil: return failure(.malformedReceipt)
            }
        } catch {
            // The database did not answer. The receipt may be valid.
            return failure(.ordered(VerifyReceiptStatus.dataAccess.rawValue))
        }
    }

    // MARK: App receipts

    /// The result of verifying an app receipt.
    private enum Judgement {
        case answer(VerifyReceiptResponse)
        /// The receipt has auto-renewable subscriptions, so the answer needs data from the ledger.
        case subscriber(AppReceipt)
    }

    private func judge(_ verification: ReceiptVerification, _ request: VerifyReceiptRequest) -> Judgement {
        let receipt: AppReceipt
        switch verification {
        case .rejected(let rejection): return .answer(failure(.rejected(rejection.code)))
        case .verified(let verified): receipt = verified.receipt
        }
        guard let made = receipt.environment else { return .answer(failure(.rejected(.unknownIssuer))) }
        guard made == environment else { return .answer(failure(.wrongEnvironment(receipt: made, host: environment))) }
        let hasSubscription = receipt.inApp.contains {
            $0.productType == ProductKind.autoRenewableSubscription.receiptNumber
        }
        if let refusal = secretRefusal(request, bundleID: BundleID(receipt.bundleID), isRequired: hasSubscription) {
            return .answer(refusal)
        }
        return hasSubscription ? .subscriber(receipt) : .answer(.appReceipt(response(to: receipt, latest: nil)))
    }

    private func response(to receipt: AppReceipt, latest: AppReceiptResponse.Latest?) -> AppReceiptResponse {
        let now = ReceiptDate(milliseconds: clock.milliseconds)
        return AppReceiptResponse(
            environment: environment, receipt: ReceiptInformation(receipt, requestDate: now), latest: latest)
    }

    private func verifyAppReceipt(_ request: VerifyReceiptRequest) async throws -> VerifyReceiptResponse {
        let verification = await verifier.verify(request.receiptData, expecting: ReceiptExpectation())
        switch judge(verification, request) {
        case .answer(let response): return response
        case .subscriber(let receipt): return try await answer(receipt, request)
        }
    }

    /// Answers a request for a receipt with subscriptions.
    private func answer(_ receipt: AppReceipt, _ request: VerifyReceiptRequest) async throws -> VerifyReceiptResponse {
        let ids = receipt.inApp.compactMap { $0.expiresDate == nil ? nil : TransactionID($0.transactionID) }
        let bundleID = BundleID(receipt.bundleID)
        guard let app = apps[bundleID] else { return failure(.accountNotFound) }
        if schedule.mayBeDue(at: clock.milliseconds),
            let owner = try await database.read({ try Transactions.owner(ofOneOf: ids, in: bundleID, $0) })
        {
            try await settleSubscriptions(of: owner)
        }
        let found = try await database.read { connection in
            try Transactions.owner(ofOneOf: ids, in: bundleID, connection)
                .flatMap { try CustomerLedger($0, in: bundleID, connection) }
        }
        guard let ledger = found else { return failure(.accountNotFound) }
        let now = clock.milliseconds
        var shown = try latest(
            ledger.transactions, of: ledger, app: app, bundleVersion: receipt.applicationVersion,
            device: .carriedOver(opaqueValue: receipt.opaqueValue, hash: receipt.deviceHash), at: now)
        if request.excludeOldTransactions {
            shown.purchases = PurchaseInformation.excludingOldTransactions(shown.purchases)
        }
        let answer = response(to: receipt, latest: shown)
        let encoded = answer.encoded
        keptAnswers.keep(KeptAnswer(app: app, mark: ledger.mark, response: encoded, madeAt: now), to: request)
        return .encodedAppReceipt(encoded, requestDate: answer.receipt.requestDate)
    }

    /// The answer that an earlier request with the same receipt got, with the date of this request; nil when something
    /// in it has changed since.
    private func answer(_ kept: KeptAnswer) async throws -> VerifyReceiptResponse? {
        let (bundleID, owner) = (kept.app.bundleID, kept.mark.account.accountID)
        if schedule.mayBeDue(at: clock.milliseconds) { try await settleSubscriptions(of: owner) }
        let mark = try await database.read { try LedgerMark(owner, in: bundleID, $0) }
        let now = clock.milliseconds
        guard mark == kept.mark, apps[bundleID] == kept.app, kept.isFresh(at: now) else { return nil }
        return .encodedAppReceipt(kept.response, requestDate: ReceiptDate(milliseconds: now))
    }

    /// Transactions of a customer, with a new receipt that has them, and the state of the customer's subscriptions.
    func latest(
        _ transactions: [Transaction], of ledger: CustomerLedger, app: AppRecord, bundleVersion: String,
        device: ReceiptIssuer.DeviceBinding, at now: Int64
    ) throws -> AppReceiptResponse.Latest {
        let bytes = try issuer.appReceipt(
            for: ledger.account, app: app, bundleVersion: bundleVersion, device: device, transactions: transactions,
            at: now)
        // Apple lists the last to expire first, since 2020.
        let purchases = transactions.sorted {
            ($0.expiresDate ?? $0.purchaseDate, $0.transactionID) > (
                $1.expiresDate ?? $1.purchaseDate, $1.transactionID
            )
        }.map { PurchaseInformation($0) }
        return AppReceiptResponse.Latest(
            purchases: purchases, receipt: bytes,
            pendingRenewals: ledger.subscriptions.compactMap { PendingRenewal($0) })
    }

    // MARK: iOS 6 transaction receipts

    private func verifyTransactionReceipt(_ request: VerifyReceiptRequest) async throws -> VerifyReceiptResponse {
        let signed: SignedTransactionReceipt
        do {
            signed = try SignedTransactionReceipt(bytes: request.receiptData)
        } catch {
            return failure(.rejected(error.code))
        }
        let verified: VerifiedTransactionReceipt
        switch await signed.verified(by: verifier.verifyTransactionSignature(signed:signature:leaf:at:)) {
        case .failure(let rejection): return failure(.rejected(rejection.code))
        case .success(let good): verified = good
        }
        let receipt = verified.receipt
        // The environment field is not signed, so anyone could change it. The signed transaction id shows which store
        // issued it.
        guard let id = TransactionID(receipt.transactionID) else { return failure(.malformedReceipt) }
        guard id.environment == environment else {
            return failure(.wrongEnvironment(receipt: id.environment, host: environment))
        }
        let isSubscription = receipt.expiresDate != nil
        if let refusal = secretRefusal(request, bundleID: BundleID(receipt.bundleID), isRequired: isSubscription) {
            return refusal
        }
        // The ledger deletes old restored transactions but keeps their originals.
        let originalID = TransactionID(receipt.originalTransactionID)
        let found = try await database.read { connection in
            try Transactions.find(id, connection) ?? RestoredTransactions.find(id, connection)
                ?? originalID.flatMap { try Transactions.find($0, connection) }
        }
        guard let original = found, original.bundleID == BundleID(receipt.bundleID), let app = apps[original.bundleID]
        else { return failure(.accountNotFound) }
        let subscription = isSubscription ? try await self.subscription(of: original, receipt, app: app) : nil
        return .transactionReceipt(TransactionReceiptResponse(receipt: receipt, subscription: subscription))
    }

    private func subscription(
        of transaction: Transaction, _ receipt: TransactionReceipt, app: AppRecord
    ) async throws -> TransactionReceiptResponse.Subscription {
        try await settleSubscriptions(of: transaction.accountID)
        let (chain, subscription) = try await database.read { connection in
            (
                try Transactions.lasting(of: transaction.accountID, in: transaction.bundleID, connection)
                    .filter { $0.originalTransactionID == transaction.originalTransactionID },
                try Subscriptions.find(transaction.originalTransactionID, connection)
                    ?? FamilyShares.subscription(transaction.originalTransactionID, connection)
            )
        }
        // A period that a change of plan replaced can end later than the new one.
        let last =
            chain.first { $0.transactionID == subscription?.transactionID }
            ?? chain.max { ($0.expiresDate ?? 0) < ($1.expiresDate ?? 0) } ?? transaction
        let isExpired = (last.expiresDate ?? 0) <= clock.milliseconds
        let goesOn = !isExpired && last.revokedAt == nil
        let renewal = subscription.flatMap { PendingRenewal($0) }
        let vendor = receipt.uniqueVendorIdentifier.flatMap { UUID(uuidString: $0) }
        var latest = TransactionReceipt(
            last, app: app, bundleVersion: receipt.bundleVersion, vendor: vendor, environment: environment)
        latest.otherEntries = last.cancellationEntries
        let bytes =
            goesOn
            ? try issuer.transactionReceipt(
                last, app: app, bundleVersion: receipt.bundleVersion, vendorIdentifier: vendor)
            : nil
        return TransactionReceiptResponse.Subscription(
            latest: latest, isExpired: isExpired, latestReceipt: bytes,
            autoRenewStatus: renewal?.autoRenewStatus ?? false,
            autoRenewProductID: renewal?.autoRenewProductID ?? last.productID.rawValue,
            expirationIntent: isExpired ? renewal?.expirationIntent ?? .cancelled : nil,
            isInBillingRetryPeriod: isExpired ? renewal?.isInBillingRetryPeriod ?? false : nil)
    }

    // MARK: Shared secrets and failures

    /// Checks the shared secret. Nil when it is right, or when it is missing and not required. An empty secret counts
    /// as missing, because clients without one send `"password": ""`.
    private func secretRefusal(
        _ request: VerifyReceiptRequest, bundleID: BundleID, isRequired: Bool
    ) -> VerifyReceiptResponse? {
        guard let app = apps[bundleID] else { return failure(.accountNotFound) }
        guard let password = request.password, !password.isEmpty else {
            return isRequired ? failure(.secretMismatch) : nil
        }
        return ConstantTime.equal(password.utf8, app.sharedSecret.utf8) ? nil : failure(.secretMismatch)
    }

    private func failure(_ outcome: VerificationOutcome) -> VerifyReceiptResponse {
        .failure(VerifyReceiptFailure(outcome, from: environment))
    }
}

extension Transaction {
    /// The entries about a refund in an iOS 6 receipt object.
    fileprivate var cancellationEntries: [TransactionReceipt.Entry] {
        guard let date = revokedAt.map({ ReceiptDate(milliseconds: $0) }) else { return [] }
        var entries = [
            TransactionReceipt.Entry(key: "cancellation-date", value: date.gmt),
            TransactionReceipt.Entry(key: "cancellation-date-ms", value: date.millisecondsText),
            TransactionReceipt.Entry(key: "cancellation-date-pst", value: date.pacific),
        ]
        if let revocationReason {
            entries.append(TransactionReceipt.Entry(key: "cancellation-reason", value: String(revocationReason)))
        }
        return entries
    }
}

extension PurchaseInformation {
    /// The element of a transaction in `latest_receipt_info`. Dates are in whole seconds, as in the receipt and in
    /// `in_app`.
    init(_ transaction: Transaction) {
        let isSubscription = transaction.kind == .autoRenewableSubscription
        self.init(
            quantity: Int64(transaction.quantity), productID: transaction.productID.rawValue,
            transactionID: transaction.transactionID.description,
            originalTransactionID: transaction.originalTransactionID.description,
            purchaseDate: ReceiptDate(milliseconds: transaction.purchaseDate).wholeSeconds,
            originalPurchaseDate: ReceiptDate(milliseconds: transaction.originalPurchaseDate).wholeSeconds,
            expiresDate: transaction.expiresDate.map { ReceiptDate(milliseconds: $0).wholeSeconds },
            webOrderLineItemID: transaction.webOrderLineItemID.map { String($0) },
            isTrialPeriod: transaction.offer == .trial,
            isInIntroOfferPeriod: isSubscription ? transaction.offer == .introductory : nil,
            cancellationDate: transaction.revokedAt.map { ReceiptDate(milliseconds: $0).wholeSeconds },
            cancellationReason: transaction.revocationReason, isUpgraded: transaction.isUpgraded,
            promotionalOfferID: transaction.promotionalOfferID, offerCodeRefName: transaction.offerCodeName,
            subscriptionGroupIdentifier: transaction.subscriptionGroupID?.rawValue,
            ownership: transaction.sharedFrom == nil ? .purchased : .familyShared,
            appAccountToken: transaction.appAccountToken)
    }
}
