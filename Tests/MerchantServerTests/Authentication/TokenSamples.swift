import CornerstoreEncoding
import Crypto
import Foundation
import JWTKit

@testable import MerchantServer

/// Keys and tokens for tests. The tokens are made by hand, so that they can be wrong in every way.
enum TokenSamples {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
    static let rules = TokenRules(issuer: "login", audience: "app", maximumLifetime: 3_600)
    static let secret = Array(repeating: UInt8(7), count: 32)
    static let p256 = P256.Signing.PrivateKey()
    static var header: [String: Any] { ["alg": "HS256", "kid": "a", "typ": "JWT"] }

    static var claims: [String: Any] {
        let seconds = Int(now.timeIntervalSince1970)
        return ["iss": "login", "aud": "app", "sub": "ann", "iat": seconds - 10, "exp": seconds + 600]
    }

    static func hmacKey(_ id: String = "a", until: Date? = nil) async throws -> TokenKey {
        try await TokenKey(id: id, algorithm: .hs256, material: .secret(secret), acceptedUntil: until)
    }

    static func tokens(remembered: Int = 100) async throws -> UserTokens {
        try UserTokens(TokenKeySet(rules: rules, keys: [try await hmacKey()]), remembered: remembered)
    }

    /// A token with these headers and claims over those above; a nil takes one away.
    static func token(
        header changes: [String: Any?] = [:], claims claimChanges: [String: Any?] = [:],
        sign: (([UInt8]) throws -> Data)? = nil
    ) throws -> String {
        func merged(_ base: [String: Any], _ changes: [String: Any?]) throws -> String {
            var base = base
            for (name, value) in changes { base[name] = value }
            return Base64URL.encoded(try JSONSerialization.data(withJSONObject: base, options: .sortedKeys))
        }
        let signed = try merged(header, changes) + "." + merged(claims, claimChanges)
        let signature = try sign.map { try $0(Array(signed.utf8)) } ?? hmac(Array(signed.utf8), secret)
        return signed + "." + Base64URL.encoded(signature)
    }

    static func hmac(_ bytes: [UInt8], _ secret: [UInt8]) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: secret)))
    }
}
