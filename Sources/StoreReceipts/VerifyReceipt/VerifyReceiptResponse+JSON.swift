extension VerifyReceiptResponse {
    /// The body: JSON without white space, with the members in the order of Apple's answers of recent years.
    public var json: [UInt8] {
        var json = JSONBytes(capacity: estimatedSize)
        json.beginObject()
        switch self {
        case .appReceipt(let response): json.members(of: response)
        case .transactionReceipt(let response): json.members(of: response)
        case .failure(let failure): json.members(of: failure)
        }
        json.endObject()
        return json.bytes
    }

    /// The capacity for a usual answer, so that the buffer rarely grows.
    private var estimatedSize: Int {
        guard case .appReceipt(let response) = self else { return 2_048 }
        let purchases = response.receipt.inApp.count + (response.latest?.purchases.count ?? 0)
        return 1_280 + purchases * 1_024 + (response.latest?.receipt.count ?? 0) / 2 * 3
    }
}

extension JSONBytes {
    fileprivate mutating func members(of response: AppReceiptResponse) {
        member("environment", response.environment.rawValue)
        beginObject("receipt")
        members(of: response.receipt)
        endObject()
        if let latest = response.latest {
            elements("latest_receipt_info", latest.purchases)
            member("latest_receipt", base64: latest.receipt)
            beginArray("pending_renewal_info")
            for renewal in latest.pendingRenewals {
                beginObject()
                members(of: renewal)
                endObject()
            }
            endArray()
        }
        member("status", number: 0)
    }

    fileprivate mutating func members(of response: TransactionReceiptResponse) {
        let subscription = response.subscription
        if let status = subscription?.autoRenewStatus { member("auto_renew_status", number: status ? 1 : 0) }
        if let intent = subscription?.expirationIntent { member("expiration_intent", quotedNumber: intent.rawValue) }
        if let productID = subscription?.autoRenewProductID { member("auto_renew_product_id", productID) }
        if let retries = subscription?.isInBillingRetryPeriod {
            member("is_in_billing_retry_period", quotedDigit: retries)
        }
        if let subscription {
            beginObject(subscription.isExpired ? "latest_expired_receipt_info" : "latest_receipt_info")
            members(of: subscription.latest)
            endObject()
        }
        beginObject("receipt")
        members(of: response.receipt)
        endObject()
        if let receipt = subscription?.latestReceipt { member("latest_receipt", base64: receipt) }
        member("status", number: Int64(response.status.rawValue))
    }

    fileprivate mutating func members(of failure: VerifyReceiptFailure) {
        switch failure.status {
        case .notAuthenticated, .secretMismatch: member("environment", failure.environment.rawValue)
        default: if failure.isRetryable != nil { member("environment", failure.environment.rawValue) }
        }
        member("status", number: Int64(failure.status.rawValue))
        if let isRetryable = failure.isRetryable { member("is_retryable", isRetryable) }
    }

    private mutating func members(of receipt: ReceiptInformation) {
        member("receipt_type", receipt.receiptType)
        member("adam_id", number: receipt.appItemID)
        member("app_item_id", number: receipt.appItemID)
        member("bundle_id", receipt.bundleID)
        member("application_version", receipt.applicationVersion)
        member("download_id", number: receipt.downloadID)
        member("version_external_identifier", number: receipt.versionExternalIdentifier)
        member("receipt_creation_date", date: receipt.receiptCreationDate)
        member("request_date", date: receipt.requestDate)
        if let date = receipt.originalPurchaseDate { member("original_purchase_date", date: date) }
        if let version = receipt.originalApplicationVersion { member("original_application_version", version) }
        if let date = receipt.preorderDate { member("preorder_date", date: date) }
        if let date = receipt.expirationDate { member("expiration_date", date: date) }
        elements("in_app", receipt.inApp)
    }

    private mutating func elements(_ name: StaticString, _ purchases: [PurchaseInformation]) {
        beginArray(name)
        // The purchases are read in place: copying one costs as much as writing it.
        purchases.withUnsafeBufferPointer { purchases in
            for index in purchases.indices {
                beginObject()
                members(of: purchases[index])
                endObject()
            }
        }
        endArray()
    }

    private mutating func members(of purchase: PurchaseInformation) {
        member("quantity", quotedNumber: purchase.quantity)
        member("product_id", purchase.productID)
        member("transaction_id", purchase.transactionID)
        member("original_transaction_id", purchase.originalTransactionID)
        member("purchase_date", date: purchase.purchaseDate)
        member("original_purchase_date", date: purchase.originalPurchaseDate)
        if let date = purchase.expiresDate { member("expires_date", date: date) }
        if let identifier = purchase.webOrderLineItemID { member("web_order_line_item_id", identifier) }
        member("is_trial_period", quotedFlag: purchase.isTrialPeriod)
        if let isInOffer = purchase.isInIntroOfferPeriod { member("is_in_intro_offer_period", quotedFlag: isInOffer) }
        if let date = purchase.cancellationDate { member("cancellation_date", date: date) }
        if let reason = purchase.cancellationReason { member("cancellation_reason", quotedNumber: reason) }
        if purchase.isUpgraded { member("is_upgraded", quotedFlag: true) }
        if let identifier = purchase.promotionalOfferID { member("promotional_offer_id", identifier) }
        if let name = purchase.offerCodeRefName { member("offer_code_ref_name", name) }
        if let ownership = purchase.ownership { member("in_app_ownership_type", ownership.rawValue) }
        if let identifier = purchase.subscriptionGroupIdentifier { member("subscription_group_identifier", identifier) }
        if let token = purchase.appAccountToken { member("app_account_token", token) }
    }

    private mutating func members(of renewal: PendingRenewal) {
        if let intent = renewal.expirationIntent { member("expiration_intent", quotedNumber: intent.rawValue) }
        member("auto_renew_product_id", renewal.autoRenewProductID)
        if let retries = renewal.isInBillingRetryPeriod { member("is_in_billing_retry_period", quotedDigit: retries) }
        member("product_id", renewal.productID)
        member("original_transaction_id", renewal.originalTransactionID)
        member("auto_renew_status", quotedDigit: renewal.autoRenewStatus)
        if let date = renewal.gracePeriodExpiresDate { member("grace_period_expires_date", date: date) }
        if let consent = renewal.priceConsentStatus { member("price_consent_status", quotedDigit: consent) }
        if let status = renewal.priceIncreaseStatus { member("price_increase_status", quotedDigit: status) }
        if let name = renewal.offerCodeRefName { member("offer_code_ref_name", name) }
        if let identifier = renewal.promotionalOfferID { member("promotional_offer_id", identifier) }
    }

    /// The keys of the property list, with underscores for hyphens. Here `expires_date` is in milliseconds and its
    /// readable forms have names of their own, unlike in the answer to an app receipt.
    private mutating func members(of receipt: TransactionReceipt) {
        for entry in receipt.entries {
            member(
                named: String(
                    decoding: entry.key.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 }, as: UTF8.self),
                entry.value)
        }
    }
}
