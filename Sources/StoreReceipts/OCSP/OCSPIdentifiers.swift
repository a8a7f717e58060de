/// The tags that OCSP uses besides those of receipts.
extension BERTag {
    static let boolean: UInt8 = 0x01
    static let enumerated: UInt8 = 0x0a
    static let generalizedTime: UInt8 = 0x18
    static let context2: UInt8 = 0xa2
}

/// The contents of the OBJECT IDENTIFIERs of OCSP and of Apple's certificate policy.
extension ObjectIdentifier {
    /// 1.3.6.1.5.5.7.48.1.1
    static let basicOCSPResponse: [UInt8] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01]
    /// 1.3.6.1.5.5.7.48.1.2
    static let ocspNonce: [UInt8] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x02]
    /// 1.2.840.10045.4.3.2
    static let ecdsaWithSHA256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
    /// 1.2.840.113635.100.5.6.1
    static let appleCertificatePolicy: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x05, 0x06, 0x01]
}
