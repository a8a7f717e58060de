import Foundation
import MerchantWire

/// One purchase on its way through the merchant, as it is written down.
struct RedemptionEntry: Codable, Sendable, Equatable {
    /// Where it stands.
    enum Stage: Codable, Sendable, Equatable {
        /// The merchant has not confirmed it. What it is shown is kept, because StoreKit may have another receipt tomorrow.
        case redeeming(RedemptionRequest)
        /// The merchant has confirmed it; this content is still to come.
        case delivering([ContentItemID])
    }

    let transactionID: String
    /// Of a restored transaction: the first one of the purchase.
    let restoredFrom: String?
    let productID: String
    var stage: Stage
    /// Failed attempts in this stage, over all launches.
    var attempts = 0
    /// Whether StoreKit has been told to finish it.
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

    /// The content that is still to come.
    var due: [ContentItemID] {
        if case .delivering(let items) = stage { return items }
        return []
    }

    /// What an answer says of it: a restored transaction is the same purchase as its first one.
    func confirmation(in answer: RedemptionAnswer) -> RedeemedTransaction? {
        answer.redeemed.first { $0.transactionID == transactionID }
            ?? restoredFrom.flatMap { first in answer.redeemed.last { $0.originalTransactionID == first } }
    }

    /// Why an answer refuses it.
    func refusal(in answer: RedemptionAnswer) -> RefusedTransaction? {
        answer.refused.first { $0.transactionID == transactionID }
            ?? restoredFrom.flatMap { first in answer.refused.first { $0.transactionID == first } }
    }
}
