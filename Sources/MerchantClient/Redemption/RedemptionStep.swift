/// The steps of a redemption. Tests of crashes end the process before each of them.
package enum RedemptionStep: String, Sendable, CaseIterable {
    /// The entry of a new redemption is saved.
    case journal
    /// The request is sent to the merchant.
    case ask
    /// The merchant has answered.
    case answer
    /// The list of content to download is saved.
    case journalDelivery
    /// A download begins.
    case download
    /// A download is complete.
    case downloaded
    /// The StoreKit transaction is finished.
    case finish
    /// The entry is removed.
    case forget
}
