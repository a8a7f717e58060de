"""What Apple defines of the App Store Server API and of Server Notifications, by its documentation and its libraries.

What no test shows needs a reason in `REASONS`, under the name that the page has for it.
"""

# The version of the App Store Server API that has all that follows.
VERSION = "1.23"

# The endpoints, and the members of their answers. Members of objects in an array follow its name and brackets.
_HISTORY = ["appAppleId", "bundleId", "environment", "hasMore", "revision", "signedTransactions"]
_ATTEMPTS = ["sendAttempts", "sendAttempts[].attemptDate", "sendAttempts[].sendAttemptResult"]
ENDPOINTS = {
    "GET /inApps/v2/history/{transactionId}": _HISTORY,
    "GET /inApps/v1/history/{transactionId}": _HISTORY,
    "GET /inApps/v1/transactions/{transactionId}": ["signedTransactionInfo"],
    "GET /inApps/v1/subscriptions/{transactionId}": [
        "appAppleId", "bundleId", "environment", "data", "data[].subscriptionGroupIdentifier",
        "data[].lastTransactions", "data[].lastTransactions[].originalTransactionId",
        "data[].lastTransactions[].status",
        "data[].lastTransactions[].signedTransactionInfo", "data[].lastTransactions[].signedRenewalInfo"],
    "PUT /inApps/v1/transactions/consumption/{transactionId}": [],
    "PUT /inApps/v2/transactions/consumption/{transactionId}": [],
    "PUT /inApps/v1/transactions/{originalTransactionId}/appAccountToken": [],
    "POST /inApps/v1/transactions/{transactionId}/finish": [],
    "GET /inApps/v1/transactions/appTransactions/{transactionId}": ["signedAppTransactionInfo"],
    "GET /inApps/v1/lookup/{orderId}": ["signedTransactions", "status"],
    "GET /inApps/v2/refund/lookup/{transactionId}": ["hasMore", "revision", "signedTransactions"],
    "GET /inApps/v1/refund/lookup/{originalTransactionId}": ["signedTransactions"],
    "PUT /inApps/v1/subscriptions/extend/{originalTransactionId}": [
        "effectiveDate", "originalTransactionId", "success", "webOrderLineItemId"],
    "POST /inApps/v1/subscriptions/extend/mass": ["requestIdentifier"],
    "GET /inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}": [
        "complete", "completeDate", "failedCount", "requestIdentifier", "succeededCount"],
    "POST /inApps/v1/notifications/history": [
        "hasMore", "notificationHistory", "notificationHistory[].signedPayload",
        *["notificationHistory[]." + name for name in _ATTEMPTS], "paginationToken"],
    "POST /inApps/v1/notifications/test": ["testNotificationToken"],
    "GET /inApps/v1/notifications/test/{testNotificationToken}": [
        "firstSendAttemptResult", "signedPayload", *_ATTEMPTS],
}

# Groups (version 1.22) and seats (1.23). Their members are not listed, because nothing here has them.
GROUPS = [
    "GET /groups/v1/currentGroups/{transactionId}", "GET /groups/v1/group/{groupId}",
    "GET /groups/v1/transactions/{transactionId}/seats", "POST /groups/v1/transactions/{transactionId}/seats",
    "DELETE /groups/v1/transactions/{transactionId}/seats/{seatClaimId}",
    "POST /groups/v1/transactions/{transactionId}/associate",
]
ENDPOINTS |= {endpoint: [] for endpoint in GROUPS}

# The parameters of queries.
_FILTERS = [
    "revision", "startDate", "endDate", "excludeRevoked", "inAppOwnershipType", "productId", "productType", "revoked",
    "sort", "subscriptionGroupIdentifier"]
QUERIES = {
    "GET /inApps/v2/history/{transactionId}": _FILTERS,
    "GET /inApps/v1/history/{transactionId}": _FILTERS,
    "GET /inApps/v1/subscriptions/{transactionId}": ["status"],
    "GET /inApps/v2/refund/lookup/{transactionId}": ["revision"],
    "POST /inApps/v1/notifications/history": ["paginationToken"],
}

