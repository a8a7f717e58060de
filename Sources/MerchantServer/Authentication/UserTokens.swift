import CornerstoreEncoding
import Foundation
import JWTKit
import MerchantWire
import StoreWire
import Synchronization

/// The tokens that identify the app's users: JSON Web Tokens (RFC 7519) that the developer's login server signs, or
/// that `cornerstore merchant token` makes for trials.
public final class UserTokens: Sendable {
    /// The longest accepted token, in bytes.
    public static let maximumLength = 4_096
    /// The largest number of remembered tokens; a usual one takes about 400 bytes.
    public static let rememberedTokens = 65_536

    private struct Configuration: Sendable {
        var rules: TokenRules
        var keys: [ExactText: TokenKey]
        /// The keys that can sign tokens, in the file's order.
        var signing: [TokenKey]
    }

    private let configuration: Mutex<Configuration>
    private let remembered: RememberedTokens

    /// Creates the tokens' keys and memory.
    /// - Parameters:
    ///   - keySet: the accepted keys, with different ids, and the rules. The first key that can sign makes tokens.
    ///   - remembered: the largest number of verified tokens to remember.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` when there is no key, or two keys have the same id.
    public init(_ keySet: TokenKeySet, remembered: Int = rememberedTokens) throws {
        configuration = Mutex(try Self.configuration(keySet))
        self.remembered = RememberedTokens(capacity: remembered)
    }

    /// Replaces the keys and rules, and forgets the tokens that the old ones verified.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`; the old keys and rules stay in use then.
    public func replace(with keySet: TokenKeySet) throws {
        let new = try Self.configuration(keySet)
        configuration.withLock { $0 = new }
        remembered.removeAll()
    }

    private static func configuration(_ keySet: TokenKeySet) throws -> Configuration {
        guard !keySet.keys.isEmpty else {
            throw MerchantServerError(.invalidConfiguration, "There is no key for users' tokens. Give at least one.")
        }
        var byID: [ExactText: TokenKey] = [:]
        for key in keySet.keys where byID.updateValue(key, forKey: ExactText(key.id)) != nil {
            throw MerchantServerError(
                .invalidConfiguration, "Two keys for users' tokens have the id “\(key.id)”. Give each its own.")
        }
        return Configuration(rules: keySet.rules, keys: byID, signing: keySet.keys.filter(\.canSign))
    }

    // MARK: Verifying

    /// Returns the user of a token that was verified before: one look-up.
    public func rememberedUser(_ token: String, at now: Date) -> UserID? { remembered.user(of: token, at: now) }

    /// Verifies a token and returns its user.
    /// - Throws: ``TokenRejection``.
    public func user(_ token: String, at now: Date) throws(TokenRejection) -> UserID {
        if let user = remembered.user(of: token, at: now) { return user }
        guard token.utf8.count <= Self.maximumLength else { throw .tooLarge }
        let epoch = remembered.epoch
        let configuration = configuration.withLock { $0 }
        let (user, expiresAt) = try Self.verify(Array(token.utf8), configuration, at: now)
        remembered.insert(token, user: user, expiresAt: expiresAt, epoch: epoch)
        return user
    }

    private static func verify(
        _ token: [UInt8], _ configuration: Configuration, at now: Date
    ) throws(TokenRejection) -> (user: UserID, expiresAt: Date) {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let headerBytes = Base64URL.decoded(parts[0]),
            let signature = Base64URL.decoded(parts[2]),
            let header = try? JSONDecoder().decode(TokenHeader.self, from: Data(headerBytes)), !header.hasCritical,
            ["jwt", "at+jwt"].contains(header.type?.lowercased() ?? "jwt")
        else { throw .malformed }
        // A token without a key id may be signed by any key, so that a login server without key ids can rotate its key.
        let named = header.keyID.map { id in configuration.keys[ExactText(id)].map { [$0] } ?? [] }
        let accepted = (named ?? Array(configuration.keys.values)).filter { key in
            key.acceptedUntil.map { now < $0 } ?? true
        }
        guard !accepted.isEmpty else { throw .unknownKey }
        // The key decides the algorithm, never the token.
        let fitting = accepted.filter { $0.algorithm.rawValue == header.algorithm }
        guard !fitting.isEmpty else { throw .wrongAlgorithm }
        let signed = token[..<parts[1].endIndex]
        guard let key = fitting.first(where: { $0.isValid(Data(signature), of: signed) }) else { throw .badSignature }
        guard let payload = Base64URL.decoded(parts[1]),
            let claims = try? JSONDecoder().decode(TokenClaims.self, from: Data(payload))
        else { throw .malformed }
        let (user, expiresAt) = try configuration.rules.judge(claims, at: now)
        return (user, min(expiresAt, key.acceptedUntil ?? expiresAt))
    }

    // MARK: Making

    /// Makes a token for trials.
    /// - Parameter lifetime: in seconds; at most the rules' maximum, which is the default.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` when no key can sign, or the user's name or the
    ///   lifetime is invalid.
    public func makeToken(for user: UserID, at now: Date, lifetime: TimeInterval? = nil) async throws -> String {
        let configuration = configuration.withLock { $0 }
        guard let key = configuration.signing.first(where: { $0.acceptedUntil.map { now < $0 } ?? true }) else {
            throw MerchantServerError(
                .invalidConfiguration,
                "None of the active keys can sign tokens. Run this command where the private key is.")
        }
        guard TokenRules.isSubject(user.rawValue) else {
            throw MerchantServerError(.invalidConfiguration, TokenRejection.unusableSubject.sentence)
        }
        guard user.rawValue.isInNormalizationFormC else {
            throw MerchantServerError(.invalidConfiguration, TokenRejection.subjectNotNormalized.sentence)
        }
        let seconds = lifetime ?? configuration.rules.maximumLifetime
        guard seconds >= 1, seconds <= configuration.rules.maximumLifetime else {
            throw MerchantServerError(
                .invalidConfiguration,
                "A token's lifetime must be 1 to \(Int64(configuration.rules.maximumLifetime)) seconds.")
        }
        // Use whole seconds, so that rounding does not make the longest lifetime longer.
        let issuedAt = now.timeIntervalSince1970.rounded(.down)
        let claims = TokenClaims(
            issuer: configuration.rules.issuer, subject: user.rawValue, audience: configuration.rules.audience,
            issuedAt: issuedAt, expiresAt: issuedAt + seconds.rounded(.down))
        return try await key.sign(claims)
    }
}
