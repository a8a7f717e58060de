import Foundation
import StoreWire

/// The store over the network, and the receipt on this device.
struct RemotePaymentStore: PaymentStore {
    let session: StoreSession
    let check: ReceiptCheck
    let receiptURL: URL
    let bundleVersion: String
    let vendorIdentifier: UUID
    /// Whether the device allows purchases now.
    let allowsPayments: @Sendable () -> Bool
    let diagnostics: @Sendable (String) -> Void
    /// Receives failures to fetch or write a receipt, which delay the delivery of paid purchases and of refunds.
    let alarm: @Sendable (String) -> Void
    /// Serializes fetching and writing of receipts, so that an older receipt never replaces a newer one.
    private let receiptAccess = SerialAccess()

    init(
        session: StoreSession, check: ReceiptCheck, receiptURL: URL, bundleVersion: String, vendorIdentifier: UUID,
        allowsPayments: @escaping @Sendable () -> Bool, diagnostics: @escaping @Sendable (String) -> Void,
        alarm: @escaping @Sendable (String) -> Void
    ) {
        self.session = session
        self.check = check
        self.receiptURL = receiptURL
        self.bundleVersion = bundleVersion
        self.vendorIdentifier = vendorIdentifier
        self.allowsPayments = allowsPayments
        self.diagnostics = diagnostics
        self.alarm = alarm
    }

    var storefront: StorefrontDescription? { session.storefront }

    func confirm(
        _ entry: PaymentQueueEntry, shouldContinue: @escaping @Sendable (StorefrontDescription) async -> Bool
    ) async -> PaymentQueueStateMachine.Confirmation {
        guard allowsPayments() else { return .refused(.notAllowed) }
        if let failure = PaymentFailure(of: entry.payment) { return .refused(failure) }
        return await session.confirm(entry.payment, storefront: entry.storefront, shouldContinue: shouldContinue)
    }

    func purchase(_ entry: PaymentQueueEntry) async -> PaymentQueueStateMachine.Answer {
        guard let account = entry.account else { return .refused(.otherAccount) }
        let request = PurchaseRequest(
            idempotencyKey: entry.key, bundleID: session.bundleID,
            productID: ProductID(entry.payment.productIdentifier),
            quantity: entry.payment.quantity, applicationUsername: entry.payment.applicationUsername,
            simulatesAskToBuy: entry.payment.simulatesAskToBuyInSandbox, agreedPrice: entry.agreedPrice,
            offer: entry.payment.offer, offerJWS: entry.payment.offerJWS)
        do {
            // A deferred purchase is only checked for approval. It is no reason to ask for a password.
            let isOnSheet = entry.phase == .sending
            let response = try await session.asAccount(account, mayAsk: isOnSheet) { token throws(StoreFailure) in
                try await session.client.purchase(request, token: token)
            }
            if isOnSheet, let refusal = response.failure, [.paymentDeclined, .interrupted].contains(refusal.code) {
                await session.tell(PaymentFailure(refusal: refusal))
            }
            return .response(response)
        } catch {
            switch error {
            case .unreachable: return .unreachable
            case .notSignedIn: return .signedOut
            case .refused: return .refused(PaymentFailure(error))
            }
        }
    }

    func collect(_ entries: [PaymentQueueEntry]) async -> [UUID: Data]? {
        guard let account = entries.first?.account else { return nil }
        let request = AppReceiptRequest(
            bundleID: session.bundleID, bundleVersion: bundleVersion, vendorIdentifier: vendorIdentifier)
        do {
            return try await session.asAccount(account, mayAsk: true) { token throws(StoreFailure) in
                let receipts = try await transactionReceipts(entries, request, token: token)
                try await renew(request, token: token)
                return receipts
            }
        } catch {
            if case .refused(let refusal) = error {
                diagnostics("the store refused a receipt: \(refusal.code) \(refusal.message.prefix(500))")
            }
            return nil
        }
    }

    /// Fetches and writes the app receipt.
    /// - Throws: ``StoreFailure``; `unreachable` also when this device refuses the receipt, so that a paid purchase
    ///   waits for one that it accepts.
    func renew(_ request: AppReceiptRequest, token: String) async throws(StoreFailure) {
        guard try await replaceReceipt(request, token: token) else { throw .unreachable }
    }

