import Foundation
import MerchantWire
import StoreWire

/// What the claims of users' tokens have to say.
public struct TokenRules: Sendable, Equatable {
    /// What `iss` must be.
    public var issuer: String
    /// What `aud` must be, or be among.
    public var audience: String
    /// The longest time between `iat` and `exp`, in seconds.
    public var maximumLifetime: TimeInterval

    /// How far another machine's clock may be off, in seconds. It is not added to `exp`.
    static let clockSkew: TimeInterval = 60
    /// The longest `sub`, in bytes of UTF-8.
    static let maximumSubject = 255

    public init(issuer: String, audience: String, maximumLifetime: TimeInterval = 86_400) {
        self.issuer = issuer
        self.audience = audience
        self.maximumLifetime = maximumLifetime
    }

    /// The user and the moment from which the token is good no longer, or why it is refused.
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

    /// Whether a text may name a user: not empty, not long, without control characters.
    static func isSubject(_ text: String) -> Bool {
        (1...maximumSubject).contains(text.utf8.count) && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    }
}

/// Why a user's token is refused. The words are safe to show and to log.
public enum TokenRejection: String, Error, Sendable, CaseIterable {
    case malformed
    case tooLarge
    case unknownKey
    case wrongAlgorithm
    case badSignature
    case wrongIssuer
    case wrongAudience
    case expired
    case notYetValid
    case livesTooLong
    case unusableSubject
    case subjectNotNormalized

    /// What the app's developer reads.
    var sentence: String {
        switch self {
        case .malformed: "The token is not a JSON Web Token with iss, sub, aud, iat and exp."
        case .tooLarge: "The token is over \(UserTokens.maximumLength) bytes."
        case .unknownKey: "The token is signed with a key that is not known here, or not any longer."
        case .wrongAlgorithm: "The token's algorithm is not its key's."
        case .badSignature: "The token's signature is not good."
        case .wrongIssuer: "The token was issued by someone else."
        case .wrongAudience: "The token is not meant for this server."
        case .expired: "The token has expired. Get another."
        case .notYetValid: "The token is not valid yet. Are the clocks right?"
        case .livesTooLong: "The token lives longer than is allowed here."
        case .unusableSubject: "The token's subject is empty, too long or has control characters."
        case .subjectNotNormalized:
            "The token's subject is not in Unicode's normalization form C (NFC). Normalize the user's name before you sign the token."
        }
    }
}
