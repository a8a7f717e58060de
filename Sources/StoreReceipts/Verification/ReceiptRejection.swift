/// The reason why a receipt was refused. `code` is stable and meant for people and programs; `detail` is for the log
/// and never contains bytes of the receipt.
public struct ReceiptRejection: Error, Sendable, Equatable {
    /// The kind of reason. The raw values are stable.
    public enum Code: String, Sendable, CaseIterable {
        /// The bytes do not have the structure of a receipt.
        case malformed
        /// The bytes end too early.
        case truncated
        /// Bytes follow after the end of the structure.
        case trailingData = "trailing-data"
        /// The structure is nested too deeply.
        case tooDeep = "too-deep"
        /// The receipt exceeds a limit of size or number.
        case tooLarge = "too-large"
        /// The receipt uses an algorithm that no valid receipt uses.
        case unsupportedAlgorithm = "unsupported-algorithm"
        /// The signature does not match the payload.
        case badSignature = "bad-signature"
        /// The chain does not end in a root that the caller gave.
        case unknownIssuer = "unknown-issuer"
        /// The certificates do not issue one another, or are not allowed to.
        case wrongChain = "wrong-chain"
        /// Apple's marker OID is missing from the leaf or the intermediate.
        case missingMarker = "missing-marker"
        /// A certificate of the chain was not valid at the receipt's date.
        case expired
        /// The receipt was made for another bundle id than expected.
        case wrongBundleID = "wrong-bundle-id"
        /// The receipt was made for another version than expected.
        case wrongVersion = "wrong-version"
        /// The receipt was made for another device than expected.
        case wrongDeviceHash = "wrong-device-hash"
    }

    /// The kind of reason.
    public var code: Code
    /// The details for the log.
    public var detail: String

    /// Creates a rejection.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}
