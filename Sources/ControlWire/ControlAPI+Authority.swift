/// The certificate authority.
extension ControlAPI {
    /// The certificates with which the store signs, each issuer before those that it issues.
    public struct Authority: Codable, Sendable, Equatable {
        /// The certificates.
        public var certificates: [AuthorityCertificate]
        /// The address of the OCSP responder that the certificates for payloads name; nil if they name none.
        public var ocspUrl: String?

        /// Creates an authority.
        public init(certificates: [AuthorityCertificate], ocspUrl: String? = nil) {
            self.certificates = certificates
            self.ocspUrl = ocspUrl
        }
    }

    /// A certificate of the authority.
    public struct AuthorityCertificate: Codable, Sendable, Equatable {
        /// The certificate's use, such as `receipt-root` or `jws-sandbox`.
        public var name: String
        /// The SHA-256 of the certificate, as 64 lower-case hexadecimal digits.
        public var sha256: String

        /// Creates a certificate.
        public init(name: String, sha256: String) {
            self.name = name
            self.sha256 = sha256
        }
    }
}
