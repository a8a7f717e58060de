import Foundation
import X509

/// A verified chain.
struct VerifiedChain: Sendable {
    /// When all certificates of the chain are valid.
    var validity: ClosedRange<Date>
    var rootFingerprint: [UInt8]
}

/// Builds and verifies chains from a leaf to the caller's roots: first signatures and policy, then dates, then markers.
struct CertificateChains: Sendable {
    /// The kind of data that the leaf of a chain signs.
    enum Purpose: Sendable, Equatable {
        /// App receipts: marker 6.11.1, under an intermediate with 6.2.1.
        case appReceipt
        /// Transaction receipts: the same, or marker 6.5.1 (version 2).
        case transactionReceipt
        /// JWS: the markers of app receipts, and no certificate signed with SHA-1.
        case signedPayload
    }

    let anchors: TrustAnchors

    /// Verifies the chain of `leaf` at `date`. `embedded` are the other certificates of the message. Each of them must
    /// be part of the chain or stand for its root (``Certificate/isEquivalent(toRoot:)``).
    func verify(
        leaf: [UInt8], embedded: [[UInt8]], purpose: Purpose, at date: Date
    ) async throws(ReceiptRejection) -> VerifiedChain {
        let leafCertificate = try Self.certificate(leaf)
        var others: [Certificate] = []
        for der in embedded {
            let certificate = try Self.certificate(der)
            // Embedded certificates may form only one path. Otherwise a stranger could make the search take factorial
            // time.
            guard certificate.subject != leafCertificate.subject,
                !others.contains(where: { $0.subject == certificate.subject })
            else {
                throw ReceiptRejection(.wrongChain, "two of the receipt's certificates have the same subject")
            }
            others.append(certificate)
        }
        let intermediates = CertificateStore(others + anchors.intermediates(at: date).map(\.certificate))
        var verifier = Verifier(rootCertificates: anchors.rootStore) {
            ChainPolicy(allowsSHA1: purpose != .signedPayload)
        }
        switch await verifier.validate(leaf: leafCertificate, intermediates: intermediates) {
        case .couldNotValidate(let failures):
            guard failures.isEmpty else { throw Self.brokenRule }
            throw diagnose(leafCertificate, others)
        case .validCertificate(let chain):
            let outside = others.filter { !chain.contains($0) }
            if let root = chain.last, let stray = outside.first(where: { !$0.isEquivalent(toRoot: root) }) {
                throw ReceiptRejection(
                    .wrongChain,
                    stray.subject == root.subject
                        ? "the receipt's root has the name of a given root, but another key or issuer"
                        : "the receipt contains a certificate that is not part of the chain")
            }
            return try judge(Array(chain), standIns: outside, purpose: purpose, at: date)
        }
    }

    /// Verifies the chain, at `date`, of a transaction receipt's leaf whose RSA key is shorter than 2048 bits. Its
    /// issuer must be one of the given certificates.
    func verify(shortKeyLeaf der: [UInt8], at date: Date) async throws(ReceiptRejection) -> VerifiedChain {
        let leaf = try ShortKeyLeaf(der)
        let intermediates = anchors.intermediates(at: date)
        let issuers = (intermediates + anchors.roots).filter { $0.subject == leaf.issuer }
        var rejection = Self.unknownRoot
        for issuer in issuers {
            guard let certificate = try leaf.certificate(issuedBy: issuer) else {
                rejection = Self.foreignSignature
                continue
            }
            var verifier = Verifier(rootCertificates: anchors.rootStore) {
                ChainPolicy(allowsSHA1: true, shortKeyLeaf: certificate)
            }
            let store = CertificateStore(intermediates.map(\.certificate))
            switch await verifier.validate(leaf: issuer.certificate, intermediates: store) {
            case .couldNotValidate(let failures):
                rejection = failures.isEmpty ? diagnose(issuer.certificate, []) : Self.brokenRule
            case .validCertificate(let chain):
                return try judge([certificate] + chain, standIns: [], purpose: .transactionReceipt, at: date)
            }
        }
        throw rejection
    }

    /// - Parameter standIns: the certificates that stand for the chain's root.
    private func judge(
        _ chain: [Certificate], standIns: [Certificate], purpose: Purpose, at date: Date
    ) throws(ReceiptRejection) -> VerifiedChain {
        guard let leaf = chain.first, let last = chain.last, let anchor = anchors.root(last) else {
            throw Self.unknownRoot
        }
        // Several roots may have this name and key; take the one that was valid then.
        let same = [last] + anchors.roots.map(\.certificate).filter { $0.isEquivalent(toRoot: last) } + standIns
        let root = same.first { $0.isValid(at: date) } ?? last
        let dated = chain.dropLast() + [root]
        let start = dated.map(\.notValidBefore).max() ?? leaf.notValidBefore
        let end = dated.map(\.notValidAfter).min() ?? leaf.notValidAfter
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
        return VerifiedChain(validity: start...end, rootFingerprint: anchor.fingerprint)
    }

    /// Distinguishes a valid chain with an unknown root from certificates that do not issue one another.
    private func diagnose(_ leaf: Certificate, _ embedded: [Certificate]) -> ReceiptRejection {
        let known = (anchors.roots + anchors.intermediates).map(\.certificate) + embedded
        var tip = leaf
        // A chain has no more certificates than were given.
        for _ in 0...known.count {
            if anchors.root(tip) != nil {
                return ReceiptRejection(
                    .wrongChain, "a certificate of the chain has a critical extension that is not understood")
            }
            let candidates = known.filter { $0.subject == tip.issuer && $0 != tip }
            if tip.issuer == tip.subject || candidates.isEmpty { break }
            guard let issuer = candidates.first(where: { $0.publicKey.isValidSignature(tip.signature, for: tip) })
            else { return Self.foreignSignature }
            tip = issuer
        }
        return Self.unknownRoot
    }

    private static let unknownRoot = ReceiptRejection(
        .unknownIssuer, "the chain does not end in one of the given roots")
    private static let foreignSignature = ReceiptRejection(
        .wrongChain, "a certificate was not signed by its issuer")
    private static let brokenRule = ReceiptRejection(
        .wrongChain, "the chain reaches a trusted root, but a certificate is not allowed in its position")

    private static func certificate(_ der: [UInt8]) throws(ReceiptRejection) -> Certificate {
        do {
            return try Certificate(derEncoded: der)
        } catch {
            throw ReceiptRejection(.malformed, "one of the receipt's certificates cannot be read")
        }
    }
}
