import SwiftASN1
import X509

/// Apple's marker extensions, which state the purpose of a certificate (Apple PKI certification practice statements;
/// measured).
enum CertificateMarker {
    /// The certificate signs app receipts, transaction receipts of version 3 and, in the JWS hierarchy, transactions.
    static let receiptSigning: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    /// The certificate is Apple Worldwide Developer Relations.
    static let developerRelations: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]
    /// The certificate signs transaction receipts of version 2.
    static let purchaseReceipt: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 5, 1]
}

extension Certificate {
    func hasMarker(_ marker: ASN1ObjectIdentifier) -> Bool {
        extensions[oid: marker] != nil
    }
}
