extension InAppPurchase {
    /// The number of the attribute in which Cornerstore marks a purchase that a family shares. Apple's receipts are not
    /// known to have one, although `verifyReceipt` answers with `in_app_ownership_type`.
    public static let familySharedType: Int64 = 9_002

    /// Whether a member of the family bought the product; false for all purchases from Apple, which do not say.
    public var isFamilyShared: Bool {
        // Most purchases have the usual attributes alone.
        otherAttributes.count > Self.serverAttributes.count
            && otherAttributes.contains { $0.type == Self.familySharedType && $0.value == [0x02, 1, 1] }
    }

    /// The attributes that a server adds, including the account token and the mark of Family Sharing if there are any.
    public static func serverAttributes(accountToken: String?, isFamilyShared: Bool) -> [ReceiptAttribute] {
        let attributes = serverAttributes(accountToken: accountToken)
        return isFamilyShared
            ? attributes + [ReceiptAttribute(type: familySharedType, version: 1, value: [0x02, 1, 1])] : attributes
    }
}
