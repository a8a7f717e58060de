import CornerstoreEncoding
import Crypto

/// A key and its chain, which sign transactions and notifications as JWS with ES256.
public struct JWSIdentity: Sendable {
    /// The leaf's key.
    public let privateKey: P256.Signing.PrivateKey
    /// The leaf, the intermediate and the root in DER, in the order of `x5c`.
    public let certificates: [[UInt8]]
    /// The protected header in base64url, the same for every payload: `alg` and `x5c`, as Apple's server writes it.
    private let header: String

    init(privateKey: P256.Signing.PrivateKey, certificates: [[UInt8]]) {
        self.privateKey = privateKey
        self.certificates = certificates
        let x5c = certificates.map { "\"\(Base64.encoded($0))\"" }.joined(separator: ",")
        header = Base64URL.encoded("{\"alg\":\"ES256\",\"x5c\":[\(x5c)]}".utf8)
    }

    /// Signs a JSON payload and returns the JWS in compact form.
    /// - Throws: `signing` if the key fails.
    public func sign(_ payload: [UInt8]) throws(ReceiptAuthorityError) -> String {
        let input = header + "." + Base64URL.encoded(payload)
        do {
            let signature = try privateKey.signature(for: SHA256.hash(data: Array(input.utf8)))
            return input + "." + Base64URL.encoded(signature.rawRepresentation)
        } catch {
            throw ReceiptAuthorityError(.signing, "the JWS key could not sign: \(error)")
        }
    }
}
