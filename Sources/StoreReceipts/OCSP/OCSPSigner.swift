import Crypto
import Foundation
import X509

/// Answers for the certificates of one issuer, with a key that the issuer has authorized (RFC 6960, section 4.2.2.2).
///
/// Apple's responders are authorized in the same way, and Apple's library for Node accepts no other: it refuses answers
/// that the issuer signed itself. The key is made at the start and never stored.
struct OCSPSigner: Sendable {
    /// How long an answer is good, in seconds.
    static let validity: TimeInterval = 24 * 3_600
    /// How long before the moment of the answer its validity begins, in seconds, for clients whose clocks are slow.
    /// Apple's library for Node subtracts a minute from its own clock.
    static let backdating: TimeInterval = 3_600

    private struct IssuerHashes: Sendable {
        var name: [UInt8]
        var key: [UInt8]
    }

    private let key: P256.Signing.PrivateKey
    /// ResponderID: the hash of the key.
    private let responderID: [UInt8]
    /// The element of the answer that has the key's certificate.
    private let certificates: [UInt8]
    /// The hashes by which requests name the issuer.
    private let issuer: [OCSPCertificateID.Algorithm: IssuerHashes]
    private let serialNumbers: SerialNumbers

    /// Makes a key, and its certificate with the issuer's key.
    /// - Throws: `signing` if the certificate cannot be made.
    init(issuer: AuthorityIdentity) throws(ReceiptAuthorityError) {
        guard let serialNumbers = issuer.key.serialNumbers else {
            throw ReceiptAuthorityError(.signing, "certificates of this issuer cannot be checked online")
        }
        self.serialNumbers = serialNumbers
        key = P256.Signing.PrivateKey()
        do {
            let identity = try CertificateProfile(commonName: "Cornerstore TEST OCSP Responder", role: .ocspResponder)
                .issue(key: .p256(key), issuer: issuer)
            certificates = DERWriter.element(BERTag.context0, DERWriter.element(BERTag.sequence, identity.der))
            let keyHash = Insecure.SHA1.hash(data: identity.certificate.publicKey.subjectPublicKeyInfoBytes)
            responderID = DERWriter.element(
                BERTag.context2, DERWriter.element(BERTag.octetString, Array(keyHash)))
            let name = try issuer.der.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> [UInt8] in
                let raw = UnsafeRawBufferPointer(buffer)
                return raw.octets(try CertificateFields(raw, 0..<raw.count).subject)
            }
            let publicKey = Array(issuer.certificate.publicKey.subjectPublicKeyInfoBytes)
            self.issuer = [
                .sha1: IssuerHashes(
                    name: Array(Insecure.SHA1.hash(data: name)), key: Array(Insecure.SHA1.hash(data: publicKey))),
                .sha256: IssuerHashes(
                    name: Array(SHA256.hash(data: name)), key: Array(SHA256.hash(data: publicKey))),
            ]
        } catch {
            throw ReceiptAuthorityError(.signing, "the certificate of the OCSP responder could not be made: \(error)")
        }
    }

    /// Whether the identifier names this issuer.
    func isIssuer(of certificate: OCSPCertificateID) -> Bool {
        guard let hashes = issuer[certificate.algorithm] else { return false }
        return certificate.issuerNameHash == hashes.name && certificate.issuerKeyHash == hashes.key
    }

    /// Whether the issuer has issued a certificate with this serial number.
    func hasIssued(_ certificate: OCSPCertificateID) -> Bool { serialNumbers.contains(certificate.serialNumber) }

    /// The answer to a request about this issuer's certificates: `good` for each that it has issued, else `unknown`.
    /// - Returns: nil if the key cannot sign, or the date is outside the years 1 to 9999.
    func response(to request: OCSPRequest, at date: Date) -> [UInt8]? {
        guard let producedAt = Self.time(date), let thisUpdate = Self.time(date - Self.backdating),
            let nextUpdate = Self.time(date + Self.validity)
        else { return nil }
        let singles = request.certificates.map { certificate in
            Self.sequence(
                certificate.der, hasIssued(certificate) ? Self.good : Self.unknown, thisUpdate,
                DERWriter.element(BERTag.context0, nextUpdate))
        }
        let data = Self.sequence(
            responderID, producedAt, Self.sequence(singles.flatMap { $0 }), request.nonce.map(Self.extensions) ?? [])
        guard let signature = try? key.signature(for: data) else { return nil }
        let bits = DERWriter.element(BERTag.bitString, [0] + Array(signature.derRepresentation))
        return OCSPResponse.successful(Self.sequence(data, Self.algorithm, bits, certificates))
    }

    private static let good: [UInt8] = [0x80, 0]
    private static let unknown: [UInt8] = [0x82, 0]
    private static let algorithm = sequence(
        DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.ecdsaWithSHA256))

    private static func extensions(nonce: [UInt8]) -> [UInt8] {
        let value = DERWriter.element(BERTag.octetString, DERWriter.element(BERTag.octetString, nonce))
        let identifier = DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.ocspNonce)
        return DERWriter.element(BERTag.context1, sequence(sequence(identifier, value)))
    }

    /// A GeneralizedTime, `20240223172716Z`; nil outside the years 1 to 9999.
    private static func time(_ date: Date) -> [UInt8]? {
        let separators = Array("-T:".utf8)
        return RFC3339.format(date).map { text in
            DERWriter.element(BERTag.generalizedTime, text.filter { !separators.contains($0) })
        }
    }

    private static func sequence(_ parts: [UInt8]...) -> [UInt8] {
        DERWriter.element(BERTag.sequence, parts.flatMap { $0 })
    }
}
