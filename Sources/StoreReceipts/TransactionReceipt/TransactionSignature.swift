/// The decoded `signature` of a transaction receipt: version (1 byte), RSA signature (128 bytes in version 2, 256 in
/// version 3), length of the certificate (4 bytes, big-endian), certificate.
///
/// The layout and the signed bytes were found on Apple's receipts of both versions. Apple's sample
/// `VerificationController` (2012) reads them in the same way.
public struct TransactionSignature: Sendable, Equatable {
    /// The version byte, which is also the first signed byte.
    public enum Version: UInt8, Sendable, CaseIterable {
        /// RSA with 1024 bits, used until 2014.
        case two = 2
        /// RSA with 2048 bits, used since 2014. The digest is still SHA-1.
        case three = 3

        /// The size of the signature in bytes.
        public var signatureSize: Int { self == .two ? 128 : 256 }
    }

    /// The version.
    public var version: Version
    /// The RSA signature (PKCS#1 v1.5) over the SHA-1 of ``signedBytes(version:purchaseInfo:)``.
    public var signature: [UInt8]
    /// The signer's certificate in DER. The receipt does not contain the chain above it.
    public var certificate: [UInt8]

    /// The largest certificate that is read, in bytes.
    public static let maximumCertificate = 8 << 10

    /// Creates a signature with its certificate.
    /// - Throws: `malformed` if the signature does not have the version's size, or the certificate is empty or larger
    ///   than ``maximumCertificate``.
    public init(version: Version, signature: [UInt8], certificate: [UInt8]) throws(ReceiptRejection) {
        guard signature.count == version.signatureSize else {
            throw ReceiptRejection(
                .malformed,
                "a signature of version \(version.rawValue) has \(version.signatureSize) bytes, not \(signature.count)"
            )
        }
        guard !certificate.isEmpty, certificate.count <= Self.maximumCertificate else {
            throw ReceiptRejection(.malformed, "a certificate of \(certificate.count) bytes")
        }
        self.version = version
        self.signature = signature
        self.certificate = certificate
    }

    /// Reads the decoded `signature`.
    /// - Throws: `truncated`, `trailingData`, `unsupportedAlgorithm` for another version, or `malformed`.
    public init(blob: [UInt8]) throws(ReceiptRejection) {
        guard let first = blob.first else { throw ReceiptRejection(.truncated, "the signature is empty") }
        guard let version = Version(rawValue: first) else {
            throw ReceiptRejection(.unsupportedAlgorithm, "a signature of version \(first); 2 and 3 are known")
        }
        let lengthStart = 1 + version.signatureSize
        guard blob.count >= lengthStart + 4 else {
            throw ReceiptRejection(.truncated, "the signature ends before the certificate")
        }
        let length = blob[lengthStart..<lengthStart + 4].reduce(0) { $0 << 8 | Int($1) }
        let certificate = blob[(lengthStart + 4)...]
        guard certificate.count >= length else {
            throw ReceiptRejection(.truncated, "the signature ends within the certificate")
        }
        guard certificate.count == length else {
            throw ReceiptRejection(.trailingData, "something follows the certificate")
        }
        try self.init(version: version, signature: Array(blob[1..<lengthStart]), certificate: Array(certificate))
    }

    /// The value of `signature` before Base64.
    public var blob: [UInt8] {
        let length = UInt32(truncatingIfNeeded: certificate.count)
        let lengthBytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) }
        return [version.rawValue] + signature + lengthBytes + certificate
    }

    /// The signed bytes: the version byte and the decoded `purchase-info`.
    public static func signedBytes(version: Version, purchaseInfo: [UInt8]) -> [UInt8] {
        [version.rawValue] + purchaseInfo
    }
}
