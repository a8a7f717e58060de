import Crypto
import CryptoExtras
import Foundation
import Synchronization

/// Decides whether a receipt is genuine. The verifier checks the structure, the signature, the chain to one of the
/// caller's roots at the receipt's own date, the markers of the certificates, and the expected contents, in this order.
/// The first failure is the result.
///
/// The same code verifies Apple's receipts under Apple's roots and Cornerstore's under Cornerstore's root. Nothing
/// skips a step. The verifier remembers verified chains by their exact octets, so that the next receipt of the same
/// signer costs one RSA check and one hash.
public final class ReceiptVerifier: Sendable {
    let chains: CertificateChains
    private let limits: ReceiptLimits
    private let appChains = Mutex(KnownChains())
    private let transactionChains = Mutex(KnownChains())
    let payloadSigners = Mutex(KnownSigners())

    /// Creates a verifier that trusts these certificates, in DER. A root is trusted by its name and key: a payload may
    /// carry another self-signed certificate with the same name and key in its place. Intermediates are needed only for
    /// receipts that do not carry their own (transaction receipts).
    /// - Throws: ``ReceiptRejection`` with `malformed` for bytes that are not a certificate.
    public init(
        roots: [[UInt8]], intermediates: [[UInt8]] = [], limits: ReceiptLimits = .standard
    ) throws(ReceiptRejection) {
        chains = CertificateChains(anchors: try TrustAnchors(roots: roots, intermediates: intermediates))
        self.limits = limits
    }

    /// Verifies an app receipt (binary, not Base64).
    public func verify(_ bytes: [UInt8], expecting expectation: ReceiptExpectation) async -> ReceiptVerification {
        do throws(ReceiptRejection) {
            switch try checkSignature(bytes) {
            case .known(let receipt, let chain):
                return answer(receipt, chain, expectation)
            case .unknown(let pending):
                return answer(pending.receipt, try await verifyChain(pending, expectation), expectation)
            }
        } catch {
            return .rejected(error)
        }
    }

    /// Verifies an app receipt without suspending, if its chain was verified before and was valid at its date, or if it
    /// is refused before its chain matters. Returns nil otherwise: call ``verify(_:expecting:)``.
    public func verifyIfChainIsKnown(_ bytes: [UInt8], expecting expectation: ReceiptExpectation)
        -> ReceiptVerification?
    {
        do throws(ReceiptRejection) {
            guard case .known(let receipt, let chain) = try checkSignature(bytes) else { return nil }
            return answer(receipt, chain, expectation)
        } catch {
            return .rejected(error)
        }
    }

    private func answer(
        _ receipt: AppReceipt, _ chain: VerifiedChain, _ expectation: ReceiptExpectation
    ) -> ReceiptVerification {
        if let rejection = expectation.rejection(of: receipt) { return .rejected(rejection) }
        return .verified(VerifiedReceipt(receipt: receipt, rootFingerprint: chain.rootFingerprint))
    }

    /// A receipt whose leaf made the signature; the leaf itself is not verified yet.
    private struct PendingReceipt {
        var receipt: AppReceipt
        var certificates: [UInt8]
        var issuer: [UInt8]
        var serialNumber: [UInt8]
        var leaf: [UInt8]
        var embedded: [[UInt8]]
        var publicKey: _RSA.Signing.PublicKey
    }

    private enum SignedReceiptState {
        case known(AppReceipt, VerifiedChain)
        case unknown(PendingReceipt)
    }

    private func checkSignature(_ bytes: [UInt8]) throws(ReceiptRejection) -> SignedReceiptState {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> SignedReceiptState in
            let raw = UnsafeRawBufferPointer(buffer)
            try limits.check(raw)
            let signedData = try SignedData(raw)
            let receipt = try signedData.withPayload(raw) { (payload) throws(ReceiptRejection) -> AppReceipt in
                var reader = PayloadReader(limits: limits)
                return try reader.receipt(payload)
            }
            let known = appChains.withLock {
                $0.find(
                    raw, certificates: signedData.certificates, issuer: signedData.issuer,
                    serialNumber: signedData.serialNumber
                )
            }
            if let known {
                try requireSignature(signedData, known.publicKey, raw)
                if known.chain.validity.contains(receipt.creationDate) { return .known(receipt, known.chain) }
            }
            return .unknown(try pending(receipt, signedData, raw))
        }
    }

    private func pending(
        _ receipt: AppReceipt, _ signedData: SignedData, _ raw: UnsafeRawBufferPointer
    ) throws(ReceiptRejection) -> PendingReceipt {
        var embedded: [[UInt8]] = []
        var leaf: (range: Range<Int>, fields: CertificateFields)?
        let issuer = Array(raw[signedData.issuer])
        let serialNumber = Array(raw[signedData.serialNumber])
        for range in signedData.certificateElements {
            let fields = try CertificateFields(raw, range)
            if leaf == nil, raw.matches(fields.issuer, issuer), raw.matches(fields.serialNumber, serialNumber) {
                leaf = (range, fields)
            } else {
                embedded.append(Array(raw[range]))
            }
        }
        guard let leaf else { throw ReceiptRejection(.wrongChain, "the signer's certificate is not in the receipt") }
        let publicKey = try leaf.fields.publicKey(raw, minimumBits: CertificateFields.usualKeySize)
        try requireSignature(signedData, publicKey, raw)
        return PendingReceipt(
            receipt: receipt, certificates: Array(raw[signedData.certificates]), issuer: issuer,
            serialNumber: serialNumber,
            leaf: Array(raw[leaf.range]), embedded: embedded, publicKey: publicKey
        )
    }

    private func requireSignature(
        _ signedData: SignedData, _ key: _RSA.Signing.PublicKey, _ raw: UnsafeRawBufferPointer
    ) throws(ReceiptRejection) {
        guard try signedData.isSigned(by: key, raw) else {
            throw ReceiptRejection(.badSignature, "the signature does not match the payload")
        }
    }

    private func verifyChain(
        _ pending: PendingReceipt, _ expectation: ReceiptExpectation
    ) async throws(ReceiptRejection) -> VerifiedChain {
        if let root = chains.anchors.root(der: pending.leaf) {
            return try verifyXcode(pending, root, expectation)
        }
        let chain = try await chains.verify(
            leaf: pending.leaf, embedded: pending.embedded, purpose: .appReceipt, at: pending.receipt.creationDate
        )
        let known = KnownChain(
            certificates: pending.certificates, issuer: pending.issuer, serialNumber: pending.serialNumber,
            publicKey: pending.publicKey, chain: chain
        )
        appChains.withLock { $0.insert(known) }
        return chain
    }

    /// Xcode signs with one self-signed certificate. Its chain is never remembered, because callers that do not allow
    /// Xcode must not meet it.
    private func verifyXcode(
        _ pending: PendingReceipt, _ root: TrustAnchors.Anchor, _ expectation: ReceiptExpectation
    ) throws(ReceiptRejection) -> VerifiedChain {
        guard expectation.allowsXcode, pending.embedded.isEmpty, pending.receipt.receiptType == "Xcode" else {
            throw ReceiptRejection(
                .unknownIssuer, "a root signed the receipt itself, which only Xcode may do, if the caller allows it")
        }
        let validity = try root.checkValidity(at: pending.receipt.creationDate)
        return VerifiedChain(validity: validity, rootFingerprint: root.fingerprint)
    }
}

