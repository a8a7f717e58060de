import Foundation
import StoreWire

/// What an app receipt says: the attributes of its payload, in Swift's types. A value of this type proves nothing; only
/// ``VerifiedReceipt`` does.
///
/// Attribute numbers and encodings: Apple's "Receipt fields", and, where undocumented, as measured on receipts of
/// Apple's server.
public struct AppReceipt: Sendable, Equatable {
    /// 0, UTF8String: `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox` or `Xcode`.
    public var receiptType: String
    /// 1, INTEGER: the app's Apple ID; 0 in the sandbox.
    public var appItemID: Int64
    /// 2, UTF8String.
    public var bundleID: String
    /// The whole value of attribute 2 with its tag and length, as the device hash takes it.
    public var bundleIDValue: [UInt8]
    /// 3, UTF8String: `CFBundleVersion`.
    public var applicationVersion: String
    /// 4, raw bytes (16 from Apple's server, 8 from Xcode).
    public var opaqueValue: [UInt8]
    /// 5, 20 raw bytes: ``deviceHash(deviceIdentifier:opaqueValue:bundleIDValue:)``.
    public var deviceHash: [UInt8]
    /// 8, IA5String, empty in the sandbox.
    public var downloadDate: Date?
    /// 9, INTEGER.
    public var fulfillmentToolVersion: Int64?
    /// 10, IA5String: `4+`.
    public var ageRating: String?
    /// 11, INTEGER; 0 in the sandbox.
    public var developerID: Int64?
    /// 12, IA5String: when the receipt was made; certificates are judged at this date.
    public var creationDate: Date
    /// 13, INTEGER, seen as the system's version (`170200`).
    public var systemVersion: Int64?
    /// 15, INTEGER; 0 in the sandbox.
    public var downloadID: Int64
    /// 16, INTEGER; 0 in the sandbox.
    public var versionExternalIdentifier: Int64
    /// 17, one attribute each.
    public var inApp: [InAppPurchase]
    /// 18, IA5String: when the app itself was bought; always 2013-08-01T07:00:00Z in the sandbox.
    public var originalPurchaseDate: Date?
    /// 19, UTF8String; `1.0` in the sandbox.
    public var originalApplicationVersion: String?
    /// 21, IA5String: only for volume purchases (and 4001-01-01 from Xcode).
    public var expirationDate: Date?
    /// Everything that has no property of its own (6, 7, 14, 20, 25 and whatever comes), with its value as it stands.
    public var otherAttributes: [ReceiptAttribute]

    public init(
        receiptType: String, appItemID: Int64, bundleID: String, bundleIDValue: [UInt8], applicationVersion: String,
        opaqueValue: [UInt8], deviceHash: [UInt8], downloadDate: Date?, fulfillmentToolVersion: Int64?,
        ageRating: String?,
        developerID: Int64?, creationDate: Date, systemVersion: Int64?, downloadID: Int64,
        versionExternalIdentifier: Int64,
        inApp: [InAppPurchase], originalPurchaseDate: Date?, originalApplicationVersion: String?, expirationDate: Date?,
        otherAttributes: [ReceiptAttribute]
    ) {
        self.receiptType = receiptType
        self.appItemID = appItemID
        self.bundleID = bundleID
        self.bundleIDValue = bundleIDValue
        self.applicationVersion = applicationVersion
        self.opaqueValue = opaqueValue
        self.deviceHash = deviceHash
        self.downloadDate = downloadDate
        self.fulfillmentToolVersion = fulfillmentToolVersion
        self.ageRating = ageRating
        self.developerID = developerID
        self.creationDate = creationDate
        self.systemVersion = systemVersion
        self.downloadID = downloadID
        self.versionExternalIdentifier = versionExternalIdentifier
        self.inApp = inApp
        self.originalPurchaseDate = originalPurchaseDate
        self.originalApplicationVersion = originalApplicationVersion
        self.expirationDate = expirationDate
        self.otherAttributes = otherAttributes
    }

    /// The store that made it by attribute 0, or nil for Xcode's and unknown words.
    public var environment: StoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        default: nil
        }
    }
}

/// An attribute that is kept as it stands.
public struct ReceiptAttribute: Sendable, Equatable {
    public var type: Int64
    public var version: Int64
    /// The content of the value's OCTET STRING.
    public var value: [UInt8]

    public init(type: Int64, version: Int64, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}
