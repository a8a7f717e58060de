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
        /// Signs answers about its issuer's certificates (RFC 6960, section 4.2.2.2), and needs no check itself.
        case ocspResponder
    }

    let commonName: String
    let role: Role
    /// Whether the certificate names Apple's certificate policy.
    var hasPolicy = false

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

    /// Issues the certificate.
    /// - Parameters:
    ///   - issuer: nil for a root.
    ///   - ocspURL: the address of the OCSP responder; nil for a certificate that is not checked online.
    func issue(
        key: AuthorityKey, issuer: AuthorityIdentity?, ocspURL: String? = nil
    ) throws -> AuthorityIdentity {
        let publicKey = key.certificateKey.publicKey
        let identifier = SubjectKeyIdentifier(hash: publicKey)
        let issuerKey = issuer?.key ?? key
        let authority = SubjectKeyIdentifier(hash: issuerKey.certificateKey.publicKey)
        let access = ocspURL.map { url in
            AuthorityInformationAccess([
                AuthorityInformationAccess.AccessDescription(
                    method: .ocspServer, location: .uniformResourceIdentifier(url))
            ])
        }
        let ocspSigning = try ExtendedKeyUsage([ExtendedKeyUsage.Usage.ocspSigning])
        let extensions = try Certificate.Extensions {
            switch role {
            case .root: Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            case .intermediate: Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            case .leaf, .ocspResponder: Critical(BasicConstraints.notCertificateAuthority)
            }
            AuthorityKeyIdentifier(keyIdentifier: authority.keyIdentifier)
            if let access { access }
            if hasPolicy { Self.policy }
            identifier
            switch role {
            case .root, .intermediate: Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            case .leaf, .ocspResponder: Critical(KeyUsage(digitalSignature: true))
            }
            if role == .intermediate { Self.marker(CertificateMarker.developerRelations) }
            if role == .leaf { Self.marker(CertificateMarker.receiptSigning) }
            if role == .ocspResponder {
                ocspSigning
                Self.marker(Self.noCheck)
            }
        }
        let subject = try name
        let certificate = try Certificate(
            version: .v3, serialNumber: issuer?.key.serialNumbers?.next() ?? Certificate.SerialNumber(),
            publicKey: publicKey,
            notValidBefore: CertificateAuthority.validity.lowerBound,
            notValidAfter: CertificateAuthority.validity.upperBound,
            issuer: issuer?.certificate.subject ?? subject, subject: subject,
            signatureAlgorithm: issuerKey.signatureAlgorithm,
            extensions: extensions, issuerPrivateKey: issuerKey.certificateKey
        )
        return try AuthorityIdentity(key: key, certificate: certificate)
    }

    /// id-pkix-ocsp-nocheck (RFC 6960, section 4.2.2.2.1).
    private static let noCheck: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 5]

    /// certificatePolicies (RFC 5280, section 4.2.1.4) with Apple's policy 1.2.840.113635.100.5.6.1, without Apple's
    /// texts.
    private static var policy: Certificate.Extension {
        let identifier = DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.appleCertificatePolicy)
        let policies = DERWriter.element(BERTag.sequence, DERWriter.element(BERTag.sequence, identifier))
        return Certificate.Extension(oid: [2, 5, 29, 32], critical: false, value: policies[...])
    }

    /// The value of a marker is NULL.
    private static func marker(_ identifier: ASN1ObjectIdentifier) -> Certificate.Extension {
        Certificate.Extension(oid: identifier, critical: false, value: [BERTag.null, 0])
    }
}

extension Certificate {
    /// The address of the OCSP responder that the certificate names; nil if it names none.
    var ocspURL: String? {
        guard let access = try? extensions.authorityInformationAccess else { return nil }
        for description in access where description.method == .ocspServer {
            if case .uniformResourceIdentifier(let url) = description.location { return url }
        }
        return nil
    }
}
