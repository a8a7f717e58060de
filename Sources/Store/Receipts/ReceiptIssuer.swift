import Foundation
import StoreReceipts
import StoreWire

/// Creates app receipts and iOS 6 transaction receipts from the ledger's rows.
///
/// Signed receipts are not stored. The receipt of an unchanged ledger is cached for a minute of the store's clock,
/// because the signature is the most expensive step.
final class ReceiptIssuer: Sendable {
    /// The key of the cache: everything that determines a receipt's contents.
    struct Identity: Hashable, Sendable {
        var accountID: AccountID
        var bundleID: BundleID
        var bundleVersion: String
        var device: DeviceBinding
        /// The identifiers, revocation dates and ends of the transactions, in order.
        var ledger: [Int64]
        /// The application user names of the transactions, in order. A receipt has the app account tokens among them,
        /// and the developer's server can change these.
        var usernames: [String?]
        var pretence: ReceiptPretence?
    }

    /// The binding of a receipt to a device.
    enum DeviceBinding: Hashable, Sendable {
        /// The requesting device, by its `identifierForVendor`.
        case vendor(UUID)
        /// The device of a presented receipt, whose attributes 4 and 5 are copied.
        case carriedOver(opaqueValue: [UInt8], hash: [UInt8])
        /// No device: attributes 4 and 5 are zeros.
        case noDevice
    }

    /// A signed receipt.
    private struct Signed {
        var bytes: [UInt8]
        /// Its creation date, in milliseconds since 1970.
        var madeAt: Int64
    }

    private static let largestRemembered = 32 << 10
    /// The greatest age of a cached receipt, in milliseconds of the store's clock. A receipt states its creation date.
    static let longestRemembered: Int64 = 60_000
    private let environment: StoreEnvironment
    private let signer: @Sendable () -> ReceiptSigner
    private let recent = RecentValues<Identity, Signed>(capacity: 512)

    /// - Parameter signer: returns the signer of each receipt, because its leaf certificate may be replaced.
    init(environment: StoreEnvironment, signer: @escaping @Sendable () -> ReceiptSigner) {
        self.environment = environment
        self.signer = signer
    }

    /// The signed app receipt of an account's transactions in one app.
    func appReceipt(
        for account: Account, app: AppRecord, bundleVersion: String, device: DeviceBinding, transactions: [Transaction],
        at milliseconds: Int64, pretence: ReceiptPretence? = nil
    ) throws -> [UInt8] {
        let identity = Identity(
            accountID: account.accountID, bundleID: app.bundleID, bundleVersion: bundleVersion, device: device,
            ledger: transactions.flatMap { [$0.transactionID.rawValue, $0.revokedAt ?? 0, $0.expiresDate ?? 0] },
            usernames: transactions.map(\.applicationUsername), pretence: pretence)
        // The clock may have been set forward or back.
        if let signed = recent.value(for: identity),
            (signed.madeAt...signed.madeAt + Self.longestRemembered).contains(milliseconds)
        {
            return signed.bytes
        }
        var receipt = contents(
            account: account, app: app, bundleVersion: bundleVersion, device: device, transactions: transactions,
            at: milliseconds)
        pretence?.apply(to: &receipt)
        let bytes = try signer().sign(receipt).bytes
        if bytes.count <= Self.largestRemembered {
            recent.insert(Signed(bytes: bytes, madeAt: milliseconds), for: identity)
        }
        return bytes
    }

    /// The iOS 6 receipt of one transaction.
    func transactionReceipt(
        _ transaction: Transaction, app: AppRecord, bundleVersion: String, vendorIdentifier: UUID?
    ) throws -> [UInt8] {
        let signer = self.signer()
        return try SignedTransactionReceipt.signed(
            TransactionReceipt(
                transaction, app: app, bundleVersion: bundleVersion, vendor: vendorIdentifier, environment: environment),
            environment: environment, certificate: signer.leafCertificate, by: signer.signature(overSHA1Of:)
        ).bytes
    }

    /// The version of the app that the customer bought first. The sandbox always has this one, as Apple's.
    static let originalApplicationVersion = "1.0"

    /// When an account first had an app, in milliseconds since 1970. In the sandbox it is a constant, as Apple's writes
    /// it.
    static func originalPurchaseDate(of account: Account, _ environment: StoreEnvironment) -> Int64 {
        environment == .sandbox ? 1_375_340_400_000 : account.createdAt
    }

