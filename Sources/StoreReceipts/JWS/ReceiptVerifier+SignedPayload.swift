import Crypto
import X509

extension ReceiptVerifier {
    /// Verifies a JWS: its structure, its signature, its chain to one of the verifier's roots at its own `signedDate`,
    /// the markers of leaf and intermediate, and the bundle id if one is expected. Versions and devices are not
    /// checked, because not every payload contains them.
    ///
    /// A failure is `malformed`, `tooLarge`, `unsupportedAlgorithm`, `badSignature`, `unknownIssuer`, `wrongChain`,
    /// `expired`, `missingMarker` or `wrongBundleID`. Payloads of Xcode need ``ReceiptExpectation/allowsXcode`` and
    /// their certificate among the roots.
    public func verifySignedPayload(
        _ text: [UInt8], expecting expectation: ReceiptExpectation
    ) async -> Result<VerifiedPayload, ReceiptRejection> {
        do throws(ReceiptRejection) {
            let (content, signer) = try parse(text)
            if let known = try checkKnown(content, signer) {
                return .success(try accept(content, known, expectation))
            }
            let key = try checkSignature(of: content)
            let chain = try await chain(of: content, key, expectation)
            return .success(try accept(content, chain, expectation))
        } catch {
            return .failure(error)
        }
    }

    /// Verifies a JWS without suspending, if its signer is known and its certificates were valid at its date, or if it
    /// is refused before they matter. Returns nil otherwise: call ``verifySignedPayload(_:expecting:)``.
    public func verifySignedPayloadIfSignerIsKnown(
        _ text: [UInt8], expecting expectation: ReceiptExpectation
    ) -> Result<VerifiedPayload, ReceiptRejection>? {
        do throws(ReceiptRejection) {
            let (content, signer) = try parse(text)
            guard let known = try checkKnown(content, signer) else { return nil }
            return .success(try accept(content, known, expectation))
        } catch {
            return .failure(error)
        }
    }

    /// The payload, and its signer if the signer is known.
    private func parse(_ text: [UInt8]) throws(ReceiptRejection) -> (SignedPayload, KnownSigner?) {
        var signer: KnownSigner?
        let content = try SignedPayload.parse(text) { segment in
            signer = payloadSigners.withLock { $0.find(segment) }
            return signer
        }
        return (content, signer)
    }

    /// The chain of a known signer, after its signature was checked; nil for another signer or date.
    private func checkKnown(
        _ content: SignedPayload, _ signer: KnownSigner?
    ) throws(ReceiptRejection) -> VerifiedChain? {
        guard let signer, signer.chain.validity.contains(content.signedDate) else { return nil }
        var hash = signer.hashed
        content.signingInput.dropFirst(signer.segment.count + 1).withUnsafeBytes { hash.update(bufferPointer: $0) }
        try requireSignature(of: content, hash.finalize(), signer.publicKey)
        return signer.chain
    }

    private func accept(
        _ content: SignedPayload, _ chain: VerifiedChain, _ expectation: ReceiptExpectation
    ) throws(ReceiptRejection) -> VerifiedPayload {
        if let bundleID = expectation.bundleID, content.bundleID?.hasSameBytes(as: bundleID) != true {
            throw ReceiptRejection(.wrongBundleID, "the payload is for another bundle id than \(bundleID)")
        }
        return VerifiedPayload(content: content, rootFingerprint: chain.rootFingerprint)
    }

    private func checkSignature(of content: SignedPayload) throws(ReceiptRejection) -> P256.Signing.PublicKey {
        guard let der = content.certificates.first, let leaf = try? Certificate(derEncoded: der) else {
            throw ReceiptRejection(.malformed, "the leaf certificate cannot be read")
        }
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else {
            throw ReceiptRejection(.unsupportedAlgorithm, "the leaf's key is not of P-256")
        }
        try requireSignature(of: content, SHA256.hash(data: content.signingInput), key)
        return key
    }

    private func requireSignature(
        of content: SignedPayload, _ digest: SHA256.Digest, _ key: P256.Signing.PublicKey
    ) throws(ReceiptRejection) {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: content.signature),
            key.isValidSignature(signature, for: digest)
        else { throw ReceiptRejection(.badSignature, "the signature does not match the payload") }
    }

    private func chain(
        of content: SignedPayload, _ key: P256.Signing.PublicKey, _ expectation: ReceiptExpectation
    ) async throws(ReceiptRejection) -> VerifiedChain {
        let leaf = content.certificates[0]
        let embedded = Array(content.certificates.dropFirst())
        // Xcode's own certificate is never remembered, because callers that do not allow Xcode must not meet it.
        if let root = chains.anchors.root(der: leaf) {
            guard expectation.allowsXcode, embedded.isEmpty, content.environment == "Xcode" else {
                throw ReceiptRejection(
                    .unknownIssuer, "a root signed the payload itself, which only Xcode may do, if the caller allows it"
                )
            }
            let validity = try root.checkValidity(at: content.signedDate)
            return VerifiedChain(validity: validity, rootFingerprint: root.fingerprint)
        }
        let chain = try await chains.verify(
            leaf: leaf, embedded: embedded, purpose: .signedPayload, at: content.signedDate)
        let segment = Array(content.signingInput.prefix { $0 != UInt8(ascii: ".") })
        var hashed = SHA256()
        hashed.update(data: segment)
        hashed.update(data: [UInt8(ascii: ".")])
        let signer = KnownSigner(
            segment: segment, hashed: hashed, header: content.header,
            certificates: content.certificates, publicKey: key, chain: chain)
        payloadSigners.withLock { $0.insert(signer) }
        return chain
    }
}
