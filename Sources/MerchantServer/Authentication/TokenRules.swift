import Foundation
import MerchantWire
import StoreWire

/// The values that the claims of users' tokens must have.
public struct TokenRules: Sendable, Equatable {
    /// The required `iss`.
    public var issuer: String
    /// The required `aud`, or one of several in it.
    public var audience: String
    /// The longest time between `iat` and `exp`, in seconds.
    public var maximumLifetime: TimeInterval

    /// The largest error of another machine's clock, in seconds. It does not extend `exp`.
    static let clockSkew: TimeInterval = 60
    /// The longest `sub`, in bytes of UTF-8.
    static let maximumSubject = 255

    /// Creates rules.
    /// - Parameter maximumLifetime: in seconds; a day by default.
    public init(issuer: String, audience: String, maximumLifetime: TimeInterval = 86_400) {
        self.issuer = issuer
        self.audience = audience
        self.maximumLifetime = maximumLifetime
    }

    /// Returns the token's user and end.
    /// - Throws: ``TokenRejection`` for the first rule that the claims break.
    func judge(_ claims: TokenClaims, at now: Date) throws(TokenRejection) -> (user: UserID, expiresAt: Date) {
        guard claims.issuer.hasSameBytes(as: issuer) else { throw .wrongIssuer }
        guard claims.audience.contains(where: { $0.hasSameBytes(as: audience) }) else { throw .wrongAudience }
        let seconds = now.timeIntervalSince1970
        guard claims.expiresAt.isFinite, claims.issuedAt.isFinite, claims.notBefore?.isFinite ?? true else {
            throw .malformed
        }
        guard seconds < claims.expiresAt else { throw .expired }
        guard max(claims.issuedAt, claims.notBefore ?? claims.issuedAt) <= seconds + Self.clockSkew else {
            throw .notYetValid
        }
        guard claims.expiresAt - claims.issuedAt <= maximumLifetime else { throw .livesTooLong }
        guard Self.isSubject(claims.subject) else { throw .unusableSubject }
        guard claims.subject.isInNormalizationFormC else { throw .subjectNotNormalized }
        return (UserID(claims.subject), Date(timeIntervalSince1970: claims.expiresAt))
    }

    /// Whether a text is a valid name of a user: 1 to 255 bytes without control characters.
    static func isSubject(_ text: String) -> Bool {
        (1...maximumSubject).contains(text.utf8.count) && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    }
}

/// The reason why a user's token is refused. The raw values are safe to show and to log.
public enum TokenRejection: String, Error, Sendable, CaseIterable {
    /// The token is not a well-formed JSON Web Token.
    case malformed
    /// The token is longer than ``UserTokens/maximumLength``.
    case tooLarge
    /// No accepted key has the token's `kid`.
    case unknownKey
    /// The token's `alg` is not its key's algorithm.
    case wrongAlgorithm
    /// No fitting key made the signature.
    case badSignature
    /// `iss` is not the configured issuer.
    case wrongIssuer
    /// `aud` does not contain the configured audience.
    case wrongAudience
    /// `exp` has passed.
    case expired
    /// `nbf` or `iat` is in the future.
    case notYetValid
    /// The time from `iat` to `exp` is longer than the rules allow.
    case livesTooLong
    /// `sub` is empty, too long or contains control characters.
    case unusableSubject
    /// `sub` is not in Unicode's normalization form C.
    case subjectNotNormalized

    /// The sentence that the app's developer reads.
    var sentence: String {
        switch self {
        case .malformed: "The token is not a JSON Web Token with iss, sub, aud, iat and exp."
        case .tooLarge: "The token is over \(UserTokens.maximumLength) bytes."
        case .unknownKey: "The token is signed with a key that this server does not accept, or accepts no longer."
        case .wrongAlgorithm: "The token's algorithm is not that of its key."
        case .badSignature: "The token's signature is invalid."
        case .wrongIssuer: "The token's issuer (iss) is not the one that this server trusts."
        case .wrongAudience: "The token's audience (aud) does not name this server."
        case .expired: "The token has expired. Get another."
        case .notYetValid: "The token is not valid yet. Check the clocks of both machines."
        case .livesTooLong: "The token's lifetime is longer than this server allows."
        case .unusableSubject: "The token's subject is empty, too long or contains control characters."
        case .subjectNotNormalized:
            "The token's subject is not in Unicode's normalization form C (NFC). Normalize the user's name before you sign the token."
        }
    }
}
