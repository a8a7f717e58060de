import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport

@testable import PurchaseVault
@testable import StoreKit

/// A device with an app on it, and a store that signs its receipts.
final class VaultBench: Sendable {
    static let bundleID = "com.example.app"
    static let sepia = "com.example.app.sepia"
    static let mono = "com.example.app.mono"
    static let club = "com.example.app.club"
    static let coins = "com.example.app.coins10"
    static let gems = "com.example.app.gems3"
    static let grants: [String: VaultGrant] = [
        sepia: .unlock, mono: .unlock, club: .unlock, coins: .credit(10, of: "coins"), gems: .credit(3, of: "gems"),
    ]
    static let start = Date(timeIntervalSince1970: 1_770_000_000)

    /// One authority for all tests: keys take a second to make.
    private static let shared = Task {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url.appendingPathComponent("authority")
            try await SharedAuthority.copy(to: folder)
            return try await CertificateAuthority.open(directory: folder, at: start)
        }
    }

    let folder: URL
    let authority: CertificateAuthority
    let root: URL
    private let time = Mutex(VaultBench.start)

    init(_ directory: TemporaryDirectory, device: String = "device", authority: CertificateAuthority? = nil)
        async throws
    {
        folder = directory.url.appendingPathComponent(device)
        if let authority { self.authority = authority } else { self.authority = try await Self.shared.value }
        root = directory.url.appendingPathComponent("\(device)-root.der")
        try Data(self.authority.receiptRoot).write(to: root)
    }

    static func with(_ body: (VaultBench) async throws -> Void) async throws {
        try await TemporaryDirectory.with { try await body(try await VaultBench($0)) }
    }

    var now: Date {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    func configuration(
        _ environment: StoreEnvironment = .sandbox, grants: [String: VaultGrant] = VaultBench.grants
    ) throws -> VaultConfiguration {
        var storeKit = StoreKitConfiguration(
            store: nil, bundleIdentifier: Self.bundleID, deviceFolder: folder,
            sheet: AutomaticPaymentSheet(answer: .cancel, credentials: nil))
        storeKit.environment = environment
        storeKit.roots = [root]
        return try VaultConfiguration(storeKit: storeKit, grants: grants) { self.now }
    }

    func open() async throws -> PurchaseVault { try await PurchaseVault(try configuration()) }

    var device: UUID { get throws { try DeviceFolder(folder).vendorIdentifier } }
    var file: URL { get throws { try configuration().folder.appendingPathComponent("purchases.vault") } }
    var mark: URL { get throws { try configuration().markFolder.appendingPathComponent("purchases.mark") } }
    var key: URL { get throws { try configuration().markFolder.appendingPathComponent("key") } }

    // MARK: The store

    struct Purchase: Sendable {
        var product: String
        var id: String
        var original: String?
        var quantity: Int64 = 1
        var expires: Date?
        var cancelled: Date?
    }

    func transactionReceipt(
        _ product: String, id: String, quantity: Int64 = 1, original: String? = nil,
        bundleID: String = VaultBench.bundleID,
        device: UUID?? = .none, environment: StoreEnvironment = .sandbox
    ) throws -> Data {
        let signer = authority.receiptSigner(for: environment)
        let date = ReceiptDate(milliseconds: Int64(Self.start.timeIntervalSince1970 * 1000))
        let vendor: UUID?
        if case .some(let given) = device { vendor = given } else { vendor = try self.device }
        let receipt = TransactionReceipt(
            quantity: quantity, productID: product, transactionID: id, originalTransactionID: original ?? id,
            bundleID: bundleID, bundleVersion: "1", purchaseDate: date, originalPurchaseDate: date,
            uniqueVendorIdentifier: vendor?.uuidString, appItemID: environment == .production ? "4711" : nil)
        return Data(
            try SignedTransactionReceipt.signed(
                receipt, environment: environment, certificate: signer.leafCertificate,
                by: signer.signature(overSHA1Of:)
            ).bytes)
    }

    /// Signs an app receipt, and lays it where StoreKit does.
    @discardableResult
    func layReceipt(
        _ purchases: [Purchase], device: UUID? = nil, bundleID: String = VaultBench.bundleID,
        at date: Date = VaultBench.start,
        environment: StoreEnvironment = .sandbox
    ) throws -> Data {
        let bundleIDValue = AppReceipt.bundleIDValue(bundleID)
        let vendor = try device ?? self.device
        let receipt = AppReceipt(
            receiptType: environment.receiptType, appItemID: 0, bundleID: bundleID, bundleIDValue: bundleIDValue,
            applicationVersion: "1", opaqueValue: [1, 2, 3],
            deviceHash: AppReceipt.deviceHash(
                deviceIdentifier: withUnsafeBytes(of: vendor.uuid) { Array($0) }, opaqueValue: [1, 2, 3],
                bundleIDValue: bundleIDValue),
            downloadDate: nil, fulfillmentToolVersion: 1, ageRating: "4+", developerID: 0, creationDate: date,
            systemVersion: 0, downloadID: 0, versionExternalIdentifier: 0,
            inApp: purchases.map {
                InAppPurchase(
                    quantity: $0.quantity, productID: $0.product, transactionID: $0.id, purchaseDate: date,
                    originalTransactionID: $0.original ?? $0.id, originalPurchaseDate: date, productType: 0,
                    expiresDate: $0.expires, itemID: 0, webOrderLineItemID: 0, cancellationDate: $0.cancelled,
                    isTrialPeriod: false, isInIntroOfferPeriod: false, promotionalOfferID: nil, otherAttributes: [])
            },
            originalPurchaseDate: date, originalApplicationVersion: "1", expirationDate: nil, otherAttributes: [])
        let bytes = Data(try authority.receiptSigner(for: environment).sign(receipt).bytes)
        let url = try configuration(environment).receiptURL
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try bytes.write(to: url)
        return bytes
    }

    /// A transaction as the queue delivers it, with its own receipt.
    func bought(_ product: String, id: String, quantity: Int64 = 1) throws -> SKPaymentTransaction {
        delivered(product, id: id, receipt: try transactionReceipt(product, id: id, quantity: quantity))
    }

    func delivered(
        _ product: String, id: String?, receipt: Data?, state: SKPaymentTransactionState = .purchased,
        original: SKPaymentTransaction? = nil
    ) -> SKPaymentTransaction {
        var record = SKPaymentTransaction.Record()
        record.state = state
        record.transactionIdentifier = id
        record.transactionReceipt = receipt
        record.original = original
        return SKPaymentTransaction(key: UUID(), payment: PaymentValues(productIdentifier: product), record: record)
    }

    // MARK: Copies

    /// Copies a file or folder, in the place of what is there.
    static func copy(_ source: URL, to target: URL) throws {
        try? FileManager.default.removeItem(at: target)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: source, to: target)
    }

    func aside(_ name: String) -> URL { folder.deletingLastPathComponent().appendingPathComponent("aside-\(name)") }
}