extension ReceiptVerifier {
    /// Verifies the signature inside an iOS 6 transaction receipt: first RSA PKCS#1 v1.5 over SHA-1 of `signed`, then
    /// the chain from `leaf` (DER) through the verifier's intermediates to a root, valid at `date`, then the leaf's
    /// marker (6.5.1 in version 2, 6.11.1 in version 3).
    ///
    /// A success returns the root's SHA-256 fingerprint. A failure is `malformed`, `unsupportedAlgorithm`,
    /// `badSignature`, `unknownIssuer`, `wrongChain`, `expired` or `missingMarker`. Only here may the leaf's RSA key
    /// have less than 2048 bits: Apple's had 1024 bits in version 2. Shorter keys are `unsupportedAlgorithm`. The
    /// receipt carries only its leaf, so the issuer must be among the intermediates; for version 2 it is Apple iTunes
    /// Store Certification Authority.
    public func verifyTransactionSignature(
        signed: [UInt8], signature: [UInt8], leaf: [UInt8], at date: Date
    ) async -> Result<[UInt8], ReceiptRejection> {
        do throws(ReceiptRejection) {
            return .success(try await transactionRoot(signed: signed, signature: signature, leaf: leaf, at: date))
        } catch {
            return .failure(error)
        }
    }

    private func transactionRoot(
        signed: [UInt8], signature: [UInt8], leaf: [UInt8], at date: Date
    ) async throws(ReceiptRejection) -> [UInt8] {
        guard leaf.count <= 16_384 else { throw ReceiptRejection(.tooLarge, "the certificate has \(leaf.count) bytes") }
        let signer = try TransactionSigner(leaf: leaf)
        let known = leaf.withUnsafeBytes { raw in
            transactionChains.withLock { $0.find(raw, certificates: 0..<raw.count, issuer: 0..<0, serialNumber: 0..<0) }
        }
        let value = _RSA.Signing.RSASignature(rawRepresentation: signature)
        guard
            signer.publicKey.isValidSignature(value, for: Insecure.SHA1.hash(data: signed), padding: .insecurePKCS1v1_5)
        else { throw ReceiptRejection(.badSignature, "the signature does not match the purchase info") }
        if let known, known.chain.validity.contains(date) { return known.chain.rootFingerprint }
        let anchors = chains.anchors
        guard (anchors.roots + anchors.intermediates).contains(where: { $0.subject == signer.issuer }) else {
            throw ReceiptRejection(.unknownIssuer, "the leaf's issuer is not among the given roots and intermediates")
        }
        let chain: VerifiedChain
        if signer.publicKey.keySizeInBits < CertificateFields.usualKeySize {
            chain = try await chains.verify(shortKeyLeaf: leaf, at: date)
        } else {
            chain = try await chains.verify(leaf: leaf, embedded: [], purpose: .transactionReceipt, at: date)
        }
        let entry = KnownChain(
            certificates: leaf, issuer: [], serialNumber: [], publicKey: signer.publicKey, chain: chain)
        transactionChains.withLock { $0.insert(entry) }
        return chain.rootFingerprint
    }
}

/// The key and the issuer of a transaction receipt's leaf.
private struct TransactionSigner {
    let publicKey: _RSA.Signing.PublicKey
    let issuer: [UInt8]

    init(leaf: [UInt8]) throws(ReceiptRejection) {
        (publicKey, issuer) = try leaf.withUnsafeBufferPointer {
            (buffer) throws(ReceiptRejection) -> (_RSA.Signing.PublicKey, [UInt8]) in
            let raw = UnsafeRawBufferPointer(buffer)
            var whole = BERCursor(raw)
            _ = try whole.next(BERTag.sequence, "a certificate")
            guard whole.isAtEnd else { throw ReceiptRejection(.trailingData, "bytes follow the certificate") }
            let fields = try CertificateFields(raw, 0..<raw.count)
            let key = try fields.publicKey(raw, minimumBits: CertificateFields.shortestTransactionKey)
            return (key, Array(raw[fields.issuer]))
        }
    }
}
