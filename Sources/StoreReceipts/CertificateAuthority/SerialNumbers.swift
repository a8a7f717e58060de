import Crypto
import Foundation
import X509

/// Makes the serial numbers of an issuer's certificates, and recognizes them without a list.
///
/// One half of a number is random. The other half authenticates it with a key that is derived from the issuer's, so
/// that an OCSP responder knows every certificate that the issuer ever issued, replaced ones included.
struct SerialNumbers: Sendable {
    /// The octets of each half. Together they are the most that RFC 5280 allows (section 4.1.2.2).
    private static let half = 10

    private let key: SymmetricKey

    init(issuer: P384.Signing.PrivateKey) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: issuer.rawRepresentation),
            info: Array("Cornerstore serial numbers".utf8), outputByteCount: 32)
    }

    /// A new number.
    func next() -> Certificate.SerialNumber {
        var random = (0..<Self.half).map { _ in UInt8.random(in: 0...255) }
        // The number is positive, and its first octet is not zero.
        random[0] = random[0] & 0x3f | 0x40
        return Certificate.SerialNumber(bytes: random + code(random))
    }

    /// Whether the content of an INTEGER is a number that ``next()`` has returned.
    func contains(_ number: [UInt8]) -> Bool {
        number.count == 2 * Self.half && code(Array(number.prefix(Self.half))) == Array(number.suffix(Self.half))
    }

    private func code(_ random: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: random, using: key).prefix(Self.half))
    }
}

extension AuthorityKey {
    /// The serial numbers of the certificates that this key issues; nil for a key whose certificates are not checked
    /// online.
    var serialNumbers: SerialNumbers? {
        switch self {
        case .p384(let key): SerialNumbers(issuer: key)
        case .rsa, .p256: nil
        }
    }
}