    private func contents(
        account: Account, app: AppRecord, bundleVersion: String, device: DeviceBinding, transactions: [Transaction],
        at milliseconds: Int64
    ) -> AppReceipt {
        let bundleIDValue = AppReceipt.bundleIDValue(app.bundleID.rawValue)
        let opaqueValue: [UInt8]
        let hash: [UInt8]
        switch device {
        case .vendor(let vendor):
            opaqueValue = RandomBytes.make(16)
            hash = AppReceipt.deviceHash(
                deviceIdentifier: vendor.bytes, opaqueValue: opaqueValue, bundleIDValue: bundleIDValue)
        case .carriedOver(let opaque, let shown):
            opaqueValue = opaque
            hash = shown
        case .noDevice:
            opaqueValue = [UInt8](repeating: 0, count: 16)
            hash = [UInt8](repeating: 0, count: 20)
        }
        let isSandbox = environment == .sandbox
        return AppReceipt(
            receiptType: environment.receiptType, appItemID: isSandbox ? 0 : app.appID, bundleID: app.bundleID.rawValue,
            bundleIDValue: bundleIDValue, applicationVersion: bundleVersion, opaqueValue: opaqueValue, deviceHash: hash,
            downloadDate: isSandbox ? nil : Date(milliseconds: account.createdAt), fulfillmentToolVersion: 1,
            ageRating: "4+",
            developerID: isSandbox ? 0 : app.developerID, creationDate: Date(milliseconds: milliseconds),
            systemVersion: 0,
            downloadID: isSandbox ? 0 : app.downloadID(of: account),
            versionExternalIdentifier: isSandbox ? 0 : app.versionExternalIdentifier(bundleVersion),
            inApp: transactions.map { InAppPurchase($0, environment: environment) },
            originalPurchaseDate: Date(milliseconds: Self.originalPurchaseDate(of: account, environment)),
            originalApplicationVersion: Self.originalApplicationVersion, expirationDate: nil,
            otherAttributes: AppReceipt.serverAttributes(
                attribute6: RandomBytes.make(64), attribute7: RandomBytes.make(72)))
    }
}

extension InAppPurchase {
    /// The entry of a transaction in an app receipt. The product's Apple ID is 0 in the sandbox.
    init(_ transaction: Transaction, environment: StoreEnvironment) {
        self.init(
            quantity: Int64(transaction.quantity), productID: transaction.productID.rawValue,
            transactionID: transaction.transactionID.description,
            purchaseDate: Date(milliseconds: transaction.purchaseDate),
            originalTransactionID: transaction.originalTransactionID.description,
            originalPurchaseDate: Date(milliseconds: transaction.originalPurchaseDate),
            productType: transaction.kind.receiptNumber,
            expiresDate: transaction.expiresDate.map(Date.init(milliseconds:)),
            itemID: environment == .sandbox ? 0 : transaction.itemID,
            webOrderLineItemID: transaction.webOrderLineItemID ?? 0,
            cancellationDate: transaction.revokedAt.map(Date.init(milliseconds:)),
            isTrialPeriod: transaction.offer == .trial,
            isInIntroOfferPeriod: transaction.offer == .introductory,
            promotionalOfferID: transaction.promotionalOfferID,
            otherAttributes: InAppPurchase.serverAttributes(
                accountToken: transaction.appAccountToken, isFamilyShared: transaction.sharedFrom != nil))
    }
}

extension TransactionReceipt {
    /// The iOS 6 receipt of a transaction. Only production receipts contain the numbers of the app and its version.
    init(
        _ transaction: Transaction, app: AppRecord, bundleVersion: String, vendor: UUID?, environment: StoreEnvironment
    ) {
        let isProduction = environment == .production
        self.init(
            quantity: Int64(transaction.quantity), productID: transaction.productID.rawValue,
            transactionID: transaction.transactionID.description,
            originalTransactionID: transaction.originalTransactionID.description,
            bundleID: transaction.bundleID.rawValue,
            bundleVersion: bundleVersion, purchaseDate: ReceiptDate(milliseconds: transaction.purchaseDate),
            originalPurchaseDate: ReceiptDate(milliseconds: transaction.originalPurchaseDate),
            itemID: String(transaction.itemID), uniqueVendorIdentifier: vendor?.uuidString,
            appItemID: isProduction ? String(app.appID) : nil,
            versionExternalIdentifier: isProduction ? String(app.versionExternalIdentifier(bundleVersion)) : nil,
            expiresDate: transaction.expiresDate.map { ReceiptDate(milliseconds: $0) },
            webOrderLineItemID: transaction.webOrderLineItemID.map { String($0) },
            isTrialPeriod: transaction.offer == .trial, isInIntroOfferPeriod: transaction.offer == .introductory)
    }
}

extension AppRecord {
    /// The developer's number in attribute 11. All apps of a store have the same developer.
    var developerID: Int64 { 284_417_353 }

    /// The number of this account's download of the app: 15 digits, always the same.
    func downloadID(of account: Account) -> Int64 {
        500_000_000_000_000 + Self.hash("\(bundleID) \(account.accountID)", below: 100_000_000_000_000)
    }

    /// The number of a version of the app: nine digits, always the same.
    func versionExternalIdentifier(_ version: String) -> Int64 {
        800_000_000 + Self.hash("\(bundleID) \(version)", below: 100_000_000)
    }

    /// The FNV-1a hash of a text, modulo a bound.
    private static func hash(_ text: String, below bound: UInt64) -> Int64 {
        Int64(text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } % bound)
    }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension UUID {
    /// The 16 bytes of the identifier, which enter the device hash.
    var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
