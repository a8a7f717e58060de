import Foundation
import X509

/// A chain that was found good.
struct VerifiedChain: Sendable {
    /// When all its certificates are valid at once.
    var validity: ClosedRange<Date>
    var rootFingerprint: [UInt8]
}

/// Builds and judges chains from a leaf to the caller's roots: signatures and policy, then dates, then markers.
struct CertificateChains: Sendable {
    /// Which leaf a chain must end in.
    enum Purpose: Sendable, Equatable {
        /// Marker 6.11.1, under an intermediate with 6.2.1.
        case appReceipt
        /// The same, or marker 6.5.1 (version 2).
        case transactionReceipt
    }

    let anchors: TrustAnchors

    /// Judges `leaf` at `date`. `embedded` are the other certificates that came along; each must be part of the chain.
    func verify(
        leaf: [UInt8], embedded: [[UInt8]], purpose: Purpose, at date: Date
    ) async throws(ReceiptRejection) -> VerifiedChain {
        let leafCertificate = try Self.certificate(leaf)
        var others: [Certificate] = []
        for der in embedded {
            let certificate = try Self.certificate(der)
            // One path at most through what a stranger sent: otherwise the search could be made to take factorial time.
            guard certificate.subject != leafCertificate.subject,
                !others.contains(where: { $0.subject == certificate.subject })
            else {
                throw ReceiptRejection(.wrongChain, "two of the receipt's certificates have the same subject")
            }
            others.append(certificate)
        }
        // Of several with one name and key, as Apple has had, the first that leads to a root is taken: one that was valid then.
        let known = anchors.intermediates.map(\.certificate)
        let isValid = { (certificate: Certificate) in
            (certificate.notValidBefore...max(certificate.notValidBefore, certificate.notValidAfter)).contains(date)
        }
        let intermediates = CertificateStore(
            others + known.filter(isValid) + known.filter { !isValid($0) })
        var verifier = Verifier(rootCertificates: anchors.rootStore) { ChainPolicy() }
        switch await verifier.validate(leaf: leafCertificate, intermediates: intermediates) {
        case .couldNotValidate(let failures):
            guard failures.isEmpty else {
                throw ReceiptRejection(
                    .wrongChain, "the chain reaches a trusted root, but a certificate may not do what it does there")
            }
            throw diagnose(leafCertificate, others)
        case .validCertificate(let chain):
            for certificate in others where !chain.contains(certificate) {
                throw ReceiptRejection(.wrongChain, "a certificate that is not part of the chain came along")
            }
            return try judge(Array(chain), purpose: purpose, at: date)
        }
    }

    private func judge(
        _ chain: [Certificate], purpose: Purpose, at date: Date
    ) throws(ReceiptRejection) -> VerifiedChain {
        guard let leaf = chain.first, let last = chain.last, let root = anchors.root(last) else {
            throw ReceiptRejection(.unknownIssuer, "the chain ends in none of the given roots")
        }
        let start = chain.map(\.notValidBefore).max() ?? leaf.notValidBefore
        let end = chain.map(\.notValidAfter).min() ?? leaf.notValidAfter
        guard start <= end, (start...end).contains(date) else {
            throw ReceiptRejection(.expired, "a certificate of the chain was not valid at the receipt's date")
        }
        let isVersion2Leaf = purpose == .transactionReceipt && leaf.hasMarker(CertificateMarker.purchaseReceipt)
        if !isVersion2Leaf {
            guard leaf.hasMarker(CertificateMarker.receiptSigning) else {
                throw ReceiptRejection(
                    .missingMarker, "the leaf has no marker of a receipt signer (1.2.840.113635.100.6.11.1)")
            }
            guard chain.count >= 3, chain[1].hasMarker(CertificateMarker.developerRelations) else {
                throw ReceiptRejection(.missingMarker, "the leaf's issuer has no marker 1.2.840.113635.100.6.2.1")
            }
        }
        return VerifiedChain(validity: start...end, rootFingerprint: root.fingerprint)
    }

    /// Tells a chain that is sound but ends elsewhere from certificates that do not issue one another.
    private func diagnose(_ leaf: Certificate, _ embedded: [Certificate]) -> ReceiptRejection {
        let known = embedded + (anchors.intermediates + anchors.roots).map(\.certificate)
        var tip = leaf
        // A chain is no longer than what it can be made of.
        for _ in 0...known.count {
            if anchors.root(tip) != nil {
                return ReceiptRejection(
                    .wrongChain, "a certificate of the chain has a critical extension that is not understood")
            }
            let candidates = known.filter { $0.subject == tip.issuer && $0 != tip }
            if tip.issuer == tip.subject || candidates.isEmpty { break }
            guard let issuer = candidates.first(where: { $0.publicKey.isValidSignature(tip.signature, for: tip) })
            else {
                return ReceiptRejection(
                    .wrongChain, "a certificate was not signed by the one that should have issued it")
            }
            tip = issuer
        }
        return ReceiptRejection(.unknownIssuer, "the chain ends in none of the given roots")
    }

    private static func certificate(_ der: [UInt8]) throws(ReceiptRejection) -> Certificate {
        do {
            return try Certificate(derEncoded: der)
        } catch {
            throw ReceiptRejection(.malformed, "one of the receipt's certificates cannot be read")
        }
    }
}
