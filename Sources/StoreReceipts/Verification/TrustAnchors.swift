import Crypto
import Foundation
import SwiftASN1
import X509

/// The certificates that the caller trusts: roots, and intermediates that are known to be issued by them.
struct TrustAnchors: Sendable {
    struct Anchor: Sendable {
        let der: [UInt8]
        let certificate: Certificate
        /// The subject's encoding.
        let subject: [UInt8]
        /// The encoding of SubjectPublicKeyInfo.
        let publicKeyInfo: [UInt8]
        let fingerprint: [UInt8]

        /// Reads a certificate.
        /// - Throws: `malformed` for bytes that are not a certificate.
        init(der: [UInt8]) throws(ReceiptRejection) {
            self.der = der
            do {
                certificate = try Certificate(derEncoded: der)
            } catch {
                throw ReceiptRejection(
                    .malformed, "a root or intermediate given to the verifier is not a DER certificate")
            }
            (subject, publicKeyInfo) = try der.withUnsafeBufferPointer {
                (buffer) throws(ReceiptRejection) -> ([UInt8], [UInt8]) in
                let raw = UnsafeRawBufferPointer(buffer)
                let fields = try CertificateFields(raw, 0..<raw.count)
                return (Array(raw[fields.subject]), Array(raw[fields.publicKeyInfo]))
            }
            fingerprint = Array(SHA256.hash(data: der))
        }

        /// Returns the certificate's validity. Refuses a date of signing outside of it.
        @discardableResult
        func checkValidity(at date: Date) throws(ReceiptRejection) -> ClosedRange<Date> {
            let (start, end) = (certificate.notValidBefore, certificate.notValidAfter)
            guard start <= end, (start...end).contains(date) else {
                throw ReceiptRejection(.expired, "the signer's certificate was not valid at the date of signing")
            }
            return start...end
        }
    }

    let roots: [Anchor]
    let intermediates: [Anchor]
    let rootStore: CertificateStore

    init(roots: [[UInt8]], intermediates: [[UInt8]]) throws(ReceiptRejection) {
        var rootAnchors: [Anchor] = []
        for der in roots { rootAnchors.append(try Anchor(der: der)) }
        var intermediateAnchors: [Anchor] = []
        for der in intermediates { intermediateAnchors.append(try Anchor(der: der)) }
        self.roots = rootAnchors
        self.intermediates = intermediateAnchors
        rootStore = CertificateStore(rootAnchors.map(\.certificate))
    }

    /// The root that equals this certificate.
    func root(_ certificate: Certificate) -> Anchor? { roots.first { $0.certificate == certificate } }
    func root(der: [UInt8]) -> Anchor? { roots.first { $0.der == der } }

    /// The intermediates in the order in which they are tried at a date. Those that are valid then come first, since
    /// Apple has had several with one name and key.
    func intermediates(at date: Date) -> [Anchor] {
        intermediates.filter { $0.certificate.isValid(at: date) }
            + intermediates.filter { !$0.certificate.isValid(at: date) }
    }
}

extension Certificate {
    func isValid(at date: Date) -> Bool { notValidBefore <= date && date <= notValidAfter }

    /// Whether this certificate is equivalent to a root: it has the root's name and key and is signed with that key.
    ///
    /// A trust anchor is a name and a key (RFC 5280, section 6.1.1), and an authority that renews its root keeps both.
    /// A certificate with this name and key that another authority issued is not a root.
    func isEquivalent(toRoot root: Certificate) -> Bool {
        subject == root.subject && publicKey == root.publicKey && issuer == subject
            && publicKey.isValidSignature(signature, for: self)
    }
}
