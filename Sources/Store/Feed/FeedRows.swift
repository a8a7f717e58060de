import CornerstoreEncoding
import Foundation
import StoreWire

/// Writes a table's rows to a file: one part of the table, because several threads write parts of it at once.
///
/// Rows are bytes from the start. A row as a `String`, or a dictionary of fields, takes longer than compressing it.
final class FeedRows {
    let table: FeedTable
    private let grammar: FeedGrammar
    private let path: String
    private let file: FeedFile
    /// The bytes of `export_date`, which every row of the relational grammar begins with.
    private let start: [UInt8]
    private let limits: [Int]
    private let recordEnd: [UInt8]
    private let fieldEnd: UInt8
    private let bufferSize: Int
    private var row: [UInt8] = []
    private var out: [UInt8] = []
    /// The last row whose end is ASCII. It waits, so that it can be the last one of the file.
    private var held: [UInt8] = []
    private var fields = 0
    private var count = 0
    private var written: Int64 = 0

    /// - Parameters:
    ///   - path: the file to create.
    ///   - bufferSize: the bytes that are collected before the file is written.
    init(
        _ table: FeedTable, _ grammar: FeedGrammar, day: FeedDay, at path: String, bufferSize: Int = 128 << 10
    ) throws {
        self.table = table
        self.grammar = grammar
        self.path = path
        self.bufferSize = bufferSize
        file = try FeedFile(path)
        start = grammar == .relational ? Array(String(day.milliseconds).utf8) : []
        limits = table.columns.map { $0.limit ?? 0 }
        recordEnd = grammar.recordEnd
        fieldEnd = grammar.fieldEnd
        out.reserveCapacity(bufferSize + 4096)
        begin()
    }

    private func begin() {
        row.removeAll(keepingCapacity: true)
        row.append(contentsOf: start)
        fields = 1
    }

    private func separate() {
        if !row.isEmpty { row.append(fieldEnd) }
        fields += 1
    }

    // MARK: Fields

    /// Adds an integer; nil for NULL.
    func add(_ number: Int64?) {
        separate()
        guard let number else { return }
        append(number)
    }

    /// Adds a small integer.
    func add(_ number: Int) { add(Int64(number)) }

    private func append(_ number: Int64) {
        if number < 0 { row.append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, first) = (number.magnitude, 20)
            repeat {
                first -= 1
                digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            row.append(contentsOf: digits[first...])
        }
    }

    func add(_ flag: Bool) {
        separate()
        row.append(flag ? UInt8(ascii: "1") : UInt8(ascii: "0"))
    }

    /// Adds NULL, which is an empty field.
    func addNull(_ count: Int = 1) { for _ in 0..<count { separate() } }

    /// Adds a text, without the bytes that would end the field or the record, and no longer than its column; nil for
    /// NULL.
    func add(_ text: String?) {
        separate()
        guard var text else { return }
        let limit = fields <= limits.count ? limits[fields - 1] : 0
        text.withUTF8 { bytes in
            var part = bytes
            if limit > 0, part.count > limit { part = UnsafeBufferPointer(rebasing: part[..<Self.end(part, limit)]) }
            if grammar == .relational {
                if part.contains(where: { $0 < 3 }) {
                    // PostgreSQL stores no NUL either.
                    row.append(contentsOf: part.lazy.filter { $0 > 2 })
                } else {
                    row.append(contentsOf: part)
                }
            } else {
                row.append(contentsOf: part.lazy.filter { $0 != 0 }.map { (9...13).contains($0) ? 0x20 : $0 })
            }
        }
    }

    /// The index after the first `limit` characters, counted as databases count them: in Unicode scalars.
    private static func end(_ bytes: UnsafeBufferPointer<UInt8>, _ limit: Int) -> Int {
        var scalars = 0
        for (index, byte) in bytes.enumerated() where byte & 0xC0 != 0x80 {
            if scalars == limit { return index }
            scalars += 1
        }
        return bytes.count
    }

    /// Adds a day such as `2026 01 07` of a time in milliseconds since 1970.
    func addDay(_ milliseconds: Int64) {
        separate()
        let time = CivilTime(secondsSince1970: milliseconds.flooredQuotient(1000))
        guard (0...9999).contains(time.year) else { return }
        withUnsafeTemporaryAllocation(byteCount: 10, alignment: 1) { day in
            guard let base = day.baseAddress else { return }
            time.writeDay(to: base)
            (day[4], day[7]) = (0x20, 0x20)
            row.append(contentsOf: day)
        }
    }

