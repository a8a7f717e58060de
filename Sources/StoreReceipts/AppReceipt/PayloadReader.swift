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
        var others = OtherAttributes(usual: [])
        var seen = SeenTypes(base: 0)
        while !attributes.isAtEnd {
            let attribute = try nextAttribute(&attributes)
            if attribute.type == 17 {
                // A receipt that holds one purchase often holds more; growing step by step moves them all.
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

/// Which attributes were there: each known one may come once, or two readers of one receipt could see two different
/// things.
private struct SeenTypes {
    /// The number that the lowest bit stands for.
    let base: Int64
    private var mask: UInt64 = 0

    init(base: Int64) {
        self.base = base
    }

    /// Takes a number from the base to 63 above it.
    @inline(__always)
    mutating func insert(_ number: Int64) throws(ReceiptRejection) {
        let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: number - base)
        guard mask & bit == 0 else { throw Self.rejection(number, "comes twice") }
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

/// Gathers the attributes without a property. As long as they are the usual ones in the usual order, nothing is
/// allocated: the purchases of Apple's server and Cornerstore's all share one array.
private struct OtherAttributes {
    private let usual: [ReceiptAttribute]
    /// How many of the usual ones came, before any other.
    private var usualCount = 0
    /// All that came, once one was not the usual one.
    private var unusual: [ReceiptAttribute] = []

    init(usual: [ReceiptAttribute]) {
        self.usual = usual
    }

    @inline(__always)
    mutating func append(_ attribute: PayloadAttribute) {
        if unusual.isEmpty, usualCount < usual.count, attribute.isKept(usual[usualCount]) {
            usualCount += 1
        } else {
            appendUnusual(attribute)
        }
    }

    @inline(never)
    private mutating func appendUnusual(_ attribute: PayloadAttribute) {
        if unusual.isEmpty {
            unusual.reserveCapacity(8)
            unusual.append(contentsOf: usual.prefix(usualCount))
        }
        unusual.append(attribute.kept)
    }

    var attributes: [ReceiptAttribute] {
        if !unusual.isEmpty { return unusual }
        return usualCount == usual.count ? usual : Array(usual.prefix(usualCount))
    }
}

extension BERCursor {
    /// How many octets are left.
    fileprivate var remaining: Int { end - position }

    /// Reads an attribute in the form that all of a purchase's have: lengths below 128, a type of two octets and a
    /// version of one. Nil for any other form, good or bad, and then nothing was read.
    @inline(__always)
    fileprivate mutating func nextPurchaseAttribute() -> PayloadAttribute? {
        // 30 LL 02 02 TT TT 02 01 VV 04 MM and MM octets of value.
        let headCount = 11
        guard end - position >= headCount, depth + 2 <= Self.maximumDepth, let base = bytes.baseAddress else { return nil }
        let head = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        guard head & 0xFFFF_0000_FFFF_00FF == 0x0102_0000_0202_0030 else { return nil }
        let length = Int(head >> 8 & 0xFF)
        let valueLength = Int(bytes[position + 10])
        guard length < 0x80, length == valueLength + headCount - 2, bytes[position + 9] == BERTag.octetString,
            length + 2 <= end - position
        else { return nil }
        let start = position + headCount
        let type = Int16(truncatingIfNeeded: head >> 40 & 0xFF | (head >> 32 & 0xFF) << 8)
        let attribute = PayloadAttribute(
            type: Int64(type), version: Int64(Int8(bitPattern: bytes[position + 8])),
            value: BERCursor(bytes: bytes, range: start..<start + valueLength, depth: depth + 2))
        skip(length + 2)
        return attribute
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
                value.bytes.octets(range)
            }
        return ReceiptAttribute(type: type, version: version, value: octets)
    }

    /// Whether it would be kept as this one.
    @inline(__always)
    func isKept(_ attribute: ReceiptAttribute) -> Bool {
        type == attribute.type && version == attribute.version
            && value.matches(value.position..<value.end, attribute.value)
    }

    private static let emptyText: [UInt8] = [BERTag.utf8String, 0]
    private static let zero: [UInt8] = [BERTag.integer, 1, 0]

    /// The value's octets.
    var octets: [UInt8] { value.bytes.octets(value.position..<value.end) }

    /// The value as one INTEGER.
    func integer() throws(ReceiptRejection) -> Int64 {
        // 02 01 NN, as nearly all are.
        if value.remaining == 3, value.bytes[value.position] == BERTag.integer, value.bytes[value.position + 1] == 1 {
            return Int64(Int8(bitPattern: value.bytes[value.position + 2]))
        }
        var cursor = value
        let integer = try cursor.integer("an attribute's value")
        try expectEnd(cursor)
        return integer
    }

    /// The value as one UTF8String or IA5String.
    func text() throws(ReceiptRejection) -> String {
        let characters = try string()
        let utf8 = UnsafeRawBufferPointer(rebasing: value.bytes[characters])
        if utf8.isASCII { return String(decoding: utf8, as: UTF8.self) }
        guard let text = String(validating: utf8, as: UTF8.self) else {
            throw ReceiptRejection(.malformed, "attribute \(type) is not UTF-8")
        }
        return text
    }

    /// The value as one UTF8String or IA5String, which is often this one: then it is shared rather than allocated.
    func text(or known: String) throws(ReceiptRejection) -> String {
        let characters = try string()
        var known = known
        let isKnown = known.withUTF8 { utf8 in
            utf8.count == characters.count && utf8.baseAddress.map { base in
                value.bytes.baseAddress.map { memcmp($0 + characters.lowerBound, base, utf8.count) == 0 } ?? false
            } ?? false
        }
        return isKnown ? known : try text()
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
            throw notString
        }
        try expectEnd(cursor)
        return element.content
    }

    @inline(__always)
    private func expectEnd(_ cursor: BERCursor) throws(ReceiptRejection) {
        guard cursor.isAtEnd else { throw moreThanOne }
    }

    private var notString: ReceiptRejection { ReceiptRejection(.malformed, "attribute \(type) is not a string") }
    private var moreThanOne: ReceiptRejection {
        ReceiptRejection(.malformed, "attribute \(type) holds more than one value")
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
            quantity: 0, productID: "", transactionID: "", purchaseDate: Date(timeIntervalSinceReferenceDate: 0), originalTransactionID: nil,
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

extension UnsafeRawBufferPointer {
    /// Whether every octet is below 128.
    fileprivate var isASCII: Bool {
        var union: UInt64 = 0
        var offset = 0
        while offset + 8 <= count {
            union |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            union |= UInt64(self[offset])
            offset += 1
        }
        return union & 0x8080_8080_8080_8080 == 0
    }
}
