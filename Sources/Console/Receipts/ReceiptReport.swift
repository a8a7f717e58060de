import Foundation
import StoreReceipts
import StoreWire

/// A receipt's contents and the result of its verification.
package struct ReceiptReport: Encodable {
    /// The kind of receipt; nil when the input is not recognized.
    package var kind: ReceiptInput.Kind?
    /// Whether the receipt is valid; nil when it was not verified.
    package var valid: Bool?
    /// A stable code: `ok`, `not-verified`, or a ``ReceiptRejection/Code``.
    package var reason: String
    /// The reason for the rejection as text.
    package var detail: String?
    package var environment: String?
    package var bundleId: String?
    package var applicationVersion: String?
    /// The receipt's creation date, or the purchase date of a transaction receipt, such as `2018-07-15T08:25:37Z`.
    package var creationDate: String?
    /// The version of the app that the customer first got; nil when the receipt does not contain it.
    package var originalApplicationVersion: String?
    /// The date on which the customer first got the app; nil when the receipt does not contain it.
    package var originalPurchaseDate: String?
    /// The date on which the app receipt expires; nil when the receipt does not contain it.
    package var expirationDate: String?
    /// The in-app purchases, with verifyReceipt's field names. Attributes without such a name have their number as the
    /// key. Fields that the receipt does not contain are missing.
    package var inApp: [[String: String]] = []
    /// The payload of a JWS.
    package var payload: PayloadJSON?

    private enum CodingKeys: String, CodingKey {
        case kind, valid, reason, detail, environment, bundleId, applicationVersion, creationDate
        case originalApplicationVersion, originalPurchaseDate, expirationDate, inApp, payload
    }

    /// Encodes the keys that every document has, with null for unknown values. The other keys are encoded only if the
    /// receipt contains them.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(valid, forKey: .valid)
        try container.encode(reason, forKey: .reason)
        try container.encode(detail, forKey: .detail)
        try container.encode(environment, forKey: .environment)
        try container.encode(bundleId, forKey: .bundleId)
        try container.encode(applicationVersion, forKey: .applicationVersion)
        try container.encode(creationDate, forKey: .creationDate)
        try container.encodeIfPresent(originalApplicationVersion, forKey: .originalApplicationVersion)
        try container.encodeIfPresent(originalPurchaseDate, forKey: .originalPurchaseDate)
        try container.encodeIfPresent(expirationDate, forKey: .expirationDate)
        try container.encode(inApp, forKey: .inApp)
        try container.encodeIfPresent(payload, forKey: .payload)
    }

    // MARK: Creation

    /// Reads a receipt without verifying it.
    package init(inspecting input: ReceiptInput) {
        self.init(reading: input)
    }

    /// Reads and verifies a receipt. The report of an invalid receipt contains the fields that can be read.
    package init(verifying input: ReceiptInput, by verifier: ReceiptVerifier, expecting expectation: ReceiptExpectation)
        async
    {
        self.init(reading: input)
        guard valid != false else { return }
        switch kind {
        case .app:
            switch await verifier.verify(input.bytes, expecting: expectation) {
            case .verified: accept()
            case .rejected(let rejection): refuse(rejection)
            }
        case .transaction:
            await verifyTransaction(input.bytes, verifier, expectation)
        case .jws:
            switch await verifier.verifySignedPayload(input.bytes, expecting: expectation) {
            case .success: accept()
            case .failure(let rejection): refuse(rejection)
            }
        case nil:
            break
        }
    }

    private init(reading input: ReceiptInput) {
        reason = "not-verified"
        do throws(ReceiptRejection) {
            switch input.kind {
            case .app:
                kind = .app
                try read(ReceiptContainer.parse(input.bytes).receipt)
            case .transaction:
                kind = .transaction
                try read(SignedTransactionReceipt(bytes: input.bytes))
            case .jws:
                kind = .jws
                try read(SignedPayload.parse(input.bytes))
            case nil:
                throw ReceiptRejection(
                    .malformed, "neither an app receipt nor a transaction receipt, nor Base64 of one, nor a JWS")
            }
        } catch {
            refuse(error)
        }
    }

    private mutating func accept() {
        valid = true
        reason = "ok"
    }

    private mutating func refuse(_ rejection: ReceiptRejection) {
        valid = false
        reason = rejection.code.rawValue
        detail = rejection.detail
    }

    private mutating func read(_ receipt: AppReceipt) {
        environment = receipt.environment?.rawValue ?? receipt.receiptType
        bundleId = receipt.bundleID
        applicationVersion = receipt.applicationVersion
        creationDate = ReceiptDate(receipt.creationDate).rfc3339
        originalApplicationVersion = receipt.originalApplicationVersion
        originalPurchaseDate = receipt.originalPurchaseDate.map { ReceiptDate($0).rfc3339 }
        expirationDate = receipt.expirationDate.map { ReceiptDate($0).rfc3339 }
        inApp = receipt.inApp.map(\.statedFields)
    }

    private mutating func read(_ signed: SignedTransactionReceipt) throws(ReceiptRejection) {
        let receipt = try signed.receipt()
        environment = signed.environment.rawValue
        bundleId = receipt.bundleID
        applicationVersion = receipt.bundleVersion
        creationDate = receipt.purchaseDate.rfc3339
        inApp = [receipt.statedFields]
    }

    private mutating func read(_ signed: SignedPayload) {
        environment = signed.environment
        bundleId = signed.bundleID
        creationDate = ReceiptDate(signed.signedDate).rfc3339
        payload = PayloadJSON(bytes: signed.payload)
    }

    private mutating func verifyTransaction(
        _ bytes: [UInt8], _ verifier: ReceiptVerifier, _ expectation: ReceiptExpectation
    ) async {
        guard let signed = try? SignedTransactionReceipt(bytes: bytes) else { return }
        let answer = await signed.verified { signedBytes, signature, leaf, date in
            await verifier.verifyTransactionSignature(signed: signedBytes, signature: signature, leaf: leaf, at: date)
        }
        switch answer {
        case .failure(let rejection): refuse(rejection)
        case .success(let verified):
            if let rejection = Self.rejection(of: verified.receipt, expectation) { refuse(rejection) } else { accept() }
        }
    }

    /// Returns the rejection of a transaction receipt that does not meet the expectation, or nil. A transaction receipt
    /// names its device with a UDID or an `identifierForVendor` in plain text.
    private static func rejection(of receipt: TransactionReceipt, _ expectation: ReceiptExpectation)
        -> ReceiptRejection?
    {
        if let bundleID = expectation.bundleID, !receipt.bundleID.hasSameBytes(as: bundleID) {
            return ReceiptRejection(.wrongBundleID, "the receipt is for another bundle id than \(bundleID)")
        }
        if let version = expectation.applicationVersion, receipt.bundleVersion != version {
            return ReceiptRejection(.wrongVersion, "the receipt is for another version than \(version)")
        }
        if let device = expectation.deviceIdentifier {
            let vendor = receipt.uniqueVendorIdentifier.flatMap(UUID.init(uuidString:))
            guard let vendor, withUnsafeBytes(of: vendor.uuid, Array.init) == device else {
                return ReceiptRejection(.wrongDeviceHash, "the receipt was made for another device")
            }
        }
        return nil
    }
}
