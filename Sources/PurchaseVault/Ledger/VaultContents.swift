import Foundation

/// What the vault's file holds once it is unsealed.
struct VaultContents: Codable, Sendable, Equatable {
    /// Something that a receipt unlocks.
    struct Unlock: Codable, Sendable, Equatable {
        var productID: String
        var originalTransactionID: String
        /// The SHA-256 of the receipt, in hexadecimal.
        var evidence: String
    }

    /// Something that a receipt adds to a balance.
    struct Credit: Codable, Sendable, Equatable {
        var productID: String
        var transactionID: String
        /// The SHA-256 of the receipt, in hexadecimal.
        var evidence: String
    }

    struct Spend: Codable, Sendable, Equatable {
        var key: String
        var currency: String
        var amount: Int
        var date: Date
    }

    /// Rises by one with every writing.
    var generation = 0
    /// The SHA-256 of the file that this one replaced; empty for the first.
    var previous = Data()
    /// The device it was made on.
    var device: UUID
    var unlocks: [Unlock] = []
    /// When receipts were made that said so of purchases that were refunded, by original transaction.
    var revoked: [String: Date] = [:]
    /// Oldest first: they are used up in this order.
    var credits: [Credit] = []
    /// Receipts by their SHA-256 in hexadecimal.
    var evidence: [String: Data] = [:]
    /// Certificates in DER that transactions' own receipts need.
    var intermediates: [Data] = []
    /// Transactions that were credited and are used up: they never count again.
    var counted: [String] = []
    /// Transactions that were credited and whose evidence is gone with a newer copy.
    var lost: [String] = []
    /// What of `lost` may come back, by currency: no more than was there.
    var recoverable: [String: Int] = [:]
    /// What is taken from `credits`, by currency; never more than they are.
    var spent: [String: Int] = [:]
    /// The latest spends, oldest first.
    var spends: [Spend] = []

    init(device: UUID) { self.device = device }

    /// Whether it keeps to the limits; what was sealed here does.
    var isWithinLimits: Bool {
        generation >= 0 && unlocks.count <= VaultLimits.entries && credits.count <= VaultLimits.entries
            && revoked.count <= VaultLimits.entries
            && counted.count + lost.count <= VaultLimits.counted && spends.count <= VaultLimits.spends
            && intermediates.count <= VaultLimits.intermediates && spent.values.allSatisfy { $0 >= 0 }
            && recoverable.values.allSatisfy { $0 >= 0 }
            && evidence.values.reduce(0) { $0 + $1.count } <= VaultLimits.evidence
    }
}
