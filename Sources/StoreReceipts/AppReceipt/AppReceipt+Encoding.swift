import Foundation

extension AppReceipt {
    /// The attributes without a property that Apple's server writes into every receipt, as measured on receipts of 2015
    /// to 2025: 6 and 7, which look encrypted and which only the store can read, 14 and 25, which are small numbers,
    /// and 20, which is empty.
    public static func serverAttributes(attribute6: [UInt8], attribute7: [UInt8]) -> [ReceiptAttribute] {
        [
            ReceiptAttribute(type: 6, version: 1, value: attribute6),
            ReceiptAttribute(type: 7, version: 1, value: attribute7),
            ReceiptAttribute(type: 14, version: 1, value: [BERTag.integer, 2, 0, 229]),
            ReceiptAttribute(type: 20, version: 1, value: [BERTag.utf8String, 0]),
            ReceiptAttribute(type: 25, version: 1, value: [BERTag.integer, 1, 3]),
        ]
    }

    /// The attributes that have a property. Another attribute with one of these numbers would contradict the property.
    private static let propertyTypes: Set<Int64> = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 21]

    /// The payload as Apple's server encodes it: a sorted DER SET, with attribute 4 of version 2 and all others of
    /// version 1. An absent download date is an empty string. Dates lose their fractions of a second.
    func encodedPayload() throws(ReceiptAuthorityError) -> [UInt8] {
        guard bundleIDValue == Self.bundleIDValue(bundleID) else {
            throw ReceiptAuthorityError(.unencodable, "bundleIDValue is not the encoding of the bundle id")
        }
        try ReceiptAttribute.check(otherAttributes, single: 0...25, taken: Self.propertyTypes)
        var set = AttributeSet(expecting: 1_024 + inApp.count * 512)
        set.addText(0, BERTag.utf8String, receiptType.utf8)
        set.addInteger(1, appItemID)
        set.addRaw(2, version: 1, bundleIDValue)
        set.addText(3, BERTag.utf8String, applicationVersion.utf8)
        set.addRaw(4, version: 2, opaqueValue)
        set.addRaw(5, version: 1, deviceHash)
        set.addText(8, BERTag.ia5String, try downloadDate.map(Self.text) ?? [])
        if let fulfillmentToolVersion { set.addInteger(9, fulfillmentToolVersion) }
        if let ageRating { set.addText(10, BERTag.ia5String, try Self.ascii(ageRating)) }
        if let developerID { set.addInteger(11, developerID) }
        set.addText(12, BERTag.ia5String, try Self.text(creationDate))
        if let systemVersion { set.addInteger(13, systemVersion) }
        set.addInteger(15, downloadID)
        set.addInteger(16, versionExternalIdentifier)
        for purchase in inApp { set.addRaw(17, version: 1, try purchase.encoded()) }
        if let originalPurchaseDate { set.addText(18, BERTag.ia5String, try Self.text(originalPurchaseDate)) }
        if let originalApplicationVersion { set.addText(19, BERTag.utf8String, originalApplicationVersion.utf8) }
        if let expirationDate { set.addText(21, BERTag.ia5String, try Self.text(expirationDate)) }
        for attribute in otherAttributes {
            set.addRaw(attribute.type, version: attribute.version, attribute.value)
        }
        return set.encoded()
    }

    /// A date in the form of the attributes.
    fileprivate static func text(_ date: Date) throws(ReceiptAuthorityError) -> [UInt8] {
        guard let text = RFC3339.format(date) else {
            throw ReceiptAuthorityError(.unencodable, "a date is outside the years 1 to 9999")
        }
        return text
    }

    private static func ascii(_ text: String) throws(ReceiptAuthorityError) -> [UInt8] {
        let characters = Array(text.utf8)
        guard characters.allSatisfy({ $0 < 0x80 }) else {
            throw ReceiptAuthorityError(.unencodable, "the age rating is not ASCII")
        }
        return characters
    }
}

extension InAppPurchase {
    /// The attributes without a property that Apple's server writes into every purchase, as measured on receipts of
    /// 2025: 1709 and 1714 to 1718, which are empty, and 1722, which is zero.
    public static let serverAttributes: [ReceiptAttribute] =
        [1_709, 1_714, 1_715, 1_716, 1_717, 1_718].map {
            ReceiptAttribute(type: $0, version: 1, value: [BERTag.utf8String, 0])
        }
        + [ReceiptAttribute(type: 1_722, version: 1, value: [BERTag.integer, 1, 0])]

    private static let propertyTypes: Set<Int64> = [
        1_701, 1_702, 1_703, 1_704, 1_705, 1_706, 1_707, 1_708, 1_710, 1_711, 1_712, 1_713, 1_719, 1_721,
    ]

    /// The value of attribute 17 as Apple's server encodes it. An absent expiration or cancellation date is an empty
    /// string.
    func encoded() throws(ReceiptAuthorityError) -> [UInt8] {
        try ReceiptAttribute.check(otherAttributes, single: 1_700...1_763, taken: Self.propertyTypes)
        var set = AttributeSet(expecting: 512)
        set.addInteger(1_701, quantity)
        set.addText(1_702, BERTag.utf8String, productID.utf8)
        set.addText(1_703, BERTag.utf8String, transactionID.utf8)
        set.addText(1_704, BERTag.ia5String, try AppReceipt.text(purchaseDate))
        if let originalTransactionID { set.addText(1_705, BERTag.utf8String, originalTransactionID.utf8) }
        if let originalPurchaseDate { set.addText(1_706, BERTag.ia5String, try AppReceipt.text(originalPurchaseDate)) }
        if let productType { set.addInteger(1_707, productType) }
        set.addText(1_708, BERTag.ia5String, try expiresDate.map(AppReceipt.text) ?? [])
        if let itemID { set.addInteger(1_710, itemID) }
        if let webOrderLineItemID { set.addInteger(1_711, webOrderLineItemID) }
        set.addText(1_712, BERTag.ia5String, try cancellationDate.map(AppReceipt.text) ?? [])
        if let isTrialPeriod { set.addInteger(1_713, isTrialPeriod ? 1 : 0) }
        if let isInIntroOfferPeriod { set.addInteger(1_719, isInIntroOfferPeriod ? 1 : 0) }
        if let promotionalOfferID { set.addText(1_721, BERTag.utf8String, promotionalOfferID.utf8) }
        for attribute in otherAttributes {
            set.addRaw(attribute.type, version: attribute.version, attribute.value)
        }
        return set.encoded()
    }
}

extension ReceiptAttribute {
    /// Refuses attributes that a reader would refuse or misread: numbers that have a property, and repeated numbers of
    /// Apple's.
    fileprivate static func check(
        _ attributes: [ReceiptAttribute], single: ClosedRange<Int64>, taken: Set<Int64>
    ) throws(ReceiptAuthorityError) {
        for (index, attribute) in attributes.enumerated() where single.contains(attribute.type) {
            guard !taken.contains(attribute.type), !attributes[..<index].contains(where: { $0.type == attribute.type })
            else {
                throw ReceiptAuthorityError(
                    .unencodable, "otherAttributes repeats attribute \(attribute.type)")
            }
        }
    }
}
