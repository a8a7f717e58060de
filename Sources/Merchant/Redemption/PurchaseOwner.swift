import MerchantWire
import StoreWire

/// The party that asks for a redemption.
enum Claimant: Sendable, Equatable {
    /// The signed-in user of the app that sent the evidence.
    case user(UserID)
    /// The store, in a notification.
    case store
}

/// The owner of a purchase.
enum PurchaseOwner: Equatable {
    case user(UserID)
    /// The purchase names a user whom the merchant does not know, and the subscription was another user's before.
    case stranger
    /// Neither the purchase nor its subscription names a user.
    case unknown

    /// Decides who owns a purchase: the user named by its account token, otherwise the signed-in user.
    ///
    /// A renewal repeats the token of an earlier purchase and belongs to its subscription's user. A purchase that the
    /// store reports belongs to the subscription's user. If the subscription has none or was bought anew, it belongs to
    /// the user named by the account token.
    /// - Parameters:
    ///   - key: the purchase's redemption key.
    ///   - subscription: the purchase's subscription, if it is known.
    ///   - named: returns the user who registered an account token; nil when nobody has.
    init(
        of purchase: VerifiedPurchase, _ key: RedemptionKey, _ subscription: SubscriptionRow?, _ claimant: Claimant,
        named: (String) throws -> UserID?
    ) rethrows {
        let isBoughtAnew = subscription?.isBoughtAnew(by: purchase, key) ?? false
        switch claimant {
        case .user(let user):
            guard subscription?.userID != user || isBoughtAnew, let token = purchase.accountToken,
                !purchase.names(user)
            else {
                self = .user(user)
                return
            }
            self = .user(try named(token) ?? user)
        case .store:
            let owner = subscription?.userID ?? ""
            guard owner == "" || isBoughtAnew, let token = purchase.accountToken else {
                self = owner == "" ? .unknown : .user(owner)
                return
            }
            if let user = try named(token) {
                self = .user(user)
            } else if owner == "" {
                self = .unknown
            } else {
                // The same token as before means the same owner, even if no user has registered it.
                let isSame = subscription?.accountToken?.hasSameBytes(as: token) ?? false
                self = purchase.names(owner) || isSame ? .user(owner) : .stranger
            }
        }
    }
}
