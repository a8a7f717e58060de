import CornerstoreEncoding
import Crypto
import Foundation
import StoreKit
import StoreReceipts
import StoreWire

/// Verifies receipts as evidence: their signature under the roots, app, device and environment.
struct EvidenceCheck: Sendable {
    private let roots: [[UInt8]]
    private let intermediates: [[UInt8]]
    private let verifier: ReceiptVerifier
    private let bundleIdentifier: String
    private let device: UUID
    private let environment: StoreEnvironment

    /// - Throws: ``VaultError`` `notConfigured` when a root or intermediate is missing or not a certificate.
    init(_ configuration: VaultConfiguration) throws(VaultError) {
        guard !configuration.roots.isEmpty else {
            throw VaultError(
                .notConfigured,
                "no root certificate of the store is configured; set CORNERSTORE_ROOTS, or CORNERSTORE_DATA instead of CORNERSTORE_STORE"
            )
        }
        var roots: [[UInt8]] = []
        for file in configuration.roots { roots.append(try Self.certificate(file)) }
        var intermediates: [[UInt8]] = []
        for file in configuration.intermediates { intermediates.append(try Self.certificate(file)) }
        try self.init(
            roots: roots, intermediates: intermediates, bundleIdentifier: configuration.bundleIdentifier,
            device: configuration.deviceIdentifier, environment: configuration.environment)
    }

    private init(
        roots: [[UInt8]], intermediates: [[UInt8]], bundleIdentifier: String, device: UUID,
        environment: StoreEnvironment
    ) throws(VaultError) {
        do throws(ReceiptRejection) {
            verifier = try ReceiptVerifier(
                roots: roots, intermediates: intermediates,
                limits: ReceiptLimits(byteCount: VaultLimits.receipt, attributeCount: 100_000))
        } catch {
            throw VaultError(.notConfigured, "a root or intermediate certificate cannot be read: \(error.detail)")
        }
        self.roots = roots
        self.intermediates = intermediates
        self.bundleIdentifier = bundleIdentifier
        self.device = device
        self.environment = environment
    }

    private static func certificate(_ file: URL) throws(VaultError) -> [UInt8] {
        guard let bytes = BoundedFile.read(file, limit: 1 << 16) else {
            throw VaultError(.notConfigured, "cannot read the certificate \(file.path)")
        }
        return [UInt8](bytes)
    }

    /// This check with additional intermediates. It is unchanged when one of them is not a certificate.
    func knowing(_ certificates: [Data]) -> EvidenceCheck {
        let new = certificates.map { [UInt8]($0) }.filter { !intermediates.contains($0) && !roots.contains($0) }
        guard !new.isEmpty,
            let check = try? EvidenceCheck(
                roots: roots, intermediates: intermediates + new, bundleIdentifier: bundleIdentifier, device: device,
                environment: environment)
        else { return self }
        return check
    }

    /// Verifies a receipt of either kind.
    func verify(_ bytes: Data) async -> Result<VaultEvidence, VaultError> {
        guard bytes.count <= VaultLimits.receipt else {
            return .failure(
                VaultError(.tooLarge, "the receipt has \(bytes.count) bytes; the limit is \(VaultLimits.receipt)"))
        }
        return switch ReceiptKind.detect([UInt8](bytes)) {
        case .app: await verifyAppReceipt(bytes)
        case .transaction: await verifyTransactionReceipt(bytes)
        case nil: .failure(VaultError(.evidenceRefused, "the data is not a receipt"))
        }
    }

    private func verifyAppReceipt(_ bytes: Data) async -> Result<VaultEvidence, VaultError> {
        // The receipt's app version is ignored, because the app may have been updated since.
        let expectation = ReceiptExpectation(
            bundleID: bundleIdentifier, deviceIdentifier: withUnsafeBytes(of: device.uuid) { Array($0) })
        switch await verifier.verify([UInt8](bytes), expecting: expectation) {
        case .rejected(let rejection): return .failure(VaultError(rejection))
        case .verified(let verified):
            guard verified.receipt.environment == environment else { return .failure(.otherEnvironment) }
            let certificates = (try? ReceiptContainer.parse([UInt8](bytes)))?.certificates ?? []
            return .success(
                VaultEvidence(
                    bytes: bytes, digest: Self.digest(bytes), date: verified.receipt.creationDate,
                    proofs: verified.receipt.inApp.compactMap(VaultProof.init),
                    certificates: certificates.filter { !roots.contains($0) }.map { Data($0) }))
        }
    }

    private func verifyTransactionReceipt(_ bytes: Data) async -> Result<VaultEvidence, VaultError> {
        let signed: SignedTransactionReceipt
        do throws(ReceiptRejection) { signed = try SignedTransactionReceipt(bytes: [UInt8](bytes)) } catch {
            return .failure(VaultError(error))
        }
        let verifier = verifier
        let verification = await signed.verified { signedBytes, signature, leaf, date in
            await verifier.verifyTransactionSignature(signed: signedBytes, signature: signature, leaf: leaf, at: date)
        }
        switch verification {
        case .failure(let rejection): return .failure(VaultError(rejection))
        case .success(let verified):
            let receipt = verified.receipt
            guard receipt.bundleID.utf8.elementsEqual(bundleIdentifier.utf8) else {
                return .failure(VaultError(.evidenceRefused, "the receipt is for another app"))
            }
            // `environment` is not signed. The app's item number is, and only production receipts contain it.
            guard (receipt.appItemID != nil) == (environment == .production) else { return .failure(.otherEnvironment) }
            // A receipt without a device identifier would be valid on all devices.
            guard let vendor = receipt.uniqueVendorIdentifier, UUID(uuidString: vendor) == device else {
                return .failure(VaultError(.evidenceRefused, "the receipt is for another device"))
            }
            guard let proof = VaultProof(receipt) else {
                return .failure(VaultError(.evidenceRefused, "the receipt's values are out of range"))
            }
            return .success(
                VaultEvidence(
                    bytes: bytes, digest: Self.digest(bytes), date: receipt.purchaseDate.date, proofs: [proof],
                    certificates: []))
        }
    }

    /// The SHA-256 in hexadecimal.
    private static func digest(_ bytes: Data) -> String {
        Hexadecimal.encoded(SHA256.hash(data: bytes))
    }
}

extension VaultError {
    fileprivate init(_ rejection: ReceiptRejection) {
        self.init(.evidenceRefused, "\(rejection.code.rawValue): \(rejection.detail)")
    }

    fileprivate static let otherEnvironment = VaultError(
        .evidenceRefused, "the receipt is from another environment than the vault's")
}
