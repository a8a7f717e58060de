extension APIError {
    static let transactionTypeNotSupported = invalid(
        47, "The transaction id doesn't represent a supported in-app purchase type.")
    static let appTransactionNotSupported = invalid(48, "App transactions aren't supported by this endpoint.")
    static let invalidAppAccountTokenUUID = invalid(183, "The app account token field must be a valid UUID.")
    static let familyShared = invalid(185, "Family Sharing transactions aren't supported by this endpoint.")
    static let notOriginal = invalid(187, "The transaction ID provided is not an original transaction ID.")
    static let noAppTransaction = APIError(4_040_019, "No AppTransaction exists for the customer.")
}
