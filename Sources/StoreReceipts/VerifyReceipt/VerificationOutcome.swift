import StoreWire

/// The outcome of a `verifyReceipt` request. ``VerifyReceiptStatus`` assigns its status number.
public enum VerificationOutcome: Sendable, Equatable {
    /// The receipt is valid.
    case ok
    /// The request's method is not POST.
    case notPost
    /// The body is not a JSON object.
    case notJSON
    /// The value of `receipt-data` is missing, not Base64, or not a receipt of any kind.
    case malformedReceipt
    /// The receipt was refused.
    case rejected(ReceiptRejection.Code)
    /// The value of `password` is not the app's shared secret, or is missing where one is required.
    case secretMismatch
    /// The transaction receipt is valid, but its subscription has expired.
    case expiredSubscription
    /// The receipt is valid, but was sent to the wrong store.
    case wrongEnvironment(receipt: StoreEnvironment, host: StoreEnvironment)
    /// The account that owns the receipt was deleted.
    case accountNotFound
    /// The operator injected a temporary status: 21005, 21009 or 21100 to 21199.
    case ordered(Int)
}
