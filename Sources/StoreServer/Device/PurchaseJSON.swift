import CornerstoreEncoding
import Foundation
import StoreWire

// A purchase is the store's most frequent write, and Foundation's coders took a third of its time. These functions read
// and write the same JSON by hand. They leave every unusual form to the coders, which define the format: a test
// compares the two.

extension PurchaseRequest {
    /// Reads the usual form of the request. Returns nil for any other form, which may still be valid.
    init?(usualJSON json: Span<UInt8>) {
        var reader = UsualPurchaseRequest()
        guard (try? reader.read(json)) != nil, let request = reader.request else { return nil }
        self = request
    }
}

/// Collects the members of a request in its usual form: each member at most once, strings without escapes, and short
/// whole numbers.
private struct UsualPurchaseRequest {
    private struct Unusual: Error {}

    private var idempotencyKey: UUID?
    private var bundleID: BundleID?
    private var productID: ProductID?
    private var quantity: Int?
    private var applicationUsername: String?
    private var simulatesAskToBuy: Bool?
    private var agreedPrice: Money?
    private var scanner = FlatJSONScanner()

    var request: PurchaseRequest? {
        guard let idempotencyKey, let bundleID, let productID, let quantity, let simulatesAskToBuy else { return nil }
        return PurchaseRequest(
            idempotencyKey: idempotencyKey, bundleID: bundleID, productID: productID, quantity: quantity,
            applicationUsername: applicationUsername, simulatesAskToBuy: simulatesAskToBuy, agreedPrice: agreedPrice)
    }

    mutating func read(_ json: Span<UInt8>) throws {
        try scanner.beginObject(json)
        var isFirst = true
        while let name = try scanner.nextName(json, isFirst: isFirst) {
            isFirst = false
            switch name.range.count {
            case 8 where name.is("bundleId", json) && bundleID == nil: bundleID = BundleID(try text(json))
            case 8 where name.is("quantity", json) && quantity == nil: quantity = Int(try number(json, digits: 2))
            case 9 where name.is("productId", json) && productID == nil: productID = ProductID(try text(json))
            case 11 where name.is("agreedPrice", json) && agreedPrice == nil: agreedPrice = try money(json)
            case 14 where name.is("idempotencyKey", json) && idempotencyKey == nil:
                guard scanner.peek(json) == UInt8(ascii: "\""),
                    let key = UUID(text: json.extracting(try scanner.string(json).range))
                else { throw Unusual() }
                idempotencyKey = key
            case 17 where name.is("simulatesAskToBuy", json) && simulatesAskToBuy == nil:
                guard let flag = try scanner.flag(json, other: {}) else { throw Unusual() }
                simulatesAskToBuy = flag
            case 19 where name.is("applicationUsername", json) && applicationUsername == nil:
                applicationUsername = try text(json)
            default: throw Unusual()
            }
        }
        try scanner.end(json)
    }

    private mutating func text(_ json: Span<UInt8>) throws -> String {
        guard scanner.peek(json) == UInt8(ascii: "\"") else { throw Unusual() }
        let token = try scanner.string(json)
        guard !token.hasEscapes, let text = String(validating: json.extracting(token.range)) else { throw Unusual() }
        return text
    }

    private mutating func money(_ json: Span<UInt8>) throws -> Money {
        var milliunits: Int64?
        var currency: String?
        var isFirst = true
        try scanner.beginObject(json)
        while let name = try scanner.nextName(json, isFirst: isFirst) {
            isFirst = false
            switch name.range.count {
            case 8 where name.is("currency", json) && currency == nil: currency = try text(json)
            case 10 where name.is("milliunits", json) && milliunits == nil: milliunits = try number(json, digits: 15)
            default: throw Unusual()
            }
        }
        guard let milliunits, let currency else { throw Unusual() }
        return Money(milliunits: milliunits, currency: currency)
    }

    /// Reads a non-negative whole number of at most `digits` digits.
    private mutating func number(_ json: Span<UInt8>, digits: Int) throws -> Int64 {
        _ = scanner.peek(json)
        let start = scanner.position
        try scanner.skipValue(json)
        guard (1...digits).contains(scanner.position - start) else { throw Unusual() }
        var value: Int64 = 0
        for index in start..<scanner.position {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = json[index] else { throw Unusual() }
            value = value * 10 + Int64(json[index] - UInt8(ascii: "0"))
        }
        return value
    }
}

extension FlatJSONScanner.StringToken {
    /// Whether the token is `name`, written without escapes.
    fileprivate func `is`(_ name: StaticString, _ json: Span<UInt8>) -> Bool {
        guard name.utf8CodeUnitCount == range.count else { return false }
        return name.withUTF8Buffer { name in
            for index in 0..<name.count where name[index] != json[range.lowerBound + index] { return false }
            return true
        }
    }
}

extension String {
    fileprivate init?(validating bytes: Span<UInt8>) {
        self.init(bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) } ?? "")
        if isEmpty, !bytes.isEmpty { return nil }
    }
}

extension PurchaseResponse {
    /// The response's JSON. Nil for a failure and for hosted content, which are rare and left to the coders.
    var usualJSON: [UInt8]? {
        guard failure == nil, transaction?.content == nil else { return nil }
        var json = JSONBytes(capacity: 640)
        json.beginObject()
        json.member("state", state.rawValue)
        if let transaction {
            json.beginObject("transaction")
            json.member("transactionId", transaction.transactionID.description)
            json.member("originalTransactionId", transaction.originalTransactionID.description)
            json.member("bundleId", transaction.bundleID.rawValue)
            json.member("productId", transaction.productID.rawValue)
            json.member("kind", transaction.kind.rawValue)
            json.member("quantity", number: Int64(transaction.quantity))
            json.member("purchaseDate", number: transaction.purchaseDate)
            json.member("originalPurchaseDate", number: transaction.originalPurchaseDate)
            if let date = transaction.expiresDate { json.member("expiresDate", number: date) }
            if let name = transaction.applicationUsername { json.member("applicationUsername", name) }
            if let key = transaction.idempotencyKey { json.member("idempotencyKey", key.text) }
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }
}