# The members of requests' bodies.
_EXTENSION = ["extendByDays", "extendReasonCode", "requestIdentifier"]
BODIES = {
    "PUT /inApps/v1/transactions/consumption/{transactionId}": [
        "accountTenure", "appAccountToken", "consumptionStatus", "customerConsented", "deliveryStatus",
        "lifetimeDollarsPurchased", "lifetimeDollarsRefunded", "platform", "playTime", "refundPreference",
        "sampleContentProvided", "userStatus"],
    "PUT /inApps/v2/transactions/consumption/{transactionId}": [
        "consumptionPercentage", "customerConsented", "deliveryStatus", "refundPreference", "sampleContentProvided"],
    "PUT /inApps/v1/transactions/{originalTransactionId}/appAccountToken": ["appAccountToken"],
    "PUT /inApps/v1/subscriptions/extend/{originalTransactionId}": _EXTENSION,
    "POST /inApps/v1/subscriptions/extend/mass": [*_EXTENSION, "productId", "storefrontCountryCodes"],
    "POST /inApps/v1/notifications/history": [
        "endDate", "notificationSubtype", "notificationType", "onlyFailures", "startDate", "transactionId"],
}

# The values of members of answers, and of what is signed.
VALUES = {
    "status": ["1", "2", "3", "4", "5"],
    "expirationIntent": ["1", "2", "3", "4", "5"],
    "offerType": ["1", "2", "3", "4"],
    "revocationReason": ["0", "1"],
    "revocationType": ["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE"],
    "consumptionRequestReason": [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER"],
    "sendAttemptResult": [
        "SUCCESS", "TIMED_OUT", "TLS_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE", "SOCKET_ISSUE",
        "UNSUPPORTED_CHARSET", "INVALID_RESPONSE", "PREMATURE_CLOSE", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "OTHER"],
}

# The members of what is signed, and of the objects in a notification, by the names of the library's models.
PAYLOADS = {
    "JWSTransactionDecodedPayload": [
        "additionalTransactionReason", "advancedCommerceInfo", "appAccountToken", "appTransactionId",
        "billingPlanType", "bundleId", "commitmentInfo", "currency", "environment", "expiresDate",
        "inAppOwnershipType", "invitationManagement", "isUpgraded", "multiSeatInfo", "offerDiscountType",
        "offerIdentifier", "offerPeriod", "offerType", "originalPurchaseDate", "originalTransactionId",
        "previousOriginalTransactionId", "price", "productId", "purchaseDate", "quantity", "revocationDate",
        "revocationPercentage", "revocationReason", "revocationType", "signedDate", "storefront", "storefrontId",
        "subscriptionGroupIdentifier", "transactionId", "transactionReason", "type", "webOrderLineItemId"],
    "MultiSeatInfo": ["revokedSeatQuantity"],
    "JWSRenewalInfoDecodedPayload": [
        "advancedCommerceInfo", "appAccountToken", "appTransactionId", "autoRenewProductId", "autoRenewStatus",
        "commitmentInfo", "currency", "eligibleWinBackOfferIds", "environment", "expirationIntent",
        "gracePeriodExpiresDate", "isInBillingRetryPeriod", "offerDiscountType", "offerIdentifier", "offerPeriod",
        "offerType", "originalTransactionId", "priceIncreaseStatus", "productId", "recentSubscriptionStartDate",
        "renewalBillingPlanType", "renewalDate", "renewalPrice", "renewalQuantity", "signedDate"],
    "AppTransaction": [
        "appAppleId", "appTransactionId", "applicationVersion", "bundleId", "deviceVerification",
        "deviceVerificationNonce", "originalApplicationVersion", "originalPlatform", "originalPurchaseDate",
        "preorderDate", "receiptCreationDate", "receiptType", "versionExternalIdentifier"],
    "ResponseBodyV2DecodedPayload": [
        "appData", "data", "externalPurchaseToken", "notificationType", "notificationUUID", "signedDate", "subtype",
        "summary", "unclaimInfo", "version"],
    "Data": [
        "appAppleId", "bundleId", "bundleVersion", "consumptionRequestReason", "environment", "signedRenewalInfo",
        "signedTransactionInfo", "status"],
    "Summary": [
        "appAppleId", "bundleId", "environment", "failedCount", "productId", "requestIdentifier",
        "storefrontCountryCodes", "succeededCount"],
    "ExternalPurchaseToken": [
        "appAppleId", "bundleId", "externalPurchaseId", "tokenCreationDate", "tokenExpirationDate", "tokenType"],
    "AppData": ["appAppleId", "bundleId", "environment", "signedAppTransactionInfo"],
    "UnclaimInfo": ["appAppleId", "bundleId", "environment", "unclaimSeatIds"],
}

# The members of a notification of version 1. Members of an object follow its name and a point.
VERSION_1 = "responseBodyV1"
MEMBERS_1 = [
    "auto_renew_adam_id", "auto_renew_product_id", "auto_renew_status", "auto_renew_status_change_date",
    "auto_renew_status_change_date_ms", "auto_renew_status_change_date_pst", "bid", "bvrs", "cancellation_date",
    "cancellation_date_ms", "cancellation_date_pst", "deprecation", "environment", "expiration_intent",
    "notification_type", "original_transaction_id", "password", "unified_receipt", "unified_receipt.environment",
    "unified_receipt.latest_receipt", "unified_receipt.latest_receipt_info", "unified_receipt.pending_renewal_info",
    "unified_receipt.status", "web_order_line_item_id",
]

_INVALID = "Invalid request. "
_AGAIN = " Please try again."

# The numbers and texts of errors that these endpoints can answer with.
ERRORS = {
    4000000: "Bad request.",
    4000002: "Invalid request app identifier.",
    4000004: "Invalid request limit.",
    4000005: "Invalid request revision.",
    4000006: "Invalid transaction id.",
    4000008: "Invalid original transaction id.",
    4000009: "Invalid extend by days value.",
    4000010: "Invalid extend reason code.",
    4000011: "Invalid request identifier.",
    4000012: _INVALID + "The start date is earlier than the allowed start date.",
    4000013: _INVALID + "The end date precedes the start date or the dates are the same.",
    4000014: _INVALID + "The pagination token is invalid.",
    4000015: _INVALID + "The start date is not a timestamp value represented in milliseconds.",
    4000016: _INVALID + "The end date is not a timestamp value represented in milliseconds.",
    4000017: _INVALID + "The pagination token is expired.",
    4000018: _INVALID + "The notification type or subtype is invalid.",
    4000019: _INVALID + "Supply either a transaction id or a notification type, but not both.",
    4000020: _INVALID + "The test notification token is invalid.",
    4000021: _INVALID + "The sort parameter is invalid.",
    4000022: _INVALID + "The product type parameter is invalid.",
    4000023: _INVALID + "The product id parameter is invalid.",
    4000024: _INVALID + "The subscription group identifier parameter is invalid.",
    4000025: _INVALID + "The exclude revoked parameter is invalid.",
    4000026: _INVALID + "The in-app ownership type parameter is invalid.",
    4000027: _INVALID + "If provided, the list of storefront country codes must not be empty.",
    4000028: _INVALID + "A storefront country code was invalid.",
    4000030: _INVALID + "The revoked parameter is invalid.",
    4000031: _INVALID + "The status parameter is invalid.",
    4000032: _INVALID + "The account tenure field is invalid.",
    4000033: _INVALID + "The app account token field must contain a valid UUID or an empty string.",
    4000034: _INVALID + "The consumption status field is invalid.",
    4000035: _INVALID + "The customer consented field is required and must indicate the customer consented.",
    4000036: _INVALID + "The delivery status field is invalid.",
    4000037: _INVALID + "The lifetime dollars purchased field is invalid.",
    4000038: _INVALID + "The lifetime dollars refunded field is invalid.",
    4000039: _INVALID + "The platform field is invalid.",
    4000040: _INVALID + "The playtime field is invalid.",
    4000041: _INVALID + "The sample content provided field is invalid.",
    4000042: _INVALID + "The user status field is invalid.",
    4000043: _INVALID + "The transaction id parameter must represent a consumable in-app purchase.",
    4000044: _INVALID + "The refund preference field is invalid.",
    4000047: _INVALID + "The transaction id doesn't represent a supported in-app purchase type.",
    4000048: _INVALID + "App transactions aren't supported by this endpoint.",
    4000183: _INVALID + "The app account token field must be a valid UUID.",
    4000185: _INVALID + "Family Sharing transactions aren't supported by this endpoint.",
    4000187: _INVALID + "The transaction ID provided is not an original transaction ID.",
    4000209: _INVALID
    + "The consumption percentage field is not supported for auto-renewable subscription transactions.",
    4000225: _INVALID + "The group ID is invalid.",
    4000227: _INVALID + "Assigned transactions aren't supported by this endpoint.",
    4030004: "Forbidden - subscription state ineligible for extension.",
    4030005: "Forbidden - subscription has reached maximum extension count.",
    4030007: "Subscriptions that users obtain through Family Sharing can't get a renewal date extension directly.",
    4030028: "Assigned subscriptions can't get a renewal date extension.",
    4040001: "Account not found.",
    4040002: "Account not found." + _AGAIN,
    4040003: "App not found.",
    4040004: "App not found." + _AGAIN,
    4040005: "Original transaction id not found.",
    4040006: "Original transaction id not found." + _AGAIN,
    4040007: "No App Store Server Notification URL found for provided app. Check that a URL is configured in App Store "
             "Connect for this environment.",
    4040008: "Either the test notification token is expired or the notification and status are not yet available.",
    4040009: "The server didn't find a subscription-renewal-date extension request for this requestIdentifier and "
             "productId combination.",
    4040010: "Transaction id not found.",
    4040019: "No AppTransaction exists for the customer.",
    4040022: "Group not found.",
    4290000: "Rate limit exceeded.",
    5000000: "An unknown error occurred.",
    5000001: "An unknown error occurred." + _AGAIN,
}

# The types of notifications, each with its subtypes. None stands for no subtype.
NOTIFICATIONS = {
    "CONSUMPTION_REQUEST": [None],
    "DID_CHANGE_RENEWAL_PREF": [None, "DECREASE_QUANTITY", "DOWNGRADE", "INCREASE_QUANTITY", "UPGRADE"],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED"],
    "DID_FAIL_TO_RENEW": [None, "GRACE_PERIOD"],
    "DID_RENEW": [None, "BILLING_RECOVERY"],
    "EXPIRED": [None, "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "VOLUNTARY"],
    "EXTERNAL_PURCHASE_TOKEN": ["ACTIVE_TOKEN_REMINDER", "CREATED", "UNREPORTED"],
    "GRACE_PERIOD_EXPIRED": [None],
    "METADATA_UPDATE": [None],
    "MIGRATION": [None],
    "OFFER_REDEEMED": [None, "DOWNGRADE", "UPGRADE"],
    "ONE_TIME_CHARGE": [None],
    "PRICE_CHANGE": [None],
    "PRICE_INCREASE": ["ACCEPTED", "PENDING"],
    "REFUND": [None, "SEATS"],
    "REFUND_DECLINED": [None],
    "REFUND_REVERSED": [None],
    "RENEWAL_EXTENDED": [None],
    "RENEWAL_EXTENSION": ["FAILURE", "SUMMARY"],
    "RESCIND_CONSENT": [None],
    "REVOKE": [None],
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"],
    "TEST": [None],
    "UNCLAIM_SEATS": [None],
}

# The types of notifications of version 1.
NOTIFICATIONS_1 = [
    "CANCEL", "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
    "DID_RECOVER", "DID_RENEW", "INITIAL_BUY", "INTERACTIVE_RENEWAL", "PRICE_INCREASE_CONSENT", "REFUND", "RENEWAL",
    "REVOKE",
]

_COMMITMENT = "not supported: Cornerstore has no plans with a commitment of twelve months"
_DEVICE = "not supported: an app transaction names no device"
_TOKEN = "not sent: a token for an app that the store does not have gets 401"
_RETRY = "not sent: the store sends 5000001 instead"
_GROUPS = "not supported: Cornerstore has no groups and no seats"
_OTHER = "not sent: nothing ends a subscription for another reason"

# Why no test shows something, as the page says it: Cornerstore does not support it, or the store never sends it. What
# is here and shown is a mistake, too.
REASONS = {
    "GET /inApps/v1/lookup/{orderId} in sandbox": "not supported: Apple's sandbox has no orders",
    **{f"{endpoint} in {environment}": _GROUPS for endpoint in GROUPS for environment in ("sandbox", "production")},
    "JWSTransactionDecodedPayload additionalTransactionReason": _GROUPS,
    "JWSTransactionDecodedPayload billingPlanType": _COMMITMENT,
    "JWSTransactionDecodedPayload commitmentInfo": _COMMITMENT,
    "JWSRenewalInfoDecodedPayload commitmentInfo": _COMMITMENT,
    "JWSRenewalInfoDecodedPayload renewalBillingPlanType": _COMMITMENT,
    "AppTransaction deviceVerification": _DEVICE,
    "AppTransaction deviceVerificationNonce": _DEVICE,
    "AppTransaction preorderDate": "not supported: Cornerstore sells no apps in advance",
    "responseBodyV1 deprecation": "not sent: the store names no date for the end of version 1",
    "RENEWAL of version 1": "not sent: Apple has not sent it since 10 March 2021",
    "4000002": _TOKEN,
    "4000004": _GROUPS,
    "4000017": "not sent: page tokens do not expire",
    "4000043": "not sent: deprecated by Apple since version 1.11; the store accepts subscriptions, too",
    "4000225": _GROUPS,
    "4000227": _GROUPS,
    "4030028": _GROUPS,
    "4040001": "not sent: each transaction has an account",
    "4040002": _RETRY,
    "4040003": _TOKEN,
    "4040004": _RETRY,
    "4040006": _RETRY,
    "4040019": "not sent: each customer with a transaction has an app transaction",
    "4040022": _GROUPS,
    "EXPIRED": _OTHER,
    "expirationIntent 5": _OTHER,
}