    /// Adds a price: `0.99`, and `120` in a currency that has no smaller unit.
    func add(_ price: Money) { addPrice(price.milliunits, isWhole: Self.isWhole(price.currency)) }

    /// Adds a price in milliunits.
    /// - Parameter isWhole: whether the currency has no smaller unit.
    func addPrice(_ milliunits: Int64, isWhole: Bool) {
        separate()
        let (whole, rest) = milliunits.quotientAndRemainder(dividingBy: 1000)
        append(whole)
        if rest == 0, isWhole { return }
        row.append(UInt8(ascii: "."))
        let digits = Int(rest.magnitude)
        row.append(UInt8(ascii: "0") + UInt8(digits / 100))
        row.append(UInt8(ascii: "0") + UInt8(digits / 10 % 10))
        if digits % 10 != 0 { row.append(UInt8(ascii: "0") + UInt8(digits % 10)) }
    }

    /// Whether a currency has no smaller unit (ISO 4217).
    static func isWhole(_ currency: String) -> Bool { Money.wholeCurrencies.contains(currency) }

    /// The greatest price that `DECIMAL(9,3)` holds.
    static let highestPrice: Int64 = 999_999_999

    // MARK: Records

    /// Ends the row.
    /// - Throws: ``StoreError`` when the row has more or fewer fields than the table has columns.
    func end() throws {
        guard fields == table.columns.count else {
            throw StoreError(
                .unavailable,
                "A row of the feed's table \(table.name) has \(fields) fields instead of \(table.columns.count). Report "
                    + "this as an error of Cornerstore.")
        }
        row.append(contentsOf: recordEnd)
        count += 1
        if row.suffix(FeedGrammar.footer).allSatisfy({ $0 < 0x80 }) {
            swap(&row, &held)
        }
        out.append(contentsOf: row)
        begin()
        if out.count >= bufferSize { try flush() }
    }

    private func flush() throws {
        try out.withUnsafeBytes { try file.write($0) }
        written += Int64(out.count)
        out.removeAll(keepingCapacity: true)
    }

    /// Ends the part.
    func finish() throws -> FeedPart {
        try flush()
        try file.close(isDurable: false)
        return FeedPart(path: path, length: written, rows: count, last: held)
    }
}

/// The rows of a part of a table.
struct FeedPart: Sendable {
    /// The file with all rows but one.
    var path: String
    /// The file's length in bytes.
    var length: Int64
    /// The number of rows.
    var rows: Int
    /// The row that is not in the file; empty when it has all.
    var last: [UInt8]
}

/// A whole table of a feed, as pieces.
struct FeedTableFile: Sendable {
    /// A piece of the file.
    enum Piece: Sendable {
        case bytes([UInt8])
        case file(String)
    }

    /// The table's name, and the file's.
    var name: String
    var pieces: [Piece]
    var length: Int64
    var rows: Int

    /// Puts a table together from its parts.
    init(_ table: FeedTable, name: String? = nil, _ grammar: FeedGrammar, _ mode: FeedMode, _ parts: [FeedPart]) {
        self.name = name ?? table.name
        let header = grammar.header(of: table, mode)
        rows = parts.reduce(0) { $0 + $1.rows }
        pieces = [.bytes(header)] + parts.filter { $0.length > 0 }.map { .file($0.path) }
        // The shortest rows go before the longest, which reaches furthest back from the file's end.
        let last = parts.map(\.last).sorted { $0.count < $1.count }
        let trailer = grammar.trailer(rows: rows)
        let isASCII = rows == 0 || (last.last?.count ?? 0) + trailer.count >= FeedGrammar.footer
        pieces.append(.bytes(Array(last.joined()) + (isASCII ? [] : grammar.filler) + trailer))
        length = parts.reduce(0) { $0 + $1.length }
        for case .bytes(let bytes) in pieces { length += Int64(bytes.count) }
    }

    /// Reads the file from its start.
    func read(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): try bytes.withUnsafeBytes(body)
            case .file(let path): try readFeedFile(path, body)
            }
        }
    }
}
