import Crypto
import Foundation
import JWTKit

/// A key by which users' tokens are signed.
public struct TokenKey: Sendable {
    /// The algorithms of RFC 7518 that are taken.
    public enum Algorithm: String, Sendable, CaseIterable, Codable {
        /// HMAC with SHA-256; who verifies can also sign.
        case hs256 = "HS256"
        /// ECDSA with P-256.
        case es256 = "ES256"
        /// RSA, PKCS#1 v1.5, at least 2048 bits.
        case rs256 = "RS256"
    }

    /// `kid`: which of several keys signed a token.
    public let id: String
    public let algorithm: Algorithm
    /// From when on nothing that it signed is accepted, for a key that is on its way out.
    public let acceptedUntil: Date?
    /// Whether tokens can be made with it.
    public let canSign: Bool
    /// JWTKit's key alone in a collection, so that none other is ever taken in its place.
    private let collection: JWTKeyCollection
    private let checker: any JWTAlgorithm

    /// What a key is made of. Never to be logged.
    public enum Material: Sendable {
        /// At least 32 bytes.
        case secret([UInt8])
        /// PEM (SubjectPublicKeyInfo).
        case publicKey(String)
        /// PEM (PKCS#8, SEC 1 or PKCS#1).
        case privateKey(String)
    }

    /// - Throws: ``MerchantServerError`` `invalidConfiguration` when the material is none of the algorithm.
    public init(id: String, algorithm: Algorithm, material: Material, acceptedUntil: Date? = nil) async throws {
        guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw MerchantServerError(
                .invalidConfiguration, "The id of a token key is 1 to 128 visible ASCII characters.")
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
            // JWTKit's error may repeat what it could not read.
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

    /// Whether the signature is this key's.
    func isValid(_ signature: Data, of signed: some DataProtocol) -> Bool {
        (try? checker.verify(signature, signs: signed)) ?? false
    }

    func sign(_ claims: TokenClaims) async throws -> String {
        try await collection.sign(claims, kid: JWKIdentifier(string: id))
    }
}
