import Foundation

/// Reads a receipt's payload, `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, in one pass.
///
/// Encodings: Apple's "Receipt fields" and, where undocumented, receipts of Apple's server and of Xcode. Tolerated: any
/// order, unknown attributes (kept), empty dates, and missing attributes that Xcode leaves out.
struct PayloadReader {
    private var remainingAttributes: Int

    init(limits: ReceiptLimits) {
        remainingAttributes = limits.attributeCount
    }

    /// Reads the payload's octets.
    mutating func receipt(_ payload: UnsafeRawBufferPointer) throws(ReceiptRejection) -> AppReceipt {
        var top = BERCursor(bytes: payload, range: 0..<payload.count, depth: 5)
        // Older Xcodes wrap the SET in one more OCTET STRING.
        if top.upcomingTag == BERTag.octetString {
            let wrapped = try top.next().content
            try top.expectEnd("the payload")
            top = BERCursor(bytes: payload, range: wrapped, depth: 6)
        }
        var attributes = try top.inside(try top.next(BERTag.set, "the payload's set"))
        try top.expectEnd("the payload")
        var receipt = AppReceipt.unread
        receipt.otherAttributes.reserveCapacity(7)
        var seen = SeenTypes(base: 0)
        while !attributes.isAtEnd {
            let attribute = try nextAttribute(&attributes)
            if attribute.type == 17 {
                receipt.inApp.append(try purchase(attribute.value))
                continue
            }
            if (0...25).contains(attribute.type) { try seen.insert(attribute.type) }
            if try !receipt.take(attribute) {
                receipt.otherAttributes.append(attribute.kept)
            }
        }
        try seen.require([0, 2, 3, 4, 5, 12])
        return receipt
    }

    private mutating func purchase(_ value: BERCursor) throws(ReceiptRejection) -> InAppPurchase {
        var value = value
        var attributes = try value.inside(try value.next(BERTag.set, "a purchase's set"))
        try value.expectEnd("a purchase")
        var purchase = InAppPurchase.unread
        purchase.otherAttributes.reserveCapacity(7)
        var seen = SeenTypes(base: 1_700)
        while !attributes.isAtEnd {
            let attribute = try nextAttribute(&attributes)
            if (1_700...1_763).contains(attribute.type) { try seen.insert(attribute.type) }
            if try !purchase.take(attribute) {
                purchase.otherAttributes.append(attribute.kept)
            }
        }
        try seen.require([1, 2, 3, 4])
        return purchase
    }

    private mutating func nextAttribute(_ attributes: inout BERCursor) throws(ReceiptRejection) -> PayloadAttribute {
        guard remainingAttributes > 0 else { throw ReceiptRejection(.tooLarge, "the payload has too many attributes") }
        remainingAttributes -= 1
        var parts = try attributes.inside(try attributes.next(BERTag.sequence, "an attribute"))
        let type = try parts.integer("an attribute's type")
        let version = try parts.integer("an attribute's version")
        let value = try parts.inside(try parts.next(BERTag.octetString, "an attribute's value"))
        try parts.expectEnd("an attribute")
        return PayloadAttribute(type: type, version: version, value: value)
    }
}

/// Which attributes were there: each known one may come once, or two readers of one receipt could see two different
/// things.
private struct SeenTypes {
    /// The number that the lowest bit stands for.
    let base: Int64
    private var mask: UInt64 = 0

    init(base: Int64) {
        self.base = base
    }

    mutating func insert(_ number: Int64) throws(ReceiptRejection) {
        let type = number - base
        let bit: UInt64 = 1 << UInt64(type)
        guard mask & bit == 0 else { throw ReceiptRejection(.malformed, "attribute \(base + type) comes twice") }
        mask |= bit
    }

    func require(_ types: [Int64]) throws(ReceiptRejection) {
        for type in types where mask & (1 << UInt64(type)) == 0 {
            throw ReceiptRejection(.malformed, "attribute \(base + type) is missing")
        }
    }
}

/// One attribute in place.
struct PayloadAttribute {
    let type: Int64
    let version: Int64
    let value: BERCursor

    /// The value as it stands. The constants of Apple's server are shared rather than allocated for every purchase.
    var kept: ReceiptAttribute {
        let range = value.position..<value.end
        let octets: [UInt8] =
            if value.matches(range, Self.emptyText) {
                Self.emptyText
            } else if value.matches(range, Self.zero) {
                Self.zero
            } else {
                Array(value.bytes[range])
            }
        return ReceiptAttribute(type: type, version: version, value: octets)
    }

    private static let emptyText: [UInt8] = [BERTag.utf8String, 0]
    private static let zero: [UInt8] = [BERTag.integer, 1, 0]

    /// The value's octets.
    var octets: [UInt8] { Array(value.bytes[value.position..<value.end]) }

    /// The value as one INTEGER.
    func integer() throws(ReceiptRejection) -> Int64 {
        var cursor = value
        let integer = try cursor.integer("an attribute's value")
        try expectEnd(cursor)
        return integer
    }

