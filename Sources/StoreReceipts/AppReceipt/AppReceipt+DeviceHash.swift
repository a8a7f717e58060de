import Crypto

extension AppReceipt {
    /// The device hash (attribute 5): SHA-1 over the device's identifier, attribute 4 and the whole value of attribute
    /// 2, in this order.
    ///
    /// `deviceIdentifier` is the 16 raw bytes of `identifierForVendor`, or on a Mac the 6 bytes of the built-in
    /// interface's MAC address (Apple, "Validating receipts on the device"). The hash is SHA-1 even where the signature
    /// uses SHA-256 (TN3138).
    public static func deviceHash(deviceIdentifier: [UInt8], opaqueValue: [UInt8], bundleIDValue: [UInt8]) -> [UInt8] {
        var hash = Insecure.SHA1()
        hash.update(data: deviceIdentifier)
        hash.update(data: opaqueValue)
        hash.update(data: bundleIDValue)
        return Array(hash.finalize())
    }

    /// The value of attribute 2 for a bundle id: a UTF8String with its tag and length.
    public static func bundleIDValue(_ bundleID: String) -> [UInt8] {
        DERWriter.element(BERTag.utf8String, Array(bundleID.utf8))
    }
}
