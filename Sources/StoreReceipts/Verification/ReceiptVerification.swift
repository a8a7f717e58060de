/// The answer of ``ReceiptVerifier``: "no" is a normal answer and says why.
public enum ReceiptVerification: Sendable {
    case verified(VerifiedReceipt)
    case rejected(ReceiptRejection)
}
