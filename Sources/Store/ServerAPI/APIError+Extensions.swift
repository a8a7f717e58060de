/// The errors of the requests for later renewal dates. Numbers and texts are Apple's.
extension APIError {
    static let invalidOriginalTransactionID = APIError(4_000_008, "Invalid original transaction id.")
    static let invalidExtendByDays = APIError(4_000_009, "Invalid extend by days value.")
    static let invalidExtendReasonCode = APIError(4_000_010, "Invalid extend reason code.")
    static let invalidRequestIdentifier = APIError(4_000_011, "Invalid request identifier.")
    static let emptyStorefrontCountryCodes = APIError(
        4_000_027, "Invalid request. If provided, the list of storefront country codes must not be empty.")
    static let invalidStorefrontCountryCode = APIError(
        4_000_028, "Invalid request. A storefront country code was invalid.")
    static let extensionIneligible = APIError(
        4_030_004, "Forbidden - subscription state ineligible for extension.")
    static let extendedOften = APIError(
        4_030_005, "Forbidden - subscription has reached maximum extension count.")
    static let familyExtensionIneligible = APIError(
        4_030_007,
        "Subscriptions that users obtain through Family Sharing can't get a renewal date extension directly.")
    static let originalTransactionNotFound = APIError(4_040_005, "Original transaction id not found.")
    static let extensionRequestNotFound = APIError(
        4_040_009,
        "The server didn't find a subscription-renewal-date extension request for this requestIdentifier and "
            + "productId combination.")
}
