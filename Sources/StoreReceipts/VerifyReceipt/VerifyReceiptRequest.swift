import CornerstoreEncoding
import StoreWire

/// The body of `POST /verifyReceipt`: a JSON object with `receipt-data`, `password` and `exclude-old-transactions`
/// (Apple's "requestBody"). Its content type does not matter, and unknown members are ignored.
public struct VerifyReceiptRequest: Sendable, Equatable {
    /// The decoded `receipt-data`: a PKCS#7 app receipt or an iOS 6 transaction receipt. ``ReceiptKind`` detects which.
    public var receiptData: [UInt8]
    /// The app's shared secret: `password`. It must never be logged.
    public var password: String?
    /// Whether old transactions are left out: `exclude-old-transactions`; false when missing.
    public var excludeOldTransactions: Bool

    /// Creates a request.
    public init(receiptData: [UInt8], password: String?, excludeOldTransactions: Bool) {
        self.receiptData = receiptData
        self.password = password
        self.excludeOldTransactions = excludeOldTransactions
    }

    /// The longest `password`, in bytes; Apple's are 32 hexadecimal digits.
    public static let maximumPassword = 1_024

    /// The reason why a body is not a valid request.
    public struct Failure: Error, Sendable, Equatable {
        /// The kind of failure.
        public enum Code: Sendable, Equatable {
            /// The body is not a JSON object, or contains a member of the request twice (21000).
            case notJSON
            /// A member is missing, of another type, too long or not Base64 (21002).
            case malformedReceipt
        }

        /// The kind of failure.
        public var code: Code
        /// The details for the log. They contain nothing of the body but names and offsets.
        public var detail: String

        /// Creates a failure.
        public init(_ code: Code, _ detail: String) {
            self.code = code
            self.detail = detail
        }

        /// The outcome from which ``VerifyReceiptStatus`` derives the answer's status.
        public var outcome: VerificationOutcome {
            switch code {
            case .notJSON: .notJSON
            case .malformedReceipt: .malformedReceipt
            }
        }
    }

    /// Reads a body.
    /// - Throws: ``Failure``.
    public init(body: [UInt8]) throws(Failure) {
        try self.init(body: body.span)
    }

    /// Reads a body in one pass and decodes the receipt on the way.
    /// - Throws: ``Failure``, also for a body of more than ``StoreLimits/verifyReceiptRequest`` bytes.
    public init(body: Span<UInt8>) throws(Failure) {
        guard body.count <= StoreLimits.verifyReceiptRequest else {
            throw Failure(.malformedReceipt, "the body is over \(StoreLimits.verifyReceiptRequest) bytes")
        }
        var reader = VerifyReceiptRequestReader()
        do throws(FlatJSONScanner.Failure) {
            try reader.read(body)
        } catch {
            throw Failure(.notJSON, "at byte \(error.offset): \(error.reason)")
        }
        if let complaint = reader.complaint { throw Failure(.malformedReceipt, complaint) }
        guard let receiptData = reader.receiptData else { throw Failure(.malformedReceipt, "receipt-data is missing") }
        self.init(
            receiptData: receiptData, password: reader.password,
            excludeOldTransactions: reader.excludeOldTransactions ?? false
        )
    }

    /// The body in the form that a client sends, with Apple's names.
    public var body: [UInt8] {
        var json = JSONBytes(capacity: receiptData.count / 3 * 4 + 160)
        json.beginObject()
        json.member("receipt-data", base64: receiptData)
        if let password { json.member("password", password) }
        if excludeOldTransactions { json.member("exclude-old-transactions", true) }
        json.endObject()
        return json.bytes
    }
}

/// Collects the members of a request. An invalid member is only noted until the whole body is known to be JSON, because
/// invalid JSON takes precedence.
private struct VerifyReceiptRequestReader {
    private(set) var receiptData: [UInt8]?
    private(set) var password: String?
    private(set) var excludeOldTransactions: Bool?
    private(set) var complaint: String?
    /// The bits of the members that were read.
    private var seen: UInt8 = 0
    private var scanner = FlatJSONScanner()

    private enum Member: UInt8, CaseIterable {
        case receiptData = 1
        case password = 2
        case excludeOldTransactions = 4

        var name: StaticString {
            switch self {
            case .receiptData: "receipt-data"
            case .password: "password"
            case .excludeOldTransactions: "exclude-old-transactions"
            }
        }
    }

    mutating func read(_ json: Span<UInt8>) throws(FlatJSONScanner.Failure) {
        try scanner.beginObject(json)
        var isFirst = true
        while let name = try scanner.nextName(json, isFirst: isFirst) {
            isFirst = false
            guard let member = member(name, json) else {
                try scanner.skipValue(json)
                continue
            }
            guard seen & member.rawValue == 0 else {
                throw FlatJSONScanner.Failure(offset: name.range.lowerBound, reason: "\(member.name) is repeated")
            }
            seen |= member.rawValue
            switch member {
            case .receiptData: try readReceiptData(json)
            case .password: try readPassword(json)
            case .excludeOldTransactions:
                var isOther = false
                excludeOldTransactions = try scanner.flag(json) { isOther = true }
                if isOther { complaint = "exclude-old-transactions is neither true nor false" }
            }
        }
        try scanner.end(json)
    }

    private func member(_ name: FlatJSONScanner.StringToken, _ json: Span<UInt8>) -> Member? {
        // Nearly all names are written without escapes.
        guard name.hasEscapes else {
            for member in Member.allCases where json.holds(member.name, at: name.range) { return member }
            return nil
        }
        // No member's name is longer, even if every character of it is escaped.
        guard name.range.count <= 6 * 24 else { return nil }
        let text = JSONText.unescaped(name, of: json)
        return Member.allCases.first { text.span.holds($0.name, at: text.indices) }
    }

    private mutating func readReceiptData(_ json: Span<UInt8>) throws(FlatJSONScanner.Failure) {
        guard scanner.peek(json) == UInt8(ascii: "\"") else {
            complaint = "receipt-data is not a string"
            return try scanner.skipValue(json)
        }
        // The string is nearly always Base64 up to its closing quotation mark, and then one pass suffices.
        let (bytes, end) = Base64.decodedPrefix(json, from: scanner.position + 1)
        if end < json.count, json[end] == UInt8(ascii: "\"") {
            scanner.move(behindClosingMarkAt: end)
            receiptData = bytes
        } else {
            let token = try scanner.string(json)
            let text = JSONText.unescaped(token, of: json)
            receiptData = Base64.decoded(text.span)
        }
        if receiptData == nil { complaint = "receipt-data is not Base64" }
        if receiptData?.isEmpty == true { complaint = "receipt-data is empty" }
    }

    private mutating func readPassword(_ json: Span<UInt8>) throws(FlatJSONScanner.Failure) {
        guard scanner.peek(json) == UInt8(ascii: "\"") else {
            var isOther = false
            if try scanner.flag(json, other: { isOther = true }) != nil { isOther = true }
            if isOther { complaint = "password is not a string" }
            return
        }
        let token = try scanner.string(json)
        let text = JSONText.unescaped(token, of: json)
        guard text.count <= VerifyReceiptRequest.maximumPassword else {
            complaint = "password is over \(VerifyReceiptRequest.maximumPassword) bytes"
            return
        }
        password = String(decoding: text, as: UTF8.self)
    }
}
