import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// The bearer token of a request to the App Store Server API: a JSON Web Token (RFC 7519) with ES256.
///
/// Apple's own libraries make a new token for each request, with `exp` five minutes ahead. Two of them send no `iat`.
enum APIToken {
    /// The longest value of `Authorization` that is read, in bytes. Those of Apple's libraries have about 400.
    static let longest = 4_096
    /// The time from `iat`, or now, to `exp`, in seconds. Apple refuses exactly an hour.
    private static let longestLife: Double = 3_600
    /// How far the caller's clock may be ahead, in seconds.
    private static let skew: Double = 60
    private static let audience = "appstoreconnect-v1"
    private static let scheme = "bearer "

    /// Returns the key with which a token is signed, whose app it may ask about; nil when the token is not good. Apple
    /// says no reason, and neither does the store.
    /// - Parameters:
    ///   - header: the value of `Authorization`.
    ///   - now: the machine's time, in seconds since 1970. Tokens do not follow the store's clock.
    static func key(authorizing header: String?, _ keys: APIKeys, at now: Double) -> APIKey? {
        guard let header, header.utf8.count <= longest, let token = bearer(header) else { return nil }
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let head = members(parts[0]), let claims = members(parts[1]),
            let signature = Base64URL.decoded(parts[2]), signature.count == 64,
            let algorithm = try? head.string("alg"), algorithm.hasSameBytes(as: "ES256"), !head.has("crit"),
            let keyID = try? head.string("kid"), let key = keys[keyID], key.revokedAt == nil
        else { return nil }
        guard let proof = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.publicKey.isValidSignature(proof, for: SHA256.hash(data: token[..<parts[1].endIndex]))
        else { return nil }
        guard let issuer = try? claims.string("iss"), issuer.hasSameBytes(as: key.issuerID), claims.isFor(audience),
            let bundleID = try? claims.string("bid"), bundleID.hasSameBytes(as: key.bundleID.rawValue),
            isCurrent(claims, at: now)
        else { return nil }
        return key
    }

    /// The token after the scheme, whose case does not matter (RFC 9110, section 11.1).
    private static func bearer(_ header: String) -> [UInt8]? {
        let bytes = Array(header.utf8)
        guard String(decoding: bytes.prefix(scheme.utf8.count), as: UTF8.self).lowercased().hasSameBytes(as: scheme)
        else { return nil }
        return Array(bytes.dropFirst(scheme.utf8.count))
    }

    private static func members(_ part: ArraySlice<UInt8>) -> FlatJSONObject? {
        Base64URL.decoded(part).flatMap { try? FlatJSONObject($0) }
    }

    private static func isCurrent(_ claims: FlatJSONObject, at now: Double) -> Bool {
        guard let end = try? claims.number("exp"), end > now else { return false }
        guard claims.has("iat") else { return end - now < longestLife + skew }
        guard let issued = try? claims.number("iat"), issued <= now + skew else { return false }
        return end - issued < longestLife
    }
}

extension FlatJSONObject {
    /// Whether the claims of a JSON Web Token name an audience. Java's library sends it as a string. RFC 7519 also has
    /// arrays.
    func isFor(_ audience: String) -> Bool {
        if let text = try? string("aud") { return text.hasSameBytes(as: audience) }
        return (try? strings("aud"))?.contains { $0.hasSameBytes(as: audience) } ?? false
    }
}
