/// Why a receipt was refused. `code` is stable and goes to people and programs; `detail` is for the log and never holds
/// receipt bytes.
public struct ReceiptRejection: Error, Sendable, Equatable {
    public enum Code: String, Sendable, CaseIterable {
        /// Not the structure of a receipt.
        case malformed
        /// The bytes end before the structure does.
        case truncated
        /// Bytes follow after the structure's end.
        case trailingData = "trailing-data"
        /// Nested deeper than any receipt.
        case tooDeep = "too-deep"
        /// Over the size or count limit.
        case tooLarge = "too-large"
        /// An algorithm that no receipt uses.
        case unsupportedAlgorithm = "unsupported-algorithm"
        /// The signature does not match the payload.
        case badSignature = "bad-signature"
        /// The chain ends in no root that the caller gave.
        case unknownIssuer = "unknown-issuer"
        /// Certificates that do not issue one another, or may not.
        case wrongChain = "wrong-chain"
        /// Apple's marker OID is missing from the leaf or the intermediate.
        case missingMarker = "missing-marker"
        /// A certificate of the chain was not valid at the receipt's date.
        case expired
        /// Made for another bundle id than expected.
        case wrongBundleID = "wrong-bundle-id"
        /// Made for another version than expected.
        case wrongVersion = "wrong-version"
        /// Made for another device than expected.
        case wrongDeviceHash = "wrong-device-hash"
    }

    public var code: Code
    public var detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}
