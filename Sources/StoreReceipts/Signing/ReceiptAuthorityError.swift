/// What went wrong while signing a receipt, or while making or opening the ``CertificateAuthority``. Never holds key
/// material.
public struct ReceiptAuthorityError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// A receipt that cannot be written: a date outside the years 1 to 9999, or values that contradict one another.
        case unencodable
        /// The key and the certificates given do not belong together.
        case mismatchedKey = "mismatched-key"
        /// The directory holds some of the authority's files, but not all.
        case incomplete
        /// A file that cannot be read as what it should be, or does not fit the others.
        case damaged
        /// A private key that others may read.
        case exposedKey = "exposed-key"
        /// The directory or a file cannot be read or written.
        case storage
        /// A date outside ``CertificateAuthority/validity``.
        case outsideValidity = "outside-validity"
        /// The key could not sign.
        case signing
    }

    /// Which kind it is; stable.
    public var code: Code
    /// What was wrong, where, and what to do.
    public var detail: String

    /// An error of a kind, with what was wrong, where, and what to do.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// ``detail``.
    public var description: String { detail }
}
