import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// The signature of a promotional offer as Apple's libraries make it for StoreKit 2: a JWS in compact form (RFC 7515)
/// with ES256.
struct OfferToken {
    /// The text is not the JWS of a promotional offer.
    struct Malformed: Error {}

    private static let audience = "promotional-offer"
    /// The latest `iat`, in seconds since 1970: the year 5138. Later times have no use, and need not fit.
    private static let latest: Double = 100_000_000_000

    /// The identifier of the key that made the signature (`kid`).
    let keyID: String
    /// The issuer of the key (`iss`).
    let issuerID: String
    /// The app's bundle identifier (`bid`).
    let bundleID: String
    /// The subscription (`productId`).
    let productID: String
    /// The offer's identifier (`offerIdentifier`).
    let offerID: String
    /// A transaction or the app transaction of the customer (`transactionId`); nil for an offer to any customer.
    let transactionID: String?
    /// A UUID that is used for one signature only.
    let nonce: UUID
    /// When the offer was signed (`iat`), in milliseconds since 1970.
    let issuedAt: Int64
    private let digest: SHA256.Digest
    private let signature: P256.Signing.ECDSASignature

    /// Reads a JWS, and does not check its signature.
    /// - Parameter compactJWS: header, claims and signature in Base64 without padding. Its length was checked.
    /// - Throws: ``Malformed``, or what is wrong with its JSON or its signature.
    init(_ compactJWS: String) throws {
        let token = Array(compactJWS.utf8)
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decoded(parts[0]), let payload = Base64URL.decoded(parts[1]),
            let proof = Base64URL.decoded(parts[2]), proof.count == 64
        else { throw Malformed() }
        let head = try FlatJSONObject(header)
        let claims = try FlatJSONObject(payload)
        let nonceText = Array(try claims.string(required: "nonce").utf8)
        guard try head.string(required: "alg").hasSameBytes(as: "ES256"), !head.has("crit"),
            try head.string("typ")?.hasSameBytes(as: "JWT") ?? true, claims.isFor(Self.audience),
            let issued = try claims.number("iat"), issued > 0, issued < Self.latest,
            let nonce = UUID(text: nonceText.span)
        else { throw Malformed() }
        keyID = try head.string(required: "kid")
        issuerID = try claims.string(required: "iss")
        bundleID = try claims.string(required: "bid")
        productID = try claims.string(required: "productId")
        offerID = try claims.string(required: "offerIdentifier")
        transactionID = try claims.string("transactionId")
        self.nonce = nonce
        issuedAt = Int64(issued * 1_000)
        digest = SHA256.hash(data: token[..<parts[1].endIndex])
        signature = try P256.Signing.ECDSASignature(rawRepresentation: proof)
    }

    /// Whether the key made the signature.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool { key.isValidSignature(signature, for: digest) }
}
