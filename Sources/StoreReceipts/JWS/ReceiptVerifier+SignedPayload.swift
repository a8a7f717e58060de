import Crypto
import X509

extension ReceiptVerifier {
    /// Verifies a JWS: its structure, its signature, its chain to one of the verifier's roots at its own `signedDate`,
    /// the markers of leaf and intermediate, and the bundle id if one is expected (versions and devices are not said by
    /// every payload and not looked at).
    ///
    /// Fails with `malformed`, `tooLarge`, `unsupportedAlgorithm`, `badSignature`, `unknownIssuer`, `wrongChain`,
    /// `expired`, `missingMarker` or `wrongBundleID`. Xcode's payloads need ``ReceiptExpectation/allowsXcode`` and
    /// their certificate among the roots.
    public func verifySignedPayload(
        _ text: [UInt8], expecting expectation: ReceiptExpectation
    ) async -> Result<VerifiedPayload, ReceiptRejection> {
        do throws(ReceiptRejection) {
            let content = try SignedPayload.parse(text)
            try checkSignature(of: content)
            let fingerprint = try await rootFingerprint(of: content, expectation)
            if let bundleID = expectation.bundleID, content.bundleID != bundleID {
                throw ReceiptRejection(.wrongBundleID, "the payload is for another bundle id than \(bundleID)")
            }
            return .success(VerifiedPayload(content: content, rootFingerprint: fingerprint))
        } catch {
            return .failure(error)
        }
    }

    private func checkSignature(of content: SignedPayload) throws(ReceiptRejection) {
        guard let der = content.certificates.first, let leaf = try? Certificate(derEncoded: der) else {
            throw ReceiptRejection(.malformed, "the leaf certificate cannot be read")
        }
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else {
            throw ReceiptRejection(.unsupportedAlgorithm, "the leaf's key is not of P-256")
        }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: content.signature),
            key.isValidSignature(signature, for: SHA256.hash(data: content.signingInput))
        else { throw ReceiptRejection(.badSignature, "the signature does not match the payload") }
    }

    private func rootFingerprint(
        of content: SignedPayload, _ expectation: ReceiptExpectation
    ) async throws(ReceiptRejection) -> [UInt8] {
        let leaf = content.certificates[0]
        let embedded = Array(content.certificates.dropFirst())
        if let root = chains.anchors.root(der: leaf) {
            guard expectation.allowsXcode, embedded.isEmpty, content.environment == "Xcode" else {
                throw ReceiptRejection(
                    .unknownIssuer, "a root signed the payload itself, and the caller allows that only to Xcode")
            }
            try root.checkValidity(at: content.signedDate)
            return root.fingerprint
        }
        return try await chains.verify(leaf: leaf, embedded: embedded, purpose: .appReceipt, at: content.signedDate)
            .rootFingerprint
    }
}
