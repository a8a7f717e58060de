import Foundation
import StoreWire

/// The whole transaction receipt as `SKPaymentTransaction.transactionReceipt` hands it to an app: a property list with
/// the signature, the purchase and, outside the signature, the environment.
public struct SignedTransactionReceipt: Sendable, Equatable {
    /// `signature`
    public var signature: TransactionSignature
    /// `purchase-info`, decoded; kept byte by byte, since it is what was signed.
    public var purchaseInfo: [UInt8]
    /// `environment`: `Sandbox`; production leaves it out. It is not signed: whose receipt this is, only the root says.
    public var environment: StoreEnvironment
    /// `pod`: `100` in the sandbox, a small number in production.
    public var pod: String?
    /// `signing-status`, always `0`.
    public var signingStatus: String?

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

    /// Reads a receipt. Throws ``ReceiptRejection`` with what is wrong. `purchase-info` is not read any further;
    /// ``receipt()`` does.
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
    ///   - receipt: What the receipt says.
    ///   - environment: Which store it is of; decides `environment` and `pod`.
    ///   - certificate: The signer's certificate in DER.
    ///   - sign: Gives the RSA-2048 signature (PKCS#1 v1.5) over the SHA-1 of the bytes it is handed.
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

    /// The bytes that an app gets, and sends Base64-encoded as `receipt-data`.
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

    /// What `purchase-info` says, unproven. Throws ``ReceiptRejection`` with what is wrong.
    public func receipt() throws(ReceiptRejection) -> TransactionReceipt {
        try TransactionReceipt(purchaseInfo: purchaseInfo)
    }

    /// Checks the RSA signature over the SHA-1 of the signed bytes with the leaf's key, and the leaf's chain at the
    /// date, and gives the SHA-256 fingerprint of the root.
    public typealias Verification = (
        _ signedBytes: [UInt8], _ signature: [UInt8], _ leaf: [UInt8], _ date: Date
    ) async -> Result<[UInt8], ReceiptRejection>

    /// The receipt, or why it was refused. Signature and chain are judged at the date of the purchase.
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
