import StoreWire

extension Subscription {
    /// The facts of one period, which is a transaction of the subscription.
    struct Period: Sendable, Equatable {
        /// The redemption key of the period's purchase.
        let key: RedemptionKey
        var productID: ProductID
        /// The start, by the earliest statement: a receipt has it in whole seconds.
        var purchasedAt: Int64
        /// The end that the store stated last: it may extend a period, and in the sandbox end one early.
        var expiresAt: Int64
        /// The time at which the store signed the statement of the end. An earlier program did not record it: then this
        /// is the newest time at which the store signed a statement that the program knew, or 0.
        var endSignedAt: Int64 = 0
        /// The account token of the purchase.
        var accountToken: Statement<String>?
        /// The first known time at which the store said that another plan has replaced the period; nil when it has not.
        var upgradedAt: Int64?
        /// The date of the first refund, even if it was reversed; nil when the store stated none.
        var refundedAt: Int64?
        /// The date of the refund or revocation, or nil in it after a reversal.
        var refund: Statement<Int64?>?
        /// The end of the grace period after this period, or nil in it when there is none or no longer one.
        var grace: Statement<Int64?>?

        /// The date of the refund or revocation that stands; nil when there is none.
        var revokedAt: Int64? { refund.flatMap(\.value) }
        /// When the period ends, or ended because of a refund.
        var end: Int64 { min(expiresAt, revokedAt ?? .max) }

        /// Adds what else is known of the same period.
        mutating func merge(_ other: Period) {
            if (other.purchasedAt, other.productID.rawValue) < (purchasedAt, productID.rawValue) {
                (purchasedAt, productID) = (other.purchasedAt, other.productID)
            }
            if (other.endSignedAt, other.expiresAt) > (endSignedAt, expiresAt) {
                (endSignedAt, expiresAt) = (other.endSignedAt, other.expiresAt)
            }
            accountToken = .latest(accountToken, other.accountToken) { $0 < $1 }
            upgradedAt = [upgradedAt, other.upgradedAt].compactMap(\.self).min()
            refundedAt = [refundedAt, other.refundedAt].compactMap(\.self).min()
            // A reversal has no date and follows its refund; a grace period that is over has none and follows it, too.
            refund = .latest(refund, other.refund) { ($0 ?? .min) < ($1 ?? .min) }
            grace = .latest(grace, other.grace) { ($0 ?? .min) < ($1 ?? .min) }
        }

        /// Whether a moment is too early in the period for a renewal. A renewal begins when it is paid, up to a day
        /// before the period's end.
        func isEarly(_ moment: Int64) -> Bool {
            expiresAt - moment > min(86_400_000, (expiresAt - purchasedAt) / 8)
        }

        /// Whether this is the same period as another one, which evidence without the store's number identifies by its
        /// start.
        func isCopy(of other: Period) -> Bool {
            key != other.key && productID == other.productID && purchasedAt / 1_000 == other.purchasedAt / 1_000
                && (key.periodNumber == nil || other.key.periodNumber == nil)
        }

        /// A period's place among the periods of its subscription.
        ///
        /// App receipts and iOS 6 receipts have whole seconds. Of two periods of the same second, the later one has the
        /// higher number: stores number periods when they are bought.
        struct Position: Comparable {
            fileprivate let second: Int64
            fileprivate let number: Int64
            fileprivate let purchasedAt: Int64
            fileprivate let product: String
            fileprivate let key: String

            static func < (left: Position, right: Position) -> Bool {
                (left.second, left.number, left.purchasedAt, left.product, left.key)
                    < (right.second, right.number, right.purchasedAt, right.product, right.key)
            }
        }

        var position: Position {
            Position(
                second: purchasedAt / 1_000, number: key.periodNumber ?? -1, purchasedAt: purchasedAt,
                product: productID.rawValue, key: key.text)
        }
    }
}

// MARK: - Facts

extension Subscription {
    /// The facts that a purchase proves; empty for a purchase without an expiry date.
    /// - Parameters:
    ///   - key: the purchase's redemption key.
    ///   - statement: what the store says with it about renewal.
    init(_ purchase: VerifiedPurchase, _ key: RedemptionKey, _ statement: RenewalStatement? = nil) {
        var period = Period(purchase, key)
        period?.grace = statement?.signed { $0.grace.map(\.end) }
        self.init(period)
        guard period != nil else { return }
        willRenew = statement?.signed(\.willRenew)
        renewsAs = statement?.signed(\.renewsAs)
    }

    /// The facts of a notification about a refund, a revocation or its reversal.
    /// - Parameters:
    ///   - isReversal: whether the store has reversed the refund.
    ///   - signedAt: the time at which the store signed the notification.
    init(refundOf purchase: VerifiedPurchase, _ key: RedemptionKey, isReversal: Bool, signedAt: Int64) {
        var period = Period(purchase, key)
        let revokedAt = isReversal ? nil : purchase.revokedAt ?? signedAt
        period?.refund = .init(value: revokedAt, signedAt: signedAt)
        // A refund without a date came after what was bought in the same millisecond.
        if !isReversal { period?.refundedAt = purchase.revokedAt ?? signedAt + 1 }
        self.init(period)
    }
}

extension RenewalStatement {
    /// A part of the statement; nil when the statement does not contain it.
    fileprivate func signed<Value>(_ part: (RenewalStatement) -> Value?) -> Subscription.Statement<Value>? {
        part(self).map { Subscription.Statement(value: $0, signedAt: signedAt) }
    }
}

extension Subscription.Period {
    /// The facts that a purchase proves; nil for a purchase without an expiry date.
    fileprivate init?(_ purchase: VerifiedPurchase, _ key: RedemptionKey) {
        guard let expiresAt = purchase.expiresAt else { return nil }
        self.init(
            key: key, productID: purchase.productID, purchasedAt: purchase.purchasedAt, expiresAt: expiresAt,
            endSignedAt: purchase.signedAt,
            accountToken: purchase.accountToken.map { .init(value: $0, signedAt: purchase.signedAt) })
        if purchase.isUpgraded == true {
            upgradedAt = purchase.revokedAt ?? purchase.signedAt
        } else if let revokedAt = purchase.revokedAt, purchase.isUpgraded == false {
            // Evidence that does not distinguish a refund from a change of plan proves neither.
            refundedAt = revokedAt
            refund = .init(value: revokedAt, signedAt: purchase.signedAt)
        }
    }
}
