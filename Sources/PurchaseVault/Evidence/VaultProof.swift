import Foundation
import StoreReceipts

/// One purchase in a verified receipt. Only ``EvidenceCheck`` creates proofs.
struct VaultProof: Sendable, Equatable {
    let productID: String
    let transactionID: String
    let originalTransactionID: String
    let quantity: Int
    /// The end of a subscription's period; nil for other products.
    let expires: Date?
    let isRevoked: Bool

    init?(_ purchase: InAppPurchase) {
        guard let quantity = Int(exactly: purchase.quantity), quantity > 0 else { return nil }
        self.quantity = quantity
        productID = purchase.productID
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID ?? purchase.transactionID
        expires = purchase.expiresDate
        isRevoked = purchase.cancellationDate != nil
        guard isWithinLimits else { return nil }
    }

    init?(_ receipt: TransactionReceipt) {
        guard let quantity = Int(exactly: receipt.quantity), quantity > 0 else { return nil }
        self.quantity = quantity
        productID = receipt.productID
        transactionID = receipt.transactionID
        originalTransactionID = receipt.originalTransactionID
        expires = receipt.expiresDate?.date
        isRevoked = false
        guard isWithinLimits else { return nil }
    }

    /// The best of several periods of one purchase: one that is not refunded, with the latest end.
    static func best(of proofs: [VaultProof]) -> VaultProof? {
        proofs.max { left, right in
            if left.isRevoked != right.isRevoked { return left.isRevoked }
            return (left.expires ?? .distantPast) < (right.expires ?? .distantPast)
        }
    }

    private var isWithinLimits: Bool {
        [productID, transactionID, originalTransactionID].allSatisfy {
            !$0.isEmpty && $0.utf8.count <= VaultLimits.text
        }
    }
}

/// A verified receipt with all its purchases.
struct VaultEvidence: Sendable, Equatable {
    let bytes: Data
    /// The SHA-256 of the bytes, in hexadecimal.
    let digest: String
    /// The creation date of an app receipt, or the purchase date of a transaction's own receipt.
    let date: Date
    let proofs: [VaultProof]
    /// The certificates in the receipt, for verifying transactions' own receipts.
    let certificates: [Data]
}
