/// An error in signing a receipt, or in making or opening the ``CertificateAuthority``. It never contains key material.
public struct ReceiptAuthorityError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The receipt cannot be encoded: a date is outside the years 1 to 9999, or values contradict one another.
        case unencodable
        /// The given key and certificates do not belong together.
        case mismatchedKey = "mismatched-key"
        /// The directory holds only some of the authority's files.
        case incomplete
        /// A file is malformed or does not match the others.
        case damaged
        /// Others than the owner may read a private key.
        case exposedKey = "exposed-key"
        /// A store that has sold before has no authority where it is started.
        case missing
        /// Two places hold different authorities.
        case differs
        /// The directory or a file cannot be read or written.
        case storage
        /// The date is outside ``CertificateAuthority/validity``.
        case outsideValidity = "outside-validity"
        /// The key could not sign.
        case signing
    }

    /// The kind of failure. It is stable.
    public var code: Code
    /// The problem, where it occurred, and how to fix it.
    public var detail: String

    /// Creates an error of a kind. The detail describes the problem, where it occurred, and how to fix it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// ``detail``.
    public var description: String { detail }
}
