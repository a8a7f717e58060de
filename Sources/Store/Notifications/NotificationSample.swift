import StoreWire

/// A type of notification that nothing in this store causes. It is sent only on request, as a sample.
struct NotificationSample: Sendable, Equatable {
    /// The members that only samples of some types have.
    enum Form: Sendable, Equatable {
        /// `externalPurchaseToken`.
        /// - Parameter hasType: whether the token has a type and an end.
        case externalPurchase(hasType: Bool)
        /// `appData`, with a signed app transaction.
        case appTransaction
        /// `data`, with `advancedCommerceInfo` in the transaction and in the renewal information.
        case advancedCommerce
        /// `data` of a subscription with several seats.
        case seats
        /// `unclaimInfo`, with the seats that members lost (version 2.23).
        case unclaimedSeats
    }

    /// Apple's `notificationType`.
    let type: String
    /// Apple's `subtype`; nil for none.
    let subtype: String?
    /// The members of the payload that only this sample has.
    let form: Form

    /// All samples.
    static let all = [
        NotificationSample(
            type: "EXTERNAL_PURCHASE_TOKEN", subtype: "UNREPORTED", form: .externalPurchase(hasType: false)),
        NotificationSample(
            type: "EXTERNAL_PURCHASE_TOKEN", subtype: "CREATED", form: .externalPurchase(hasType: true)),
        NotificationSample(
            type: "EXTERNAL_PURCHASE_TOKEN", subtype: "ACTIVE_TOKEN_REMINDER", form: .externalPurchase(hasType: true)),
        NotificationSample(type: "RESCIND_CONSENT", subtype: nil, form: .appTransaction),
        NotificationSample(type: "METADATA_UPDATE", subtype: nil, form: .advancedCommerce),
        NotificationSample(type: "MIGRATION", subtype: nil, form: .advancedCommerce),
        NotificationSample(type: "PRICE_CHANGE", subtype: nil, form: .advancedCommerce),
        NotificationSample(type: "REFUND", subtype: "SEATS", form: .seats),
        NotificationSample(type: "DID_CHANGE_RENEWAL_PREF", subtype: "INCREASE_QUANTITY", form: .seats),
        NotificationSample(type: "DID_CHANGE_RENEWAL_PREF", subtype: "DECREASE_QUANTITY", form: .seats),
        NotificationSample(type: "UNCLAIM_SEATS", subtype: nil, form: .unclaimedSeats),
    ]

    /// The sample of a type.
    /// - Throws: ``StoreError`` `invalid_request` with the samples, or with the command that causes the type.
    static func named(_ type: String, _ subtype: String?) throws -> NotificationSample {
        if let sample = all.first(where: { same($0.type, type) && same($0.subtype, subtype) }) { return sample }
        let ofType = causes.filter { same($0.type, type) }
        if let cause = ofType.first(where: { same($0.subtype, subtype) }) ?? (subtype == nil ? ofType.first : nil) {
            let words = [cause.type, cause.subtype].compactMap(\.self).joined(separator: "/")
            throw StoreError(
                .invalidRequest,
                "The store sends \(words) when it happens, and never as a sample. Cause it with “cornerstore "
                    + "\(cause.command)”.")
        }
        let known = all.map { [$0.type, $0.subtype].compactMap(\.self).joined(separator: "/") }
        throw StoreError(
            .invalidRequest, "There is no sample of this type. The samples are \(known.joined(separator: ", ")).")
    }

    private static func same(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right)
    }
}

extension NotificationSample {
    /// A type that the store sends when it happens.
    struct Cause: Sendable {
        /// Apple's `notificationType`.
        let type: String
        /// Apple's `subtype`; nil for none.
        let subtype: String?
        /// The last command of those that cause it, without `cornerstore`.
        let command: String

        fileprivate init(_ type: String, _ subtype: String? = nil, by command: String) {
            (self.type, self.subtype, self.command) = (type, subtype, command)
        }
    }

    /// The types that something in this store causes.
    static let causes = [
        Cause("SUBSCRIBED", "INITIAL_BUY", by: "buy PRODUCT"),
        Cause("SUBSCRIBED", "RESUBSCRIBE", by: "buy PRODUCT"),
        Cause("DID_RENEW", by: "clock advance 1mo"),
        Cause("DID_RENEW", "BILLING_RECOVERY", by: "subscription recover ACCOUNT"),
        Cause("DID_CHANGE_RENEWAL_PREF", "UPGRADE", by: "subscription change ACCOUNT --to PRODUCT"),
        Cause("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", by: "subscription change ACCOUNT --to PRODUCT"),
        Cause("DID_CHANGE_RENEWAL_PREF", by: "subscription change ACCOUNT --to PRODUCT"),
        Cause("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", by: "subscription cancel ACCOUNT"),
        Cause("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", by: "subscription enable ACCOUNT"),
        Cause("OFFER_REDEEMED", by: "redeem CODE"),
        Cause("OFFER_REDEEMED", "UPGRADE", by: "redeem CODE"),
        Cause("OFFER_REDEEMED", "DOWNGRADE", by: "redeem CODE"),
        Cause("EXPIRED", "VOLUNTARY", by: "clock advance 1mo"),
        Cause("EXPIRED", "BILLING_RETRY", by: "clock advance 60d"),
        Cause("EXPIRED", "PRICE_INCREASE", by: "clock advance 1mo"),
        Cause("EXPIRED", "PRODUCT_NOT_FOR_SALE", by: "clock advance 1mo"),
        Cause("DID_FAIL_TO_RENEW", by: "clock advance 1mo"),
        Cause("DID_FAIL_TO_RENEW", "GRACE_PERIOD", by: "clock advance 1mo"),
        Cause("GRACE_PERIOD_EXPIRED", by: "clock advance 16d"),
        Cause("PRICE_INCREASE", "PENDING", by: "price-increase add PRODUCT PRICE --account ACCOUNT"),
        Cause("PRICE_INCREASE", "ACCEPTED", by: "clock advance 1mo"),
        Cause("ONE_TIME_CHARGE", by: "buy PRODUCT"),
        Cause("REFUND", by: "transaction refund TRANSACTION"),
        Cause("REFUND_DECLINED", by: "refund-request decline REQUEST"),
        Cause("REFUND_REVERSED", by: "transaction refund TRANSACTION --reverse"),
        Cause("CONSUMPTION_REQUEST", by: "refund-request make TRANSACTION"),
        Cause("REVOKE", by: "family remove MEMBER"),
        Cause("RENEWAL_EXTENDED", by: "subscription extend ACCOUNT --days 7"),
        Cause("RENEWAL_EXTENSION", "SUMMARY", by: "subscription extend-all PRODUCT --days 7"),
        Cause("RENEWAL_EXTENSION", "FAILURE", by: "subscription extend-all PRODUCT --days 7"),
        Cause("TEST", by: "notification test"),
    ]
}
