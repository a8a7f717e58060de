extension InAppPurchase {
    /// The number of the attribute, a UTF8String, in which Cornerstore writes the account token. No receipt of Apple's
    /// is known to have one, although `verifyReceipt` answers with the token. The number is far from Apple's numbers,
    /// and readers skip attributes that they do not know.
    public static let accountTokenType: Int64 = 9_001

    /// The account token of a purchase, a UUID in lower case; nil for a purchase without one and for all purchases from
    /// Apple.
    public var accountToken: String? {
        guard let value = otherAttributes.last(where: { $0.type == Self.accountTokenType })?.value,
            value.count == 38, value.starts(with: [0x0C, 36])
        else { return nil }
        return String(validating: value.dropFirst(2), as: UTF8.self)
    }

    /// The attributes that a server adds, including the account token if there is one.
    public static func serverAttributes(accountToken: String?) -> [ReceiptAttribute] {
        guard let accountToken, accountToken.utf8.count == 36 else { return serverAttributes }
        return serverAttributes
            + [ReceiptAttribute(type: accountTokenType, version: 1, value: [0x0C, 36] + Array(accountToken.utf8))]
    }
}
