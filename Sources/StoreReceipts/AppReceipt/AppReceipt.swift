import Foundation
import StoreWire

/// The contents of an app receipt: the attributes of its payload, in Swift's types. A value of this type proves
/// nothing; only ``VerifiedReceipt`` does.
///
/// Attribute numbers and encodings come from Apple's "Receipt fields" and, where they are undocumented, from
/// measurements on receipts of Apple's server.
public struct AppReceipt: Sendable, Equatable {
    /// The kind of receipt (attribute 0, UTF8String): `Production`, `ProductionSandbox`, `ProductionVPP`,
    /// `ProductionVPPSandbox` or `Xcode`.
    public var receiptType: String
    /// The app's Apple ID (attribute 1, INTEGER); 0 in the sandbox.
    public var appItemID: Int64
    /// The app's bundle identifier (attribute 2, UTF8String).
    public var bundleID: String
    /// The whole value of attribute 2 with its tag and length, which goes into the device hash.
    public var bundleIDValue: [UInt8]
    /// The app's `CFBundleVersion` (attribute 3, UTF8String).
    public var applicationVersion: String
    /// The opaque value of the device hash (attribute 4, raw bytes: 16 from Apple's server, 8 from Xcode).
    public var opaqueValue: [UInt8]
    /// The device hash (attribute 5, 20 raw bytes): ``deviceHash(deviceIdentifier:opaqueValue:bundleIDValue:)``.
    public var deviceHash: [UInt8]
    /// When the app was downloaded (attribute 8, IA5String); empty in the sandbox.
    public var downloadDate: Date?
    /// The version of the store's fulfillment tool (attribute 9, INTEGER).
    public var fulfillmentToolVersion: Int64?
    /// The app's age rating (attribute 10, IA5String), such as `4+`.
    public var ageRating: String?
    /// The developer's number (attribute 11, INTEGER); 0 in the sandbox.
    public var developerID: Int64?
    /// When the receipt was made (attribute 12, IA5String). Certificates are judged at this date.
    public var creationDate: Date
    /// The system's version (attribute 13, INTEGER), seen as `170200`.
    public var systemVersion: Int64?
    /// The number of the app's download (attribute 15, INTEGER); 0 in the sandbox.
    public var downloadID: Int64
    /// The number of the app's version (attribute 16, INTEGER); 0 in the sandbox.
    public var versionExternalIdentifier: Int64
    /// The purchases, one attribute 17 each.
    public var inApp: [InAppPurchase]
    /// When the app itself was bought (attribute 18, IA5String); always 2013-08-01T07:00:00Z in the sandbox.
    public var originalPurchaseDate: Date?
    /// The version of the app that was bought first (attribute 19, UTF8String); `1.0` in the sandbox.
    public var originalApplicationVersion: String?
    /// When the receipt expires (attribute 21, IA5String); present only for volume purchases, and as 4001-01-01 from
    /// Xcode.
    public var expirationDate: Date?
    /// The attributes that have no property of their own (6, 7, 14, 20, 25 and any others), with unchanged values.
    public var otherAttributes: [ReceiptAttribute]

    /// Creates the contents of an app receipt.
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

    /// The environment of the store that made the receipt, by attribute 0; nil for Xcode and for unknown values.
    public var environment: StoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        default: nil
        }
    }
}

/// An attribute with its value as it is in the receipt.
public struct ReceiptAttribute: Sendable, Equatable {
    /// The attribute's number.
    public var type: Int64
    /// The attribute's version.
    public var version: Int64
    /// The content of the value's OCTET STRING.
    public var value: [UInt8]

    /// Creates an attribute.
    public init(type: Int64, version: Int64, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}
