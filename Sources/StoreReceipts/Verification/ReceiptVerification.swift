/// The result of ``ReceiptVerifier``. A refusal is an ordinary result and includes its reason.
public enum ReceiptVerification: Sendable {
    /// The receipt is genuine and as expected.
    case verified(VerifiedReceipt)
    /// The receipt is refused, with the first reason that was found.
    case rejected(ReceiptRejection)
}
