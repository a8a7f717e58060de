import CornerstoreEncoding

extension VerifyReceiptResponse {
    /// The body: JSON without white space, with the members in the order of Apple's answers of recent years.
    public var json: [UInt8] {
        var writer = ResponseWriter(capacity: estimatedSize)
        if case .encodedAppReceipt(let response, let requestDate) = self {
            writer.json.append(response.beginning)
            writer.requestDate(requestDate)
            writer.json.append(response.end)
            return writer.json.bytes
        }
        writer.json.beginObject()
        switch self {
        case .appReceipt(let response): writer.members(of: response)
        case .encodedAppReceipt: break
        case .transactionReceipt(let response): writer.members(of: response)
        case .failure(let failure): writer.members(of: failure)
        }
        writer.json.endObject()
        return writer.json.bytes
    }

    /// The capacity for a usual answer, so that the buffer rarely grows.
    private var estimatedSize: Int {
        switch self {
        case .appReceipt(let response):
            let purchases = response.receipt.inApp.count + (response.latest?.purchases.count ?? 0)
            return 1_280 + purchases * 1_024 + (response.latest?.receipt.count ?? 0) / 2 * 3
        case .encodedAppReceipt(let response, _): return response.count + 256
        case .transactionReceipt, .failure: return 2_048
        }
    }
}

extension AppReceiptResponse {
    /// The answer's JSON without `request_date`, for the same answer at another date.
    public var encoded: EncodedAppReceiptResponse {
        var writer = ResponseWriter(capacity: 1_280 + 1_024 * (receipt.inApp.count + (latest?.purchases.count ?? 0)))
        writer.json.beginObject()
        writer.members(of: self)
        writer.json.endObject()
        let bytes = writer.json.bytes
        return EncodedAppReceiptResponse(
            beginning: Array(bytes[..<writer.requestDatePlace.lowerBound]),
            end: Array(bytes[writer.requestDatePlace.upperBound...]))
    }
}

extension UnifiedReceipt {
    /// The object: JSON without white space.
    public var json: [UInt8] {
        var writer = ResponseWriter(
            capacity: 1_280 + 1_024 * latest.purchases.count + latest.receipt.count / 2 * 3)
        writer.json.beginObject()
        writer.json.member("environment", environment.rawValue)
        writer.members(of: latest)
        writer.json.member("status", number: 0)
        writer.json.endObject()
        return writer.json.bytes
    }
}

private struct ResponseWriter: ~Copyable {
    var json: JSONBytes
    /// The range of the members of `request_date`.
    private(set) var requestDatePlace = 0..<0
    private var dates = DateMembers()

    init(capacity: Int) { json = JSONBytes(capacity: capacity) }

    /// A date in its three forms.
    private mutating func member(_ name: StaticString, date: ReceiptDate) { dates.write(name, date, to: &json) }

    mutating func requestDate(_ date: ReceiptDate) {
        let start = json.count
        member("request_date", date: date)
        requestDatePlace = start..<json.count
    }

    mutating func members(of response: AppReceiptResponse) {
        json.member("environment", response.environment.rawValue)
        json.beginObject("receipt")
        members(of: response.receipt)
        json.endObject()
        if let latest = response.latest { members(of: latest) }
        json.member("status", number: 0)
    }

    mutating func members(of latest: AppReceiptResponse.Latest) {
        elements("latest_receipt_info", latest.purchases)
        json.member("latest_receipt", base64: latest.receipt)
        json.beginArray("pending_renewal_info")
        for renewal in latest.pendingRenewals {
            json.beginObject()
            members(of: renewal)
            json.endObject()
        }
        json.endArray()
    }

    mutating func members(of response: TransactionReceiptResponse) {
        let subscription = response.subscription
        if let status = subscription?.autoRenewStatus { json.member("auto_renew_status", number: status ? 1 : 0) }
        if let intent = subscription?.expirationIntent {
            json.member("expiration_intent", quotedNumber: intent.rawValue)
        }
        if let productID = subscription?.autoRenewProductID { json.member("auto_renew_product_id", productID) }
        if let retries = subscription?.isInBillingRetryPeriod {
            json.member("is_in_billing_retry_period", quotedDigit: retries)
        }
        if let subscription {
            json.beginObject(subscription.isExpired ? "latest_expired_receipt_info" : "latest_receipt_info")
            members(of: subscription.latest)
            json.endObject()
        }
        json.beginObject("receipt")
        members(of: response.receipt)
        json.endObject()
        if let receipt = subscription?.latestReceipt { json.member("latest_receipt", base64: receipt) }
        json.member("status", number: Int64(response.status.rawValue))
    }

