import JWTKit

/// The claims of a user's token (RFC 7519, section 4.1).
struct TokenClaims: JWTPayload {
    /// `iss`
    var issuer: String
    /// `sub`: the user.
    var subject: String
    /// `aud`: one text or several. (JWTKit's own claim type ends the process when the list is empty.)
    var audience: [String]
    /// `iat`, seconds since 1970.
    var issuedAt: Double
    /// `exp`, seconds since 1970.
    var expiresAt: Double
    /// `nbf`, seconds since 1970.
    var notBefore: Double?

    private enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
        case issuedAt = "iat"
        case expiresAt = "exp"
        case notBefore = "nbf"
    }

    init(issuer: String, subject: String, audience: String, issuedAt: Double, expiresAt: Double) {
        self.issuer = issuer
        self.subject = subject
        self.audience = [audience]
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        issuer = try container.decode(String.self, forKey: .issuer)
        subject = try container.decode(String.self, forKey: .subject)
        if let one = try? container.decode(String.self, forKey: .audience) {
            audience = [one]
        } else {
            audience = try container.decode([String].self, forKey: .audience)
        }
        issuedAt = try container.decode(Double.self, forKey: .issuedAt)
        expiresAt = try container.decode(Double.self, forKey: .expiresAt)
        notBefore = try container.decodeIfPresent(Double.self, forKey: .notBefore)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(issuer, forKey: .issuer)
        try container.encode(subject, forKey: .subject)
        if audience.count == 1 {
            try container.encode(audience[0], forKey: .audience)
        } else {
            try container.encode(audience, forKey: .audience)
        }
        // Write whole seconds, which every reader accepts.
        try container.encode(Int64(issuedAt), forKey: .issuedAt)
        try container.encode(Int64(expiresAt), forKey: .expiresAt)
        try container.encodeIfPresent(notBefore.map { Int64($0) }, forKey: .notBefore)
    }

    /// Does nothing. ``TokenRules`` checks the claims, since they depend on time and configuration, which JWTKit does
    /// not know here.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// The members of a token's header (RFC 7515, section 4.1) that matter here.
struct TokenHeader: Decodable {
    /// `alg`
    var algorithm: String
    /// `kid`
    var keyID: String?
    /// `typ`
    var type: String?
    /// Whether the header has `crit`, which lists extensions that a reader must understand. This one understands none.
    var hasCritical: Bool

    private enum CodingKeys: String, CodingKey {
        case algorithm = "alg"
        case keyID = "kid"
        case type = "typ"
        case critical = "crit"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        algorithm = try container.decode(String.self, forKey: .algorithm)
        keyID = try container.decodeIfPresent(String.self, forKey: .keyID)
        type = try container.decodeIfPresent(String.self, forKey: .type)
        hasCritical = container.contains(.critical)
    }
}
