/// What a receipt must say to be accepted, beside being signed under the caller's roots. What is nil is not checked.
public struct ReceiptExpectation: Sendable, Equatable {
    /// Attribute 2.
    public var bundleID: String?
    /// Attribute 3.
    public var applicationVersion: String?
    /// The device the receipt must have been made for: 16 bytes of `identifierForVendor`, or 6 of a Mac's interface.
    public var deviceIdentifier: [UInt8]?
    /// Accepts receipts of StoreKit testing in Xcode: signed with one self-signed certificate, which must be one of the
    /// verifier's roots, and of the type `Xcode`. Otherwise such receipts are `unknownIssuer`, even if their
    /// certificate is among the roots.
    public var allowsXcode: Bool

    /// Expects what is given.
    public init(
        bundleID: String? = nil, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil,
        allowsXcode: Bool = false
    ) {
        self.bundleID = bundleID
        self.applicationVersion = applicationVersion
        self.deviceIdentifier = deviceIdentifier
        self.allowsXcode = allowsXcode
    }

    /// The reason to refuse a receipt, in Apple's order: bundle id, version, device hash. Nil if it is as expected.
    func rejection(of receipt: AppReceipt) -> ReceiptRejection? {
        if let bundleID, !receipt.bundleID.hasSameBytes(as: bundleID) {
            return ReceiptRejection(.wrongBundleID, "the receipt is for another bundle id than \(bundleID)")
        }
        if let applicationVersion, receipt.applicationVersion != applicationVersion {
            return ReceiptRejection(.wrongVersion, "the receipt is for another version than \(applicationVersion)")
        }
        if let deviceIdentifier {
            let expected = AppReceipt.deviceHash(
                deviceIdentifier: deviceIdentifier, opaqueValue: receipt.opaqueValue,
                bundleIDValue: receipt.bundleIDValue
            )
            guard Self.areEqual(expected, receipt.deviceHash) else {
                return ReceiptRejection(.wrongDeviceHash, "the receipt was made for another device")
            }
        }
        return nil
    }

    /// Compares in a time that depends on the length only.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}
