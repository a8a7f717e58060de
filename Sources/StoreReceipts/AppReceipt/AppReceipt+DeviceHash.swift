import Crypto

extension AppReceipt {
    /// The device hash (attribute 5): SHA-1 over the device's identifier, attribute 4 and the whole value of attribute
    /// 2, one after another.
    ///
    /// `deviceIdentifier` is the 16 raw bytes of `identifierForVendor`, or the 6 of the built-in interface's MAC
    /// address on a Mac (Apple, "Validating receipts on the device"). It stays SHA-1 where the signature is SHA-256
    /// (TN3138).
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