    mutating func members(of failure: VerifyReceiptFailure) {
        switch failure.status {
        case .notAuthenticated, .secretMismatch: json.member("environment", failure.environment.rawValue)
        default: if failure.isRetryable != nil { json.member("environment", failure.environment.rawValue) }
        }
        json.member("status", number: Int64(failure.status.rawValue))
        if let isRetryable = failure.isRetryable { json.member("is_retryable", isRetryable) }
    }

    private mutating func members(of receipt: ReceiptInformation) {
        json.member("receipt_type", receipt.receiptType)
        json.member("adam_id", number: receipt.appItemID)
        json.member("app_item_id", number: receipt.appItemID)
        json.member("bundle_id", receipt.bundleID)
        json.member("application_version", receipt.applicationVersion)
        json.member("download_id", number: receipt.downloadID)
        json.member("version_external_identifier", number: receipt.versionExternalIdentifier)
        member("receipt_creation_date", date: receipt.receiptCreationDate)
        requestDate(receipt.requestDate)
        if let date = receipt.originalPurchaseDate { member("original_purchase_date", date: date) }
        if let version = receipt.originalApplicationVersion { json.member("original_application_version", version) }
        if let date = receipt.preorderDate { member("preorder_date", date: date) }
        if let date = receipt.expirationDate { member("expiration_date", date: date) }
        elements("in_app", receipt.inApp)
    }

    private mutating func elements(_ name: StaticString, _ purchases: [PurchaseInformation]) {
        json.beginArray(name)
        // The purchases are read in place: copying one costs as much as writing it.
        purchases.withUnsafeBufferPointer { purchases in
            for index in purchases.indices {
                json.beginObject()
                members(of: purchases[index])
                json.endObject()
            }
        }
        json.endArray()
    }

    private mutating func members(of purchase: PurchaseInformation) {
        json.member("quantity", quotedNumber: purchase.quantity)
        json.member("product_id", purchase.productID)
        json.member("transaction_id", purchase.transactionID)
        json.member("original_transaction_id", purchase.originalTransactionID)
        member("purchase_date", date: purchase.purchaseDate)
        member("original_purchase_date", date: purchase.originalPurchaseDate)
        if let date = purchase.expiresDate { member("expires_date", date: date) }
        if let identifier = purchase.webOrderLineItemID { json.member("web_order_line_item_id", identifier) }
        json.member("is_trial_period", quotedFlag: purchase.isTrialPeriod)
        if let isInOffer = purchase.isInIntroOfferPeriod {
            json.member("is_in_intro_offer_period", quotedFlag: isInOffer)
        }
        if let date = purchase.cancellationDate { member("cancellation_date", date: date) }
        if let reason = purchase.cancellationReason { json.member("cancellation_reason", quotedNumber: reason) }
        if purchase.isUpgraded { json.member("is_upgraded", quotedFlag: true) }
        if let identifier = purchase.promotionalOfferID { json.member("promotional_offer_id", identifier) }
        if let name = purchase.offerCodeRefName { json.member("offer_code_ref_name", name) }
        if let ownership = purchase.ownership { json.member("in_app_ownership_type", ownership.rawValue) }
        if let identifier = purchase.subscriptionGroupIdentifier {
            json.member("subscription_group_identifier", identifier)
        }
        if let token = purchase.appAccountToken { json.member("app_account_token", token) }
    }

    private mutating func members(of renewal: PendingRenewal) {
        if let intent = renewal.expirationIntent { json.member("expiration_intent", quotedNumber: intent.rawValue) }
        json.member("auto_renew_product_id", renewal.autoRenewProductID)
        if let retries = renewal.isInBillingRetryPeriod {
            json.member("is_in_billing_retry_period", quotedDigit: retries)
        }
        json.member("product_id", renewal.productID)
        json.member("original_transaction_id", renewal.originalTransactionID)
        json.member("auto_renew_status", quotedDigit: renewal.autoRenewStatus)
        if let date = renewal.gracePeriodExpiresDate { member("grace_period_expires_date", date: date) }
        if let consent = renewal.priceConsentStatus { json.member("price_consent_status", quotedDigit: consent) }
        if let status = renewal.priceIncreaseStatus { json.member("price_increase_status", quotedDigit: status) }
        if let name = renewal.offerCodeRefName { json.member("offer_code_ref_name", name) }
        if let identifier = renewal.promotionalOfferID { json.member("promotional_offer_id", identifier) }
    }

    /// The keys of the property list, with underscores for hyphens. Here `expires_date` is in milliseconds and its
    /// readable forms have names of their own, unlike in the answer to an app receipt.
    private mutating func members(of receipt: TransactionReceipt) {
        for entry in receipt.entries {
            json.member(
                named: String(
                    decoding: entry.key.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 }, as: UTF8.self),
                entry.value)
        }
    }
}
