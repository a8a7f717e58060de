import Foundation
import MerchantWire

/// The saved state of one purchase's redemption.
struct RedemptionEntry: Codable, Sendable, Equatable {
    /// The stage of a redemption.
    enum Stage: Codable, Sendable, Equatable {
        /// The merchant has not confirmed the purchase. The request is saved, because StoreKit's receipt may be another
        /// one later.
        case redeeming(RedemptionRequest)
        /// The merchant has confirmed the purchase. These items are not downloaded yet.
        case delivering([ContentItemID])
    }

    let transactionID: String
    /// For a restored transaction, the identifier of the original transaction.
    let restoredFrom: String?
    let productID: String
    var stage: Stage
    /// The number of failed attempts in this stage, in all launches.
    var attempts = 0
    /// Whether the StoreKit transaction was finished.
    var isFinished = false

    init(transactionID: String, restoredFrom: String?, productID: String, stage: Stage) {
        self.transactionID = transactionID
        self.restoredFrom = restoredFrom
        self.productID = productID
        self.stage = stage
    }

    var purchase: MerchantPurchase { MerchantPurchase(transactionID: transactionID, productID: productID) }

    var isRedeeming: Bool {
        if case .redeeming = stage { return true }
        return false
    }

    /// The items that are not downloaded yet.
    var due: [ContentItemID] {
        if case .delivering(let items) = stage { return items }
        return []
    }

    /// The redeemed transaction in an answer. A restored transaction is the same purchase as its original one.
    func confirmation(in answer: RedemptionAnswer) -> RedeemedTransaction? {
        answer.redeemed.first { $0.transactionID == transactionID }
            ?? restoredFrom.flatMap { first in answer.redeemed.last { $0.originalTransactionID == first } }
    }

    /// The refused transaction in an answer.
    func refusal(in answer: RedemptionAnswer) -> RefusedTransaction? {
        answer.refused.first { $0.transactionID == transactionID }
            ?? restoredFrom.flatMap { first in answer.refused.first { $0.transactionID == first } }
    }
}
