import Foundation

/// The decrypted contents of the vault's file.
struct VaultContents: Codable, Sendable, Equatable {
    /// A product that a receipt unlocks.
    struct Unlock: Codable, Sendable, Equatable {
        var productID: String
        var originalTransactionID: String
        /// The SHA-256 of the receipt, in hexadecimal.
        var evidence: String
    }

    /// A purchase that a receipt adds to a balance.
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

    /// The number of the write. Each write increments it.
    var generation = 0
    /// The SHA-256 of the file that this one replaced; empty for the first.
    var previous = Data()
    /// The device on which the vault was created.
    var device: UUID
    var unlocks: [Unlock] = []
    /// The creation dates of the receipts that show purchases as refunded, by product and original transaction with a
    /// space between them. Files of earlier versions have the original transaction alone.
    var revoked: [String: Date] = [:]
    /// The credits, oldest first. Spends use them up in this order.
    var credits: [Credit] = []
    /// Receipts by their SHA-256 in hexadecimal.
    var evidence: [String: Data] = [:]
    /// Certificates in DER that transactions' own receipts need.
    var intermediates: [Data] = []
    /// Transactions that were credited and are used up. They are never credited again.
    var counted: [String] = []
    /// Transactions that were credited, but whose evidence was lost with a newer file.
    var lost: [String] = []
    /// The amount, by currency, that the transactions in `lost` may bring back: at most the balance before the loss.
    var recoverable: [String: Int] = [:]
    /// The amount spent from `credits`, by currency; never more than their sum.
    var spent: [String: Int] = [:]
    /// The latest spends, oldest first.
    var spends: [Spend] = []

    init(device: UUID) { self.device = device }

    /// Whether the contents keep to the limits. A vault only writes contents that do.
    var isWithinLimits: Bool {
        generation >= 0 && unlocks.count <= VaultLimits.entries && credits.count <= VaultLimits.entries
            && revoked.count <= VaultLimits.entries
            && counted.count + lost.count <= VaultLimits.counted && spends.count <= VaultLimits.spends
            && intermediates.count <= VaultLimits.intermediates && spent.values.allSatisfy { $0 >= 0 }
            && recoverable.values.allSatisfy { $0 >= 0 }
            && evidence.values.reduce(0) { $0 + $1.count } <= VaultLimits.evidence
    }
}
