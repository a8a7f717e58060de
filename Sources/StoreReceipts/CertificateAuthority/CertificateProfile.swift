import Foundation
import SwiftASN1
import X509

/// The contents of a certificate of the authority by its position in the chain, as measured on Apple's certificates.
struct CertificateProfile: Sendable {
    enum Role: Sendable {
        case root
        /// Path length 0, marker 6.2.1.
        case intermediate
        /// Marker 6.11.1, digital signatures only.
        case leaf
    }

    let commonName: String
    let role: Role

    var name: DistinguishedName {
        get throws {
            try DistinguishedName {
                CountryName("US")
                OrganizationName("Cornerstore TEST")
                OrganizationalUnitName("Cornerstore TEST, not Apple")
                CommonName(commonName)
            }
        }
    }

    /// Issues the certificate; `issuer` is nil for a root.
    func issue(key: AuthorityKey, issuer: AuthorityIdentity?) throws -> AuthorityIdentity {
        let publicKey = key.certificateKey.publicKey
        let identifier = SubjectKeyIdentifier(hash: publicKey)
        let issuerKey = issuer?.key ?? key
        let authority = SubjectKeyIdentifier(hash: issuerKey.certificateKey.publicKey)
        let extensions = try Certificate.Extensions {
            switch role {
            case .root: Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            case .intermediate: Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            case .leaf: Critical(BasicConstraints.notCertificateAuthority)
            }
            AuthorityKeyIdentifier(keyIdentifier: authority.keyIdentifier)
            identifier
            switch role {
            case .root, .intermediate: Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            case .leaf: Critical(KeyUsage(digitalSignature: true))
            }
            if role == .intermediate { Self.marker(CertificateMarker.developerRelations) }
            if role == .leaf { Self.marker(CertificateMarker.receiptSigning) }
        }
        let subject = try name
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: publicKey,
            notValidBefore: CertificateAuthority.validity.lowerBound,
            notValidAfter: CertificateAuthority.validity.upperBound,
            issuer: issuer?.certificate.subject ?? subject, subject: subject,
            signatureAlgorithm: issuerKey.signatureAlgorithm,
            extensions: extensions, issuerPrivateKey: issuerKey.certificateKey
        )
        return try AuthorityIdentity(key: key, certificate: certificate)
    }

    /// The value of a marker is NULL.
    private static func marker(_ identifier: ASN1ObjectIdentifier) -> Certificate.Extension {
        Certificate.Extension(oid: identifier, critical: false, value: [BERTag.null, 0])
    }
}
