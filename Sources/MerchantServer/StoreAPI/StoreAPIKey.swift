import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// A key of the App Store Server API and the app that it is for.
public struct StoreAPIKey: Sendable, CustomStringConvertible {
    /// The life of a token, in seconds. Apple's libraries use the same.
    private static let tokenLife: Int64 = 300
    private static let audience = "appstoreconnect-v1"

    /// The app.
    public let bundleID: BundleID
    /// The key's identifier (`kid`).
    public let keyID: String
    /// The issuer's identifier (`iss`).
    public let issuerID: String
    private let privateKey: P256.Signing.PrivateKey

    /// Reads a key.
    /// - Parameter pem: the contents of the `.p8` file: a P-256 key as PKCS#8 in PEM.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`.
    public init(bundleID: BundleID, keyID: String, issuerID: String, pem: String) throws {
        guard let privateKey = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
            throw MerchantServerError(
                .invalidConfiguration,
                "The store API key \(keyID) is not a P-256 private key in PEM. Use the .p8 file as the store gave it.")
        }
        for (name, value) in [("bundleId", bundleID.rawValue), ("keyId", keyID), ("issuerId", issuerID)] {
            guard (1...255).contains(value.utf8.count), value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw MerchantServerError(
                    .invalidConfiguration, "\(name) of a store API key must be 1 to 255 ASCII characters.")
            }
        }
        (self.bundleID, self.keyID, self.issuerID, self.privateKey) = (bundleID, keyID, issuerID, privateKey)
    }

    /// Whether a public key is this key's public half.
    /// - Parameter pem: a P-256 key as SubjectPublicKeyInfo in PEM.
    public func hasPublicKey(_ pem: String) -> Bool {
        (try? P256.Signing.PublicKey(pemRepresentation: pem))?.rawRepresentation
            == privateKey.publicKey.rawRepresentation
    }

    /// Makes the bearer token of one request: a JSON Web Token (RFC 7519) with ES256.
    /// - Parameter now: seconds since 1970.
    package func token(at now: Int64) throws -> String {
        try signed(
            Claims(iss: issuerID, iat: now, exp: now + Self.tokenLife, aud: Self.audience, bid: bundleID.rawValue))
    }

    /// Returns claims as a JSON Web Token in compact form, signed by the key.
    func signed(_ claims: some Encodable) throws -> String {
        let signed =
            Base64URL.encoded(try JSONEncoder.compact.encode(Head(kid: keyID))) + "."
            + Base64URL.encoded(try JSONEncoder.compact.encode(claims))
        let signature = try privateKey.signature(for: Data(signed.utf8))
        return signed + "." + Base64URL.encoded(signature.rawRepresentation)
    }

    /// A text that does not reveal the key.
    public var description: String { "\(keyID) of \(bundleID.rawValue)" }

    private struct Head: Encodable {
        let alg = "ES256"
        var kid: String
        let typ = "JWT"
    }

    private struct Claims: Encodable {
        var iss: String
        var iat: Int64
        var exp: Int64
        var aud: String
        var bid: String
    }
}

/// A key of the App Store Server API with the hosts that it is used at.
public struct StoreAPIAccess: Sendable {
    /// The key.
    public let key: StoreAPIKey
    let production: URL
    let sandbox: URL

    /// Creates an access.
    /// - Parameters:
    ///   - production: the base URL of production, https or a loopback host; nil for Apple's.
    ///   - sandbox: that of the sandbox.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`.
    public init(_ key: StoreAPIKey, production: String? = nil, sandbox: String? = nil) throws {
        self.key = key
        self.production = try OutgoingHTTP.url(
            production ?? "https://api.storekit.apple.com", for: "the store's API in production")
        self.sandbox = try OutgoingHTTP.url(
            sandbox ?? "https://api.storekit-sandbox.apple.com", for: "the store's API in the sandbox")
    }

    /// Creates the access to a store in this process, whatever address of the machine it listens on. Nil for a
    /// malformed address.
    public init?(_ key: StoreAPIKey, inThisProcess production: String, sandbox: String) {
        guard let production = URL(string: production), let sandbox = URL(string: sandbox) else { return nil }
        (self.key, self.production, self.sandbox) = (key, production, sandbox)
    }

    /// The base URL of an environment.
    func base(_ environment: StoreEnvironment) -> URL {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
}
