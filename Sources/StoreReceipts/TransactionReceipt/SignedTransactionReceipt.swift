import CornerstoreEncoding
import Foundation
import StoreWire

/// A transaction receipt as an app gets it from `SKPaymentTransaction.transactionReceipt`: a property list with the
/// signature, the purchase and, outside the signature, the environment.
public struct SignedTransactionReceipt: Sendable, Equatable {
    /// The value of `signature`.
    public var signature: TransactionSignature
    /// The decoded `purchase-info`, kept byte by byte because the signature covers it.
    public var purchaseInfo: [UInt8]
    /// The value of `environment`: `Sandbox`; production leaves it out. The signature does not cover it: only the root
    /// identifies the store that made the receipt.
    public var environment: StoreEnvironment
    /// The value of `pod`: `100` in the sandbox, a small number in production.
    public var pod: String?
    /// The value of `signing-status`, always `0`.
    public var signingStatus: String?

    /// Creates a receipt from its parts.
    public init(
        signature: TransactionSignature, purchaseInfo: [UInt8], environment: StoreEnvironment, pod: String?,
        signingStatus: String?
    ) {
        self.signature = signature
        self.purchaseInfo = purchaseInfo
        self.environment = environment
        self.pod = pod
        self.signingStatus = signingStatus
    }

    /// Reads a receipt, but not its `purchase-info`, which ``receipt()`` reads.
    /// - Throws: ``ReceiptRejection`` with the reason.
    public init(bytes: [UInt8]) throws(ReceiptRejection) {
        let list = try ASCIIPropertyList(text: bytes)
        let environment: StoreEnvironment
        switch list["environment"] {
        case nil, StoreEnvironment.production.rawValue: environment = .production
        case StoreEnvironment.sandbox.rawValue: environment = .sandbox
        default: throw ReceiptRejection(.malformed, "environment is neither Sandbox nor Production")
        }
        self.init(
            signature: try TransactionSignature(blob: try Self.base64("signature", of: list)),
            purchaseInfo: try Self.base64("purchase-info", of: list),
            environment: environment,
            pod: list["pod"],
            signingStatus: list["signing-status"]
        )
    }

    /// Signs a receipt of version 3.
    ///
    /// - Parameters:
    ///   - receipt: the contents of the receipt.
    ///   - environment: the store that makes the receipt; decides `environment` and `pod`.
    ///   - certificate: the signer's certificate in DER.
    ///   - sign: makes the RSA-2048 signature (PKCS#1 v1.5) over the SHA-1 of the given bytes.
    /// - Throws: the error of `sign`; ``ReceiptRejection`` `malformed` when the signature or the certificate has the
    ///   wrong size.
    public static func signed(
        _ receipt: TransactionReceipt, environment: StoreEnvironment, certificate: [UInt8],
        by sign: (_ signedBytes: [UInt8]) throws -> [UInt8]
    ) throws -> SignedTransactionReceipt {
        let purchaseInfo = receipt.purchaseInfo
        let signature = try sign(TransactionSignature.signedBytes(version: .three, purchaseInfo: purchaseInfo))
        return SignedTransactionReceipt(
            signature: try TransactionSignature(version: .three, signature: signature, certificate: certificate),
            purchaseInfo: purchaseInfo,
            environment: environment,
            pod: environment == .sandbox ? "100" : "17",
            signingStatus: "0"
        )
    }

    /// The bytes that an app receives. It sends them Base64-encoded as `receipt-data`.
    public var bytes: [UInt8] {
        var entries = [
            TransactionReceipt.Entry(key: "signature", value: Base64.encoded(signature.blob)),
            TransactionReceipt.Entry(key: "purchase-info", value: Base64.encoded(purchaseInfo)),
        ]
        if environment == .sandbox { entries.append(.init(key: "environment", value: environment.rawValue)) }
        if let pod { entries.append(.init(key: "pod", value: pod)) }
        if let signingStatus { entries.append(.init(key: "signing-status", value: signingStatus)) }
        return ASCIIPropertyList(entries: entries).text
    }

    /// The contents of `purchase-info`, not verified.
    /// - Throws: ``ReceiptRejection`` with the reason.
    public func receipt() throws(ReceiptRejection) -> TransactionReceipt {
        try TransactionReceipt(purchaseInfo: purchaseInfo)
    }

    /// A function that checks the RSA signature over the SHA-1 of the signed bytes with the leaf's key, and the leaf's
    /// chain at the date. It returns the SHA-256 fingerprint of the root.
    public typealias Verification = (
        _ signedBytes: [UInt8], _ signature: [UInt8], _ leaf: [UInt8], _ date: Date
    ) async -> Result<[UInt8], ReceiptRejection>

    /// The verified receipt, or the reason for its refusal. Signature and chain are judged at the date of the purchase.
    public func verified(
        by verify: Verification
    ) async -> Result<VerifiedTransactionReceipt, ReceiptRejection> {
        let receipt: TransactionReceipt
        do throws(ReceiptRejection) {
            receipt = try self.receipt()
        } catch {
            return .failure(error)
        }
        let signedBytes = TransactionSignature.signedBytes(version: signature.version, purchaseInfo: purchaseInfo)
        let root = await verify(signedBytes, signature.signature, signature.certificate, receipt.purchaseDate.date)
        return root.map { fingerprint in
            VerifiedTransactionReceipt(receipt: receipt, statedEnvironment: environment, rootFingerprint: fingerprint)
        }
    }

    private static func base64(_ key: String, of list: ASCIIPropertyList) throws(ReceiptRejection) -> [UInt8] {
        guard let text = list[key] else { throw ReceiptRejection(.malformed, "\(key) is missing") }
        guard let bytes = Base64.decoded(text), !bytes.isEmpty else {
            throw ReceiptRejection(.malformed, "\(key) is not Base64")
        }
        return bytes
    }
}
