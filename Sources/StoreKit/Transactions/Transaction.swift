import Foundation

/// A purchase of the customer's, StoreKit 2's type. Of its API only refund requests exist here, so there are no values
/// of it yet.
public struct Transaction: Sendable {
    private init() {}

    /// How a refund request ended.
    public enum RefundRequestStatus: Sendable {
        /// The store received the request, and decides about it later.
        case success
        /// The customer cancelled the request.
        case userCancelled
    }

    /// The reason why a refund request failed.
    public enum RefundRequestError: Error, Sendable {
        /// The store has a request for this transaction already, which waits for its decision.
        case duplicateRequest
        /// The request failed: the store cannot be reached, or refused it.
        case failed
    }

    /// Shows the refund request in a window scene. Not available on Linux.
    /// - Throws: ``RefundRequestError``.
    @available(*, unavailable, message: "there are no window scenes here; use beginRefundRequest(for:)")
    public static func beginRefundRequest(
        for transactionID: UInt64, in scene: AnyObject
    ) async throws -> Transaction.RefundRequestStatus {
        try await beginRefundRequest(for: transactionID)
    }
}

extension Transaction.RefundRequestError: LocalizedError {
    /// The error in a sentence, in English.
    public var errorDescription: String? {
        switch self {
        case .duplicateRequest: "A refund of this purchase has been requested already."
        case .failed: "The refund could not be requested."
        }
    }
}
