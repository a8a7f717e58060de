import CornerstoreEncoding
import Foundation
import StoreWire
import Yams

/// The file that names the keys of stores' APIs, in YAML or JSON:
///
/// ```yaml
/// keys:
///   - bundleId: com.example.books
///     keyId: ABC1234567
///     issuerId: 57246542-96fe-1a63-e053-0824d011072a
///     file: SubscriptionKey_ABC1234567.p8       # beside this file, or an absolute path; mode 0600
///     production: https://api.storekit.apple.com          # these two when left out
///     sandbox: https://api.storekit-sandbox.apple.com
/// ```
public enum StoreAPIKeysFile {
    /// The most keys in a file. An app has one.
    static let most = 100

    private struct Contents: Decodable {
        var keys: [Key]
    }

    private struct Key: Decodable {
        var bundleId: String
        var keyId: String
        var issuerId: String
        var file: String
        var production: String?
        var sandbox: String?
    }

    /// Reads a file and the `.p8` files that it names.
    /// - Throws: ``MerchantServerError``: `exposedSecret` when other users may read a `.p8` file.
    public static func read(_ file: URL) throws -> [StoreAPIAccess] {
        let data = try SecretFile.readPublic(file, "file of store API keys")
        let contents: Contents
        do {
            contents =
                file.pathExtension.lowercased() == "json"
                ? try JSONDecoder().decode(Contents.self, from: data)
                : try YAMLDecoder().decode(Contents.self, from: String(decoding: data, as: UTF8.self))
        } catch is DecodingError {
            throw MerchantServerError(
                .invalidConfiguration,
                "\(file.path) is not a file of store API keys: it needs keys, each with bundleId, keyId, issuerId and "
                    + "file.")
        } catch {
            throw MerchantServerError(.invalidConfiguration, "\(file.path) is neither JSON nor YAML.")
        }
        guard (1...most).contains(contents.keys.count), Set(contents.keys.map(\.bundleId)).count == contents.keys.count
        else {
            throw MerchantServerError(
                .invalidConfiguration, "\(file.path) must have 1 to \(most) keys, each of another app.")
        }
        return try contents.keys.map { key in
            let secret = try SecretFile.read(
                URL(fileURLWithPath: key.file, relativeTo: file.deletingLastPathComponent()).absoluteURL)
            return try StoreAPIAccess(
                StoreAPIKey(
                    bundleID: BundleID(key.bundleId), keyID: key.keyId, issuerID: key.issuerId,
                    pem: String(decoding: secret, as: UTF8.self)),
                production: key.production, sandbox: key.sandbox)
        }
    }

    /// Creates the `.p8` file of a key, mode 0600.
    /// - Throws: ``MerchantServerError`` `storage`.
    package static func create(_ file: URL, pem: String) throws { _ = try SecretFile.create(file, Data(pem.utf8)) }

    /// Reads a `.p8` file.
    /// - Throws: ``MerchantServerError`` `storage`, `exposedSecret`.
    package static func pem(_ file: URL) throws -> String { String(decoding: try SecretFile.read(file), as: UTF8.self) }
}
