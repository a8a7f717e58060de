import MerchantWire
import StoreWire

/// A redeemed purchase, or one that is only known from a notification or a download.
struct RedemptionRow {
    enum State: String {
        case granted
        case revoked
        /// The purchase is known and nobody has redeemed it.
        case open
    }

    var key: String
    /// The user who redeemed the purchase; empty while nobody has.
    var userID: UserID
    var grants: [ProductGrant]
    var expiresAt: Int64?
    var redeemedAt: Int64
    var state: State
    var stateSignedAt: Int64
    /// The credits that refunds and changes of plan took back, with the cause of each.
    var takenBack: [TakenCredits]
    /// The user who got the credits. Credits stay with that user when the purchase moves to another user.
    var creditedUser: UserID
    /// The credits among the grants at the redemption.
    var credits: [ProductGrant]
    /// The identifier of the transaction that was redeemed first.
    var transactionID: String
    /// The time at which another plan replaced this period before its end, in milliseconds since 1970; nil otherwise.
    var supersededAt: Int64?
}
