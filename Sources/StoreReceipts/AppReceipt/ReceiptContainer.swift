/// An app receipt that was read but not verified, for inspection. Do not trust its contents; ``ReceiptVerifier`` makes
/// a ``VerifiedReceipt`` that can be trusted.
public struct ReceiptContainer: Sendable {
    /// The signed octets.
    public let payload: [UInt8]
    /// The certificates in DER, in the receipt's order.
    public let certificates: [[UInt8]]
    /// The digest algorithm of the signature.
    public let digest: Digest
    /// The signature's octets.
    public let signature: [UInt8]
    /// Whether the signature covers signed attributes that contain the payload's digest. Apple writes none.
    public let hasSignedAttributes: Bool
    /// The contents of the payload.
    public let receipt: AppReceipt

    /// A digest algorithm.
    public enum Digest: String, Sendable {
        /// SHA-1, Apple's algorithm until 2023.
        case sha1
        /// SHA-256, Apple's algorithm since 2023.
        case sha256
    }

    /// Reads a receipt as the device holds it: binary, not Base64.
    ///
    /// - Throws: ``ReceiptRejection`` with `malformed`, `truncated`, `trailingData`, `tooDeep`, `tooLarge` or
    ///   `unsupportedAlgorithm`.
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
