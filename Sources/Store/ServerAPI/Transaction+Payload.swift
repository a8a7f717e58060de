import CornerstoreEncoding
import StoreWire

extension Transaction {
    /// Writes the members of Apple's `JWSTransactionDecodedPayload`. Dates are milliseconds since 1970, and prices
    /// milliunits.
    /// - Parameters:
    ///   - signedDate: when the payload is signed; nil to leave it out.
    ///   - appTransactionID: the customer's in the app; nil to leave it out.
    func writePayload(
        _ environment: StoreEnvironment, signedDate: Int64? = nil, appTransactionID: AppTransactionID? = nil,
        to json: inout JSONBytes
    ) {
        json.member("transactionId", quotedNumber: transactionID.rawValue)
        json.member("originalTransactionId", quotedNumber: originalTransactionID.rawValue)
        if let id = webOrderLineItemID { json.member("webOrderLineItemId", quotedNumber: id) }
        json.member("bundleId", bundleID.rawValue)
        json.member("productId", productID.rawValue)
        if let group = subscriptionGroupID { json.member("subscriptionGroupIdentifier", group.rawValue) }
        json.member("purchaseDate", number: purchaseDate)
        json.member("originalPurchaseDate", number: originalPurchaseDate)
        if let date = expiresDate { json.member("expiresDate", number: date) }
        json.member("quantity", number: Int64(quantity))
        json.member("type", kind.signedName)
        if let token = appAccountToken { json.member("appAccountToken", token) }
        json.member("inAppOwnershipType", sharedFrom == nil ? "PURCHASED" : "FAMILY_SHARED")
        if let signedDate { json.member("signedDate", number: signedDate) }
        if let date = revokedAt { writeRevocation(at: date, to: &json) }
        if isUpgraded { json.member("isUpgraded", true) }
        json.offer(offer, namedOffer, offerTerms)
        json.member("environment", environment.signedName)
        json.member("storefront", storefront)
        if let storefront = Storefront.named(storefront) { json.member("storefrontId", storefront.identifier) }
        json.member("transactionReason", isRenewal ? "RENEWAL" : "PURCHASE")
        json.member("price", number: price.milliunits)
        json.member("currency", price.currency)
        if let appTransactionID { json.member("appTransactionId", appTransactionID.description) }
    }

    private func writeRevocation(at date: Int64, to json: inout JSONBytes) {
        json.member("revocationDate", number: date)
        json.member("revocationReason", number: revocationReason ?? 0)
        let paid = price.milliunits
        if sharedFrom != nil {
            json.member("revocationType", "FAMILY_REVOKE")
        } else if refunded >= paid {
            json.member("revocationType", "REFUND_FULL")
        } else {
            json.member("revocationType", "REFUND_PRORATED")
            // Milliunits of a per cent.
            let percentage = refunded.multipliedReportingOverflow(by: 100_000)
            if !percentage.overflow {
                json.member("revocationPercentage", number: percentage.partialValue / max(paid, 1))
            }
        }
    }
}

extension JSONBytes {
    /// Writes what Apple's payloads say of an offer; nothing without one.
    mutating func offer(_ introductory: Transaction.Offer?, _ named: NamedOffer?, _ terms: OfferTerms?) {
        if let named {
            member("offerType", number: named.kind.offerType)
            member("offerIdentifier", named.id)
        } else if introductory != nil {
            member("offerType", number: 1)
        } else {
            return
        }
        guard let terms else { return }
        member("offerDiscountType", terms.paymentMode.discountType)
        if let period = terms.period { member("offerPeriod", period.description) }
    }
}

extension StoreEnvironment {
    /// Apple's `environment`.
    var signedName: String { self == .sandbox ? "Sandbox" : "Production" }
}

extension ProductKind {
    /// Apple's `type`.
    fileprivate var signedName: String {
        switch self {
        case .consumable: "Consumable"
        case .nonConsumable: "Non-Consumable"
        case .nonRenewingSubscription, .freeSubscription: "Non-Renewing Subscription"
        case .autoRenewableSubscription: "Auto-Renewable Subscription"
        }
    }
}

extension NamedOffer.Kind {
    /// Apple's `offerType`. An introductory offer is 1.
    fileprivate var offerType: Int64 {
        switch self {
        case .promotional: 2
        case .code: 3
        case .winBack: 4
        }
    }
}

extension OfferDescription.PaymentMode {
    /// Apple's `offerDiscountType`.
    fileprivate var discountType: String {
        switch self {
        case .free: "FREE_TRIAL"
        case .payAsYouGo: "PAY_AS_YOU_GO"
        case .payUpFront: "PAY_UP_FRONT"
        }
    }
}
