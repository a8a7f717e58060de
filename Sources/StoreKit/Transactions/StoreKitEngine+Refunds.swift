import Foundation
import StoreWire

extension StoreKitEngine {
    /// Asks the customer for the reason of a refund, and sends the request to the store.
    /// - Throws: ``Transaction/RefundRequestError``.
    func beginRefundRequest(for transactionID: UInt64) async throws -> Transaction.RefundRequestStatus {
        guard let session, let id = TransactionID(String(transactionID)) else {
            diagnostics("no refund of the transaction \(transactionID) can be requested")
            throw Transaction.RefundRequestError.failed
        }
        do throws(StoreFailure) {
            return try await session.requestRefund(of: id)
        } catch {
            diagnostics("the refund of the transaction \(id) was not requested: \(error)")
            if case .refused(let refusal) = error, refusal.code == .refundRequested {
                throw Transaction.RefundRequestError.duplicateRequest
            }
            throw Transaction.RefundRequestError.failed
        }
    }
}

extension StoreSession {
    /// Requests the refund of a transaction of the account that is signed in. If nobody is, the customer signs in
    /// first.
    fileprivate func requestRefund(
        of id: TransactionID
    ) async throws(StoreFailure) -> Transaction.RefundRequestStatus {
        let account: AccountDescription
        if let current = tokens.current {
            account = current.account
        } else {
            switch await signIn(as: nil, email: nil) {
            case .signedIn(let signedIn): account = signedIn.account
            case .cancelled: return .userCancelled
            case .otherAccount, .refused: throw .notSignedIn
            case .unreachable: throw .unreachable
            }
        }
        let found = try await asAccount(account.accountID, mayAsk: true) { token throws(StoreFailure) in
            try await client.refundable(id, in: bundleID, token: token)
        }
        let prompt = try await prompt(found, account)
        guard let reason = await onSheet({ await $0.chooseRefundReason(prompt) }) else { return .userCancelled }
        let request = RefundRequestMessage(bundleID: bundleID, reason: reason.rawValue)
        try await asAccount(account.accountID, mayAsk: true) { token throws(StoreFailure) in
            try await client.requestRefund(of: id, request, token: token)
        }
        return .success
    }

    /// The question to the customer. The product's name and the form of its price are those of today.
    private func prompt(
        _ found: RefundableTransaction, _ account: AccountDescription
    ) async throws(StoreFailure) -> RefundPrompt {
        guard let price = found.price.exact else { throw .unreachable }
        let product = try await products([found.productID]).products.first
        var locale = "en_US@currency=\(found.price.currency)"
        if let product, product.price.currency == found.price.currency { locale = product.priceLocale }
        return RefundPrompt(
            productIdentifier: found.productID.rawValue, productName: product?.displayName ?? found.productID.rawValue,
            price: price, priceLocale: Locale(identifier: locale), account: account.email)
    }
}
