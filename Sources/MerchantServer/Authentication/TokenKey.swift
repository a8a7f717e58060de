import Crypto
import Foundation
import JWTKit

/// A key that verifies users' tokens, and may sign them.
public struct TokenKey: Sendable {
    /// The supported algorithms of RFC 7518.
    public enum Algorithm: String, Sendable, CaseIterable, Codable {
        /// HMAC with SHA-256. A server that can verify can also sign.
        case hs256 = "HS256"
        /// ECDSA with P-256.
        case es256 = "ES256"
        /// RSA, PKCS#1 v1.5, at least 2048 bits.
        case rs256 = "RS256"
    }

    /// The `kid` by which a token names the key.
    public let id: String
    /// The key's algorithm.
    public let algorithm: Algorithm
    /// The moment from which tokens of this key are refused, for a key that is being replaced; nil for no end.
    public let acceptedUntil: Date?
    /// Whether the key can sign tokens.
    public let canSign: Bool
    /// A JWTKit collection of this key alone, so that no other key is ever used in its place.
    private let collection: JWTKeyCollection
    private let checker: any JWTAlgorithm

    /// The key material. Never log it.
    public enum Material: Sendable {
        /// A shared secret of at least 32 bytes.
        case secret([UInt8])
        /// A public key in PEM (SubjectPublicKeyInfo).
        case publicKey(String)
        /// A private key in PEM (PKCS#8, SEC 1 or PKCS#1).
        case privateKey(String)
    }

    /// Creates a key.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` when the id is not 1 to 128 visible ASCII characters,
    ///   or the material does not fit the algorithm.
    public init(id: String, algorithm: Algorithm, material: Material, acceptedUntil: Date? = nil) async throws {
        guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw MerchantServerError(
                .invalidConfiguration, "The id of a token key must be 1 to 128 visible ASCII characters.")
        }
        self.id = id
        self.algorithm = algorithm
        self.acceptedUntil = acceptedUntil
        collection = JWTKeyCollection()
        let kid = JWKIdentifier(string: id)
        var canSign = true
        do {
            switch (algorithm, material) {
            case (.hs256, .secret(let secret)) where secret.count >= 32:
                await collection.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: kid)
            case (.es256, .privateKey(let pem)):
                await collection.add(ecdsa: try ES256PrivateKey(pem: pem), kid: kid)
            case (.es256, .publicKey(let pem)):
                await collection.add(ecdsa: try ES256PublicKey(pem: pem), kid: kid)
                canSign = false
            case (.rs256, .privateKey(let pem)):
                await collection.add(
                    rsa: try Insecure.RSA.PrivateKey(pem: pem), digestAlgorithm: .sha256, kid: kid)
            case (.rs256, .publicKey(let pem)):
                await collection.add(rsa: try Insecure.RSA.PublicKey(pem: pem), digestAlgorithm: .sha256, kid: kid)
                canSign = false
            default: throw Self.unusable(id, algorithm)
            }
            checker = try await collection.getKey(for: kid)
        } catch {
            // JWTKit's error may contain the material that it could not read.
            throw Self.unusable(id, algorithm)
        }
        self.canSign = canSign
    }

    private static func unusable(_ id: String, _ algorithm: Algorithm) -> MerchantServerError {
        let wanted =
            switch algorithm {
            case .hs256: "a secret of at least 32 bytes in Base64"
            case .es256: "a public or private key of P-256 in PEM"
            case .rs256: "a public or private RSA key of at least 2048 bits in PEM"
            }
        return MerchantServerError(
            .invalidConfiguration, "The token key “\(id)” needs \(wanted) for \(algorithm.rawValue).")
    }

    /// Whether this key made the signature.
    func isValid(_ signature: Data, of signed: some DataProtocol) -> Bool {
        (try? checker.verify(signature, signs: signed)) ?? false
    }

    func sign(_ claims: TokenClaims) async throws -> String {
        try await collection.sign(claims, kid: JWKIdentifier(string: id))
    }
}
