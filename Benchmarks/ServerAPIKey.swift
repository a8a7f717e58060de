import Crypto
import Foundation

/// A key of the App Store Server API, and requests that it signs.
struct ServerAPIKey: Sendable {
    private let keyID: String
    private let issuerID: String
    private let privateKey: P256.Signing.PrivateKey

    /// Lets a store create a key for the benchmark's app.
    static func make(at store: StoreProcess) async throws -> ServerAPIKey {
        struct Created: Decodable {
            struct Key: Decodable {
                var keyId: String
                var issuerId: String
            }
            var key: Key
            var privateKey: String
        }
        let answer = try await OneRequest.answer(
            port: try store.port("control"),
            request: LoadGenerator.post(
                "/control/v1/api-keys", body: Array(#"{"bundleId":"\#(SampleReceipts.bundleID)"}"#.utf8)))
        let created = try JSONDecoder().decode(Created.self, from: Data(answer))
        return ServerAPIKey(
            keyID: created.key.keyId, issuerID: created.key.issuerId,
            privateKey: try P256.Signing.PrivateKey(pemRepresentation: created.privateKey))
    }

    /// Signs a new token for each request, as Apple's libraries do.
    /// - Parameters:
    ///   - count: The number of requests. The load fails when they do not suffice.
    ///   - path: the path of a request, by its number.
    func requests(_ count: Int, to path: @escaping @Sendable (Int) -> String) throws -> LoadGenerator.Requests {
        // Tokens that Apple's libraries make within one second also differ in their signatures only.
        let claims = signedPart(at: Int64(Date().timeIntervalSince1970))
        let digest = SHA256.hash(data: Data(claims.utf8))
        let privateKey = privateKey
        return try PreparedRequests.make(count) { number in
            let signature = Self.base64URL(try privateKey.signature(for: digest).rawRepresentation)
            return LoadGenerator.get(path(number), token: "\(claims).\(signature)")
        }
    }

    /// The seconds for which the tokens are good, which must suffice to send all of them. The store's limit is an hour.
    private static let life: Int64 = 3_000

    /// The header and the claims of a token.
    private func signedPart(at date: Int64) -> String {
        let header = #"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#
        let claims = """
            {"bid":"\(SampleReceipts.bundleID)","iss":"\(issuerID)","aud":"appstoreconnect-v1",\
            "exp":\(date + Self.life),"iat":\(date)}
            """
        return Self.base64URL(Data(header.utf8)) + "." + Self.base64URL(Data(claims.utf8))
    }

    private static func base64URL(_ bytes: Data) -> String {
        let text = bytes.base64EncodedData().compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
