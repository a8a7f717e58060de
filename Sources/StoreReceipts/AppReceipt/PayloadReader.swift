import Foundation

/// Reads a receipt's payload, `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, in one pass.
///
/// The encodings come from Apple's "Receipt fields" and, where they are undocumented, from receipts of Apple's server
/// and of Xcode. The reader accepts any order, keeps unknown attributes, and accepts empty dates and the absence of
/// attributes that Xcode leaves out.
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
        var others = OtherAttributes(usual: [])
        var seen = SeenTypes(base: 0)
        while !attributes.isAtEnd {
            let attribute = try nextAttribute(&attributes)
            if attribute.type == 17 {
                // A receipt with one purchase often holds more, and growing the array step by step would move them all.
                if receipt.inApp.isEmpty {
                    receipt.inApp.reserveCapacity(min(16, 1 + payload.count / max(64, attribute.value.remaining)))
                }
                receipt.inApp.append(try purchase(attribute.value))
                continue
            }
            if (0...25).contains(attribute.type) { try seen.insert(attribute.type) }
            if try !receipt.take(attribute) {
                others.append(attribute)
            }
        }
        receipt.otherAttributes = others.attributes
        try seen.require(Self.requiredOfReceipt)
        return receipt
    }

    private mutating func purchase(_ value: BERCursor) throws(ReceiptRejection) -> InAppPurchase {
        var value = value
        var attributes = try value.inside(try value.next(BERTag.set, "a purchase's set"))
        try value.expectEnd("a purchase")
        var purchase = InAppPurchase.unread
        var others = OtherAttributes(usual: InAppPurchase.serverAttributes)
        var seen = SeenTypes(base: 1_700)
        while !attributes.isAtEnd {
            let attribute = try nextAttribute(&attributes)
            if (1_700...1_763).contains(attribute.type) { try seen.insert(attribute.type) }
            if try !purchase.take(attribute) {
                others.append(attribute)
            }
        }
        purchase.otherAttributes = others.attributes
        try seen.require(Self.requiredOfPurchase)
        return purchase
    }

    private static let requiredOfReceipt: UInt64 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 12
    private static let requiredOfPurchase: UInt64 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4

    @inline(__always)
    private mutating func nextAttribute(_ attributes: inout BERCursor) throws(ReceiptRejection) -> PayloadAttribute {
        guard remainingAttributes > 0 else { throw ReceiptRejection(.tooLarge, "the payload has too many attributes") }
        remainingAttributes -= 1
        if let attribute = attributes.nextPurchaseAttribute() { return attribute }
        var parts = try attributes.inside(try attributes.next(BERTag.sequence, "an attribute"))
        let type = try parts.integer("an attribute's type")
        let version = try parts.integer("an attribute's version")
        let value = try parts.inside(try parts.next(BERTag.octetString, "an attribute's value"))
        try parts.expectEnd("an attribute")
        return PayloadAttribute(type: type, version: version, value: value)
    }
}

/// The attributes that were read. Each known attribute may occur only once; otherwise two readers of one receipt could
/// see different values.
private struct SeenTypes {
    /// The attribute number of the lowest bit.
    let base: Int64
    private var mask: UInt64 = 0

    init(base: Int64) {
        self.base = base
    }

    /// Adds a number from the base to 63 above it.
    @inline(__always)
    mutating func insert(_ number: Int64) throws(ReceiptRejection) {
        let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: number - base)
        guard mask & bit == 0 else { throw Self.rejection(number, "appears twice") }
        mask |= bit
    }

    func require(_ types: UInt64) throws(ReceiptRejection) {
        let missing = types & ~mask
        guard missing == 0 else { throw Self.rejection(base + Int64(missing.trailingZeroBitCount), "is missing") }
    }

    @inline(never)
    private static func rejection(_ number: Int64, _ what: StaticString) -> ReceiptRejection {
        ReceiptRejection(.malformed, "attribute \(number) \(what)")
    }
}

extension AppReceipt {
    fileprivate static var unread: AppReceipt {
        AppReceipt(
            receiptType: "", appItemID: 0, bundleID: "", bundleIDValue: [], applicationVersion: "", opaqueValue: [],
            deviceHash: [],
            downloadDate: nil, fulfillmentToolVersion: nil, ageRating: nil, developerID: nil,
            creationDate: Date(timeIntervalSinceReferenceDate: 0),
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
            quantity: 0, productID: "", transactionID: "", purchaseDate: Date(timeIntervalSinceReferenceDate: 0),
            originalTransactionID: nil,
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
        case 1_705: originalTransactionID = try attribute.text(or: transactionID)
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
