import CornerstoreEncoding
import Crypto

/// A key and its chain, which sign transactions and notifications as JWS with ES256.
public struct JWSIdentity: Sendable {
    /// The leaf's key.
    public let privateKey: P256.Signing.PrivateKey
    /// The leaf, the intermediate and the root in DER, in the order of `x5c`.
    public let certificates: [[UInt8]]
    /// The protected header in base64url with the full stop after it, the same for every payload: `alg` and `x5c`, as
    /// Apple's server writes it.
    private let header: [UInt8]
    /// The state of the hash after the header, which is longer than most payloads.
    private let hash: SHA256

    init(privateKey: P256.Signing.PrivateKey, certificates: [[UInt8]]) {
        self.privateKey = privateKey
        self.certificates = certificates
        let x5c = certificates.map { "\"\(Base64.encoded($0))\"" }.joined(separator: ",")
        header = Array("\(Base64URL.encoded("{\"alg\":\"ES256\",\"x5c\":[\(x5c)]}".utf8)).".utf8)
        var hash = SHA256()
        hash.update(data: header)
        self.hash = hash
    }

    /// Signs a JSON payload and returns the JWS in compact form.
    /// - Throws: `signing` if the key fails.
    public func sign(_ payload: [UInt8]) throws(ReceiptAuthorityError) -> String {
        String(decoding: try jws(of: payload), as: UTF8.self)
    }

    /// Signs a JSON payload and returns the characters of the JWS in compact form, which are ASCII and need no escapes.
    /// - Throws: `signing` if the key fails.
    public func jws(of payload: [UInt8]) throws(ReceiptAuthorityError) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(header.count + payload.count / 3 * 4 + 92)
        text += header
        Base64URL.append(payload, to: &text)
        var hash = hash
        hash.update(data: text[header.count...])
        do {
            let signature = try privateKey.signature(for: hash.finalize())
            text.append(UInt8(ascii: "."))
            Base64URL.append(Array(signature.rawRepresentation), to: &text)
            return text
        } catch {
            throw ReceiptAuthorityError(.signing, "the JWS key could not sign: \(error)")
        }
    }
}
