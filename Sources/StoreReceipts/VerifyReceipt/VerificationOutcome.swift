import StoreWire

/// What came of a `verifyReceipt` request; ``VerifyReceiptStatus`` gives it its number.
public enum VerificationOutcome: Sendable, Equatable {
    /// The receipt is valid.
    case ok
    /// The request's method is not POST.
    case notPost
    /// The body is not a JSON object.
    case notJSON
    /// `receipt-data` is missing, not Base64 or no kind of receipt.
    case malformedReceipt
    /// The receipt was read and refused.
    case rejected(ReceiptRejection.Code)
    /// `password` is not the app's shared secret, or is missing where one is needed.
    case secretMismatch
    /// A valid transaction receipt of a subscription that has expired.
    case expiredSubscription
    /// A valid receipt of one store that was sent to the other.
    case wrongEnvironment(receipt: StoreEnvironment, host: StoreEnvironment)
    /// The account that the receipt is of is gone.
    case accountNotFound
    /// A temporary status that was ordered: 21005, 21009 or 21100 to 21199.
    case ordered(Int)
}
