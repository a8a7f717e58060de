/// The errors of the consumption information that apps' servers send. Numbers and texts are Apple's.
extension APIError {
    static let invalidAccountTenure = invalid(32, "The account tenure field is invalid.")
    static let invalidAppAccountToken = invalid(
        33, "The app account token field must contain a valid UUID or an empty string.")
    static let invalidConsumptionStatus = invalid(34, "The consumption status field is invalid.")
    static let invalidCustomerConsented = invalid(
        35, "The customer consented field is required and must indicate the customer consented.")
    static let invalidDeliveryStatus = invalid(36, "The delivery status field is invalid.")
    static let invalidLifetimeDollarsPurchased = invalid(37, "The lifetime dollars purchased field is invalid.")
    static let invalidLifetimeDollarsRefunded = invalid(38, "The lifetime dollars refunded field is invalid.")
    static let invalidPlatform = invalid(39, "The platform field is invalid.")
    static let invalidPlayTime = invalid(40, "The playtime field is invalid.")
    static let invalidSampleContentProvided = invalid(41, "The sample content provided field is invalid.")
    static let invalidUserStatus = invalid(42, "The user status field is invalid.")
    static let invalidRefundPreference = invalid(44, "The refund preference field is invalid.")
    static let percentageOfSubscription = invalid(
        209, "The consumption percentage field is not supported for auto-renewable subscription transactions.")
}