    /// Fetches and writes a new app receipt of an account that is signed in.
    /// - Parameter isStopped: whether a receipt that has arrived is not to be written any more: the app's next launch
    ///   may have written a newer one.
    /// - Returns: false when no repetition can succeed, because the store refuses the request or this device refuses
    ///   the receipt, of which ``alarm`` has received the reason, or because it is stopped.
    /// - Throws: ``StoreFailure`` `unreachable` or `notSignedIn`.
    func renewReceipt(
        of account: AccountID, unless isStopped: @escaping @Sendable () -> Bool
    ) async throws(StoreFailure) -> Bool {
        let request = AppReceiptRequest(
            bundleID: session.bundleID, bundleVersion: bundleVersion, vendorIdentifier: vendorIdentifier)
        do {
            return try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await replaceReceipt(request, token: token, unless: isStopped)
            }
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            alarm("the store refused a new receipt: \(refusal.code) \(refusal.message.prefix(500))")
            return false
        }
    }

    /// Fetches and writes the app receipt, one at a time, so that an older receipt never replaces a newer one.
    /// - Returns: false when this device refuses the receipt, of which ``alarm`` has received the reason, or when it is
    ///   stopped.
    private func replaceReceipt(
        _ request: AppReceiptRequest, token: String, unless isStopped: @Sendable () -> Bool = { false }
    ) async throws(StoreFailure) -> Bool {
        await receiptAccess.enter()
        let result: Result<Bool, StoreFailure>
        do throws(StoreFailure) {
            let receipt = try await session.client.appReceipt(request, token: token)
            result = .success(isStopped() ? false : try await write(receipt))
        } catch {
            result = .failure(error)
        }
        await receiptAccess.leave()
        return try result.get()
    }

    /// The most concurrent requests.
    private static let width = 8

    /// The receipts of the transactions. A receipt that the store refuses is omitted, because the app receipt contains
    /// the purchase as well.
    private func transactionReceipts(
        _ entries: [PaymentQueueEntry], _ request: TransactionReceiptRequest, token: String
    ) async throws(StoreFailure) -> [UUID: Data] {
        let client = session.client
        let results = await withTaskGroup(of: (UUID, Result<Data, StoreFailure>).self) { group in
            var results: [(UUID, Result<Data, StoreFailure>)] = []
            var rest = entries.compactMap { entry in entry.transaction.map { (entry.key, $0.transactionID) } }[...]
            var running = 0
            while true {
                while running < Self.width, let (key, transaction) = rest.popFirst() {
                    running += 1
                    group.addTask {
                        do throws(StoreFailure) {
                            return (
                                key, .success(try await client.transactionReceipt(transaction, request, token: token))
                            )
                        } catch {
                            return (key, .failure(error))
                        }
                    }
                }
                guard let result = await group.next() else { return results }
                running -= 1
                results.append(result)
            }
        }
        var receipts: [UUID: Data] = [:]
        for (key, result) in results {
            switch result {
            case .success(let receipt): receipts[key] = receipt
            case .failure(.refused): break
            case .failure(let failure): throw failure
            }
        }
        return receipts
    }

    /// Writes a receipt.
    /// - Returns: false when this device refuses the receipt. ``alarm`` has received the reason.
    /// - Throws: ``StoreFailure`` `unreachable` when the file cannot be written, which a retry may mend.
    private func write(_ receipt: Data) async throws(StoreFailure) -> Bool {
        if let reason = await check.refusal(of: receipt) {
            alarm("the receipt from the store was refused: \(reason)")
            return false
        }
        do { try BoundedFile.write(receipt, to: receiptURL) } catch {
            alarm("cannot write the receipt: \(error)")
            throw .unreachable
        }
        return true
    }

    func finish(_ entry: PaymentQueueEntry) async -> Bool {
        guard let account = entry.account, let transaction = entry.transaction?.transactionID else { return true }
        do {
            try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await session.client.finish(transaction, token: token)
            }
            return true
        } catch {
            guard case .refused(let refusal) = error else { return false }
            // The transaction was finished before, or belongs to another account: no retry can succeed.
            return refusal.code == .unknownTransaction || refusal.code == .wrongState
        }
    }

    func unfinished(after: TransactionID?) async -> Listing {
        guard let account = session.tokens.current?.account.accountID else { return .signedOut }
        do {
            let page = try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await session.client.unfinished(session.bundleID, after: after, token: token)
            }
            return .page(page, account: account)
        } catch {
            return error == .notSignedIn ? .signedOut : .unreachable
        }
    }
}
