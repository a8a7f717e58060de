/// The answer of ``ReceiptVerifier``: "no" is a normal answer and says why.
public enum ReceiptVerification: Sendable {
    /// Genuine and as expected.
    case verified(VerifiedReceipt)
    /// Refused, and the first reason found.
    case rejected(ReceiptRejection)
}