    /// The value as one UTF8String or IA5String.
    func text() throws(ReceiptRejection) -> String {
        let characters = try string()
        let range = UnsafeRawBufferPointer(rebasing: value.bytes[characters])
        guard let text = String(validating: range, as: UTF8.self) else {
            throw ReceiptRejection(.malformed, "attribute \(type) is not UTF-8")
        }
        return text
    }

    /// The value as a date; nil where it is empty.
    func date() throws(ReceiptRejection) -> Date? {
        if value.isAtEnd { return nil }
        let characters = try string()
        if characters.isEmpty { return nil }
        guard let date = RFC3339.parse(UnsafeRawBufferPointer(rebasing: value.bytes[characters])) else {
            throw ReceiptRejection(.malformed, "attribute \(type) is not a date of RFC 3339")
        }
        return date
    }

    /// The value as a date that must be there.
    func requiredDate() throws(ReceiptRejection) -> Date {
        guard let date = try date() else { throw ReceiptRejection(.malformed, "attribute \(type) is empty") }
        return date
    }

    private func string() throws(ReceiptRejection) -> Range<Int> {
        var cursor = value
        let element = try cursor.next()
        guard element.tag == BERTag.utf8String || element.tag == BERTag.ia5String else {
            throw ReceiptRejection(.malformed, "attribute \(type) is not a string")
        }
        try expectEnd(cursor)
        return element.content
    }

    private func expectEnd(_ cursor: BERCursor) throws(ReceiptRejection) {
        guard cursor.isAtEnd else { throw ReceiptRejection(.malformed, "attribute \(type) holds more than one value") }
    }
}

extension AppReceipt {
    fileprivate static var unread: AppReceipt {
        AppReceipt(
            receiptType: "", appItemID: 0, bundleID: "", bundleIDValue: [], applicationVersion: "", opaqueValue: [],
            deviceHash: [],
            downloadDate: nil, fulfillmentToolVersion: nil, ageRating: nil, developerID: nil,
            creationDate: .distantPast,
            systemVersion: nil, downloadID: 0, versionExternalIdentifier: 0, inApp: [], originalPurchaseDate: nil,
            originalApplicationVersion: nil, expirationDate: nil, otherAttributes: []
        )
    }

    /// Takes an attribute that has a property; false for the others.
    fileprivate mutating func take(_ attribute: PayloadAttribute) throws(ReceiptRejection) -> Bool {
        switch attribute.type {
        case 0: receiptType = try attribute.text()
        case 1: appItemID = try attribute.integer()
        case 2:
            bundleID = try attribute.text()
            bundleIDValue = attribute.octets
        case 3: applicationVersion = try attribute.text()
        case 4: opaqueValue = attribute.octets
        case 5: deviceHash = attribute.octets
        case 8: downloadDate = try attribute.date()
        case 9: fulfillmentToolVersion = try attribute.integer()
        case 10: ageRating = try attribute.text()
        case 11: developerID = try attribute.integer()
        case 12: creationDate = try attribute.requiredDate()
        case 13: systemVersion = try attribute.integer()
        case 15: downloadID = try attribute.integer()
        case 16: versionExternalIdentifier = try attribute.integer()
        case 18: originalPurchaseDate = try attribute.date()
        case 19: originalApplicationVersion = try attribute.text()
        case 21: expirationDate = try attribute.date()
        default: return false
        }
        return true
    }
}

extension InAppPurchase {
    fileprivate static var unread: InAppPurchase {
        InAppPurchase(
            quantity: 0, productID: "", transactionID: "", purchaseDate: .distantPast, originalTransactionID: nil,
            originalPurchaseDate: nil, productType: nil, expiresDate: nil, itemID: nil, webOrderLineItemID: nil,
            cancellationDate: nil, isTrialPeriod: nil, isInIntroOfferPeriod: nil, promotionalOfferID: nil,
            otherAttributes: []
        )
    }

    /// Takes an attribute that has a property; false for the others.
    fileprivate mutating func take(_ attribute: PayloadAttribute) throws(ReceiptRejection) -> Bool {
        switch attribute.type {
        case 1_701: quantity = try attribute.integer()
        case 1_702: productID = try attribute.text()
        case 1_703: transactionID = try attribute.text()
        case 1_704: purchaseDate = try attribute.requiredDate()
        case 1_705: originalTransactionID = try attribute.text()
        case 1_706: originalPurchaseDate = try attribute.date()
        case 1_707: productType = try attribute.integer()
        case 1_708: expiresDate = try attribute.date()
        case 1_710: itemID = try attribute.integer()
        case 1_711: webOrderLineItemID = try attribute.integer()
        case 1_712: cancellationDate = try attribute.date()
        case 1_713: isTrialPeriod = try attribute.integer() != 0
        case 1_719: isInIntroOfferPeriod = try attribute.integer() != 0
        case 1_721: promotionalOfferID = try attribute.text()
        default: return false
        }
        return true
    }
}
