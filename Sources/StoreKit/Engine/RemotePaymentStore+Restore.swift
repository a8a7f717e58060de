import Foundation
import StoreWire

extension RemotePaymentStore {
    func restore(_ restore: PaymentQueueStateMachine.Restore) async -> PaymentQueueStateMachine.RestoreAnswer {
        guard (restore.username ?? "").utf8.count <= StoreLimits.applicationUsername else {
            return .refused(.usernameTooLong)
        }
        let (answer, cause) = await NetworkWitness.during { await self.page(of: restore) }
        guard case .unreachable = answer else { return answer }
        return .unreachable(cause)
    }

    private func page(
        of restore: PaymentQueueStateMachine.Restore
    ) async -> PaymentQueueStateMachine.RestoreAnswer {
        let request = RestoreRequest(
            idempotencyKey: restore.key, bundleID: session.bundleID, deviceID: session.deviceID,
            applicationUsername: restore.username, after: restore.after)
        do {
            let (page, account) = try await session.asCustomer(restore.account) { token throws(StoreFailure) in
                // One receipt serves all pages, because a restore does not change it.
                if restore.after == nil { try await fetchReceipt(nil, token: token) }
                return try await session.client.restore(request, token: token)
            }
            return .page(page, account: account)
        } catch {
            switch error {
            case .unreachable: return .unreachable(nil)
            case .failed(let failure): return .refused(failure)
            }
        }
    }

    /// Fetches and writes a new app receipt of the customer. Returns nil on success.
    func refreshReceipt(_ pretence: ReceiptPretence?) async -> PaymentFailure? {
        do {
            _ = try await session.asCustomer(nil) { token throws(StoreFailure) in
                try await fetchReceipt(pretence, token: token)
            }
            return nil
        } catch {
            switch error {
            case .unreachable: return .unreachable
            case .failed(let failure): return failure
            }
        }
    }

    private func fetchReceipt(_ pretence: ReceiptPretence?, token: String) async throws(StoreFailure) {
        let request = AppReceiptRequest(
            bundleID: session.bundleID, bundleVersion: bundleVersion, vendorIdentifier: vendorIdentifier,
            pretence: pretence)
        try await renew(request, token: token)
    }
}

extension StoreSession {
    /// The reason why a request of the customer failed.
    enum CustomerFailure: Error {
        case unreachable
        case failed(PaymentFailure)
    }

    /// Runs `body` with the token of `account`, or of the current account when it is nil. Unlike
    /// ``asAccount(_:mayAsk:_:)`` it serves requests that the customer has just made: it asks a customer who is not
    /// signed in to do so, even if the customer declined before.
    func asCustomer<Value: Sendable>(
        _ account: AccountID?, _ body: (String) async throws(StoreFailure) -> Value
    ) async throws(CustomerFailure) -> (Value, AccountID) {
        var email = account.flatMap(tokens.email)
        var next = account.map(tokens.signedIn) ?? tokens.current
        // When the store has rejected a token, another app of the device may have a newer one.
        while let signedIn = next {
            do throws(StoreFailure) {
                return (try await body(signedIn.token), signedIn.account.accountID)
            } catch {
                guard error == .notSignedIn else { throw CustomerFailure(error) }
                try? tokens.drop(signedIn.token)
                email = signedIn.account.email
                next = tokens.signedIn(signedIn.account.accountID)
            }
        }
        return try await signedInAnew(account, email, body)
    }

    private func signedInAnew<Value: Sendable>(
        _ account: AccountID?, _ email: String?, _ body: (String) async throws(StoreFailure) -> Value
    ) async throws(CustomerFailure) -> (Value, AccountID) {
        switch await signIn(as: account, email: email) {
        case .signedIn(let signedIn):
            do throws(StoreFailure) {
                return (try await body(signedIn.token), signedIn.account.accountID)
            } catch {
                throw CustomerFailure(error)
            }
        case .otherAccount: throw .failed(.otherCustomer)
        case .cancelled: throw .failed(.cancelled)
        case .refused(let failure): throw .failed(failure)
        case .unreachable: throw .unreachable
        }
    }
}

extension StoreSession.CustomerFailure {
    fileprivate init(_ failure: StoreFailure) {
        self = failure == .unreachable ? .unreachable : .failed(PaymentFailure(failure))
    }
}

extension PaymentFailure {
    static let usernameTooLong = PaymentFailure(
        .paymentInvalid, .usernameTooLong,
        text: "applicationUsername is longer than \(StoreLimits.applicationUsername) bytes; use a hash or a UUID.")
    static let otherCustomer = PaymentFailure(
        .unknown, "This request belongs to another account. Sign in to that account, and try again.")
    static let restoreJournal = PaymentFailure(
        .unknown, "The restored purchases could not be saved on this device. Restore again.")
    static let queueIsFull = PaymentFailure(
        .unknown, "The queue has too many unfinished transactions. Finish them, then restore again.")
}
