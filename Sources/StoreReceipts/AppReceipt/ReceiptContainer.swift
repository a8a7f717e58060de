/// An app receipt that was read but not verified, for looking into it. Nothing in it may be believed;
/// ``ReceiptVerifier`` makes what may.
public struct ReceiptContainer: Sendable {
    /// The octets that are signed.
    public let payload: [UInt8]
    /// The certificates in DER, in the receipt's order.
    public let certificates: [[UInt8]]
    /// What the payload is digested with.
    public let digest: Digest
    /// The signature's octets.
    public let signature: [UInt8]
    /// Whether the signature is over signed attributes that name the payload's digest (Apple writes none).
    public let hasSignedAttributes: Bool
    /// What the payload says.
    public let receipt: AppReceipt

    /// The digest of the signature.
    public enum Digest: String, Sendable {
        /// Apple's until 2023.
        case sha1
        /// Apple's since.
        case sha256
    }

    /// Reads a receipt as the device holds it: binary, not Base64.
    ///
    /// Throws ``ReceiptRejection`` with `malformed`, `truncated`, `trailingData`, `tooDeep`, `tooLarge` or
    /// `unsupportedAlgorithm`.
    public static func parse(
        _ bytes: [UInt8], limits: ReceiptLimits = .standard
    ) throws(ReceiptRejection) -> ReceiptContainer {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> ReceiptContainer in
            let raw = UnsafeRawBufferPointer(buffer)
            try limits.check(raw)
            let signedData = try SignedData(raw)
            return try signedData.withPayload(raw) { (payload) throws(ReceiptRejection) -> ReceiptContainer in
                var reader = PayloadReader(limits: limits)
                return ReceiptContainer(
                    payload: Array(payload), certificates: signedData.certificateElements.map { Array(raw[$0]) },
                    digest: signedData.digest == .sha1 ? .sha1 : .sha256, signature: Array(raw[signedData.signature]),
                    hasSignedAttributes: signedData.signedAttributes != nil, receipt: try reader.receipt(payload)
                )
            }
        }
    }
}

extension ReceiptLimits {
    func check(_ bytes: UnsafeRawBufferPointer) throws(ReceiptRejection) {
        guard bytes.count <= byteCount else {
            throw ReceiptRejection(.tooLarge, "the receipt has \(bytes.count) bytes, more than \(byteCount)")
        }
    }
}
