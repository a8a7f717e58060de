extension InAppPurchase {
    /// The attribute in which Cornerstore writes the account token, a UTF8String. Apple's receipts are not known to have
    /// one, though `verifyReceipt` answers with it; the number lies far from Apple's, and readers pass over what they do
    /// not know.
    public static let accountTokenType: Int64 = 9_001

    /// The account token of a purchase, a UUID in lower case; nil for one without, and for all of Apple's.
    public var accountToken: String? {
        guard let value = otherAttributes.last(where: { $0.type == Self.accountTokenType })?.value,
            value.count == 38, value.starts(with: [0x0C, 36])
        else { return nil }
        return String(validating: value.dropFirst(2), as: UTF8.self)
    }

    /// The attributes that a server adds, with the account token if there is one.
    public static func serverAttributes(accountToken: String?) -> [ReceiptAttribute] {
        guard let accountToken, accountToken.utf8.count == 36 else { return serverAttributes }
        return serverAttributes
            + [ReceiptAttribute(type: accountTokenType, version: 1, value: [0x0C, 36] + Array(accountToken.utf8))]
    }
}
