import Foundation
import StoreReceipts

/// One purchase as a verified receipt shows it. Only ``EvidenceCheck`` makes one.
struct VaultProof: Sendable, Equatable {
    let productID: String
    let transactionID: String
    let originalTransactionID: String
    let quantity: Int
    /// When a subscription's period ends.
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

    /// Of several periods of one purchase the one that says most: not refunded, and lasting longest.
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

/// A receipt that verified, with all that it proves.
struct VaultEvidence: Sendable, Equatable {
    let bytes: Data
    /// The SHA-256 of the bytes, in hexadecimal.
    let digest: String
    /// When it was made; of a transaction's own receipt, when it was bought.
    let date: Date
    let proofs: [VaultProof]
    /// The certificates that came along, for transactions' own receipts.
    let certificates: [Data]
}
