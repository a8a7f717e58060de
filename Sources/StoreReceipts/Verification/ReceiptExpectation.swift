/// The required contents of a receipt besides a signature under the caller's roots. A nil value is not checked.
public struct ReceiptExpectation: Sendable, Equatable {
    /// The bundle identifier, attribute 2.
    public var bundleID: String?
    /// The app's version, attribute 3.
    public var applicationVersion: String?
    /// The identifier of the device that the receipt must have been made for: 16 bytes of `identifierForVendor`, or 6
    /// bytes of a Mac's network interface.
    public var deviceIdentifier: [UInt8]?
    /// Whether to accept receipts of StoreKit testing in Xcode. Such a receipt is of the type `Xcode` and signed with
    /// one self-signed certificate, which must be among the verifier's roots. Otherwise these receipts are
    /// `unknownIssuer`, even if their certificate is among the roots.
    public var allowsXcode: Bool

    /// Creates an expectation of the given values.
    public init(
        bundleID: String? = nil, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil,
        allowsXcode: Bool = false
    ) {
        self.bundleID = bundleID
        self.applicationVersion = applicationVersion
        self.deviceIdentifier = deviceIdentifier
        self.allowsXcode = allowsXcode
    }

    /// The reason to refuse a receipt, checked in Apple's order: bundle id, version, device hash. Nil if the receipt is
    /// as expected.
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

    /// Compares in a time that depends only on the length.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}
