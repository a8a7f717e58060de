/// The steps of a redemption that a process may end before.
package enum RedemptionStep: String, Sendable, CaseIterable {
    /// What is about to be redeemed is written down.
    case journal
    /// The merchant is asked.
    case ask
    /// The merchant has answered.
    case answer
    /// What the merchant still has to deliver is written down.
    case journalDelivery
    /// A download begins.
    case download
    /// A download is on the disk.
    case downloaded
    /// The StoreKit transaction is finished.
    case finish
    /// What was written down is removed.
    case forget
}
