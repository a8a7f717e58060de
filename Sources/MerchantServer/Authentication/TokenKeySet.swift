import CornerstoreEncoding
import Crypto
import Foundation
import StoreReceipts
import Yams

/// The keys and rules for users' tokens, as a file contains them:
///
/// ```yaml
/// issuer: https://login.example.com
/// audience: com.example.app
/// maximumLifetime: 86400          # seconds; 86400 when left out
/// keys:
///   - id: 2026-11
///     algorithm: ES256            # or RS256, or HS256 with `secret` (Base64, at least 32 bytes)
///     publicKey: |
///       -----BEGIN PUBLIC KEY-----
///       …
///   - id: 2026-05
///     algorithm: HS256
///     secret: …
///     acceptedUntil: 2026-12-01T00:00:00Z
/// ```
///
/// To rotate keys, put the new key first and give the old key an end that is after the expiry of the last token it
/// signed. A running server reloads the file when it changes (``TokenKeyReload``).
public struct TokenKeySet: Sendable {
    /// The rules for the claims.
    public var rules: TokenRules
    /// The keys, in the file's order.
    public var keys: [TokenKey]
    /// The SHA-256 of the file that the set was read from.
    private(set) var digest: SHA256.Digest?

    /// The file's name in a data directory.
    public static let fileName = "user-token-keys.json"
    /// The largest number of keys in a file.
    static let maximumKeys = 64

    /// Creates a set of keys and rules.
    public init(rules: TokenRules, keys: [TokenKey]) {
        self.rules = rules
        self.keys = keys
    }

    /// Reads the keys of a data directory. The first start creates the file there with one HS256 key, mode 0600.
    /// - Throws: ``MerchantServerError``.
    public static func open(directory: URL) async throws -> TokenKeySet {
        let file = directory.appendingPathComponent(fileName)
        if !FileManager.default.fileExists(atPath: file.path) {
            let secret = Data(RandomBytes.make(32)).base64EncodedString()
            let name = "cornerstore-merchant"
            let new = FileContents(
                issuer: name, audience: name,
                keys: [
                    .init(id: "key-\(Base64URL.encoded(RandomBytes.make(6)))", algorithm: .hs256, secret: secret)
                ])
            // If another process created the file first, read that one.
            _ = try SecretFile.create(file, JSONEncoder.readable.encode(new))
        }
        return try await read(file)
    }

    /// Reads a file: JSON when its name ends in `.json`, otherwise YAML.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`, `storage`, or `exposedSecret` when the file contains
    ///   a secret that others may read.
    public static func read(_ file: URL) async throws -> TokenKeySet {
        let data = try SecretFile.readPublic(file)
        let contents: FileContents
        do {
            contents =
                file.pathExtension.lowercased() == "json"
                ? try JSONDecoder().decode(FileContents.self, from: data)
                : try YAMLDecoder().decode(FileContents.self, from: String(decoding: data, as: UTF8.self))
        } catch let error as DecodingError {
            throw MerchantServerError(
                .invalidConfiguration,
                "\(file.path) is not a file of token keys: it needs issuer, audience and keys, each with id, algorithm and secret, publicKey or "
                    + "privateKey\(error.keyPath.map { " (see “\($0)”)" } ?? "").")
        } catch {
            throw MerchantServerError(.invalidConfiguration, "\(file.path) is neither JSON nor YAML.")
        }
        if contents.keys.contains(where: { $0.secret != nil || $0.privateKey != nil }) { _ = try SecretFile.read(file) }
        var keySet = try await contents.keySet(file.path)
        keySet.digest = SHA256.hash(data: data)
        return keySet
    }

    private struct FileContents: Codable {
        var issuer: String
        var audience: String
        var maximumLifetime: Double?
        var keys: [Key]

        struct Key: Codable {
            var id: String
            var algorithm: TokenKey.Algorithm
            var secret: String?
            var publicKey: String?
            var privateKey: String?
            var acceptedUntil: String?
        }

        func keySet(_ path: String) async throws -> TokenKeySet {
            func refuse(_ reason: String) -> MerchantServerError {
                MerchantServerError(.invalidConfiguration, "\(path): \(reason)")
            }
            guard !issuer.isEmpty, !audience.isEmpty else { throw refuse("issuer and audience must not be empty.") }
            let lifetime = maximumLifetime ?? 86_400
            guard (1...31_622_400).contains(lifetime) else {
                throw refuse("maximumLifetime must be 1 to 31622400 seconds (a year).")
            }
            guard (1...TokenKeySet.maximumKeys).contains(keys.count) else {
                throw refuse("give 1 to \(TokenKeySet.maximumKeys) keys.")
            }
            var made: [TokenKey] = []
            for key in keys {
                guard [key.secret, key.publicKey, key.privateKey].count(where: { $0 != nil }) == 1 else {
                    throw refuse("the key “\(key.id)” must have exactly one of secret, publicKey and privateKey.")
                }
                let material: TokenKey.Material
                if let secret = key.secret {
                    guard let bytes = Data(base64Encoded: secret) else {
                        throw refuse("the secret of the key “\(key.id)” is not Base64.")
                    }
                    material = .secret(Array(bytes))
                } else if let pem = key.publicKey {
                    material = .publicKey(pem)
                } else {
                    material = .privateKey(key.privateKey ?? "")
                }
                var end: Date?
                if let text = key.acceptedUntil {
                    end = ReceiptDate(rfc3339: text.utf8)?.date
                    guard end != nil else {
                        throw refuse(
                            "acceptedUntil of the key “\(key.id)” is not a date that exists. Write one such as 2026-12-01T00:00:00Z."
                        )
                    }
                }
                made.append(
                    try await TokenKey(id: key.id, algorithm: key.algorithm, material: material, acceptedUntil: end))
            }
            return TokenKeySet(
                rules: TokenRules(issuer: issuer, audience: audience, maximumLifetime: lifetime), keys: made)
        }
    }
}

extension DecodingError {
    /// The place of the error in the file, without values.
    fileprivate var keyPath: String? {
        let (path, last): ([any CodingKey], String?) =
            switch self {
            case .keyNotFound(let key, let context): (context.codingPath, key.stringValue)
            case .valueNotFound(_, let context), .typeMismatch(_, let context), .dataCorrupted(let context):
                (context.codingPath, nil)
            @unknown default: ([], nil)
            }
        let names = path.map { $0.intValue.map { String($0 + 1) } ?? $0.stringValue } + (last.map { [$0] } ?? [])
        return names.isEmpty ? nil : String(names.joined(separator: ".").prefix(200))
    }
}
