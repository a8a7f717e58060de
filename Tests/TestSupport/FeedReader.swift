import Database
import Foundation

/// Reads partner feeds from the published grammar alone. It shares no code with the writer: archives are unpacked by
/// bzip2, and the table comes from the first entry of the tar, without a look at the others.
public struct FeedReader: Sendable {
    /// What a file does not follow.
    public struct Violation: Error, CustomStringConvertible {
        /// The rule.
        public var description: String
    }

    /// The name in the archive.
    public var name: String
    /// The whole file.
    public var bytes: [UInt8]
    /// The names of the columns.
    public var columns: [String]
    /// The types of the columns.
    public var types: [String]
    /// The names of the key's columns.
    public var key: [String]
    /// `FULL` or `INCREMENTAL`; nil in a flat file.
    public var mode: String?
    /// The comments about the terms.
    public var legal: Int
    /// The records before the rows.
    public var headers: Int
    /// The rows; nil for NULL.
    public var rows: [[String?]]

    /// Unpacks an archive into its entries.
    public static func entries(ofArchive archive: [UInt8]) throws -> [(name: String, header: [UInt8], bytes: [UInt8])] {
        try entries(ofArchives: [archive])
    }

    /// Unpacks archives into their entries, all by one bzip2: to start a program for each takes a busy machine long.
    public static func entries(
        ofArchives archives: [[UInt8]]
    ) throws -> [(name: String, header: [UInt8], bytes: [UInt8])] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["bzip2", "-dc"]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        let writer = Thread {
            for archive in archives { try? input.fileHandleForWriting.write(contentsOf: Data(archive)) }
            try? input.fileHandleForWriting.close()
        }
        writer.start()
        let tar = [UInt8](try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Violation(description: "bzip2 refuses the archive") }
        var (found, offset, ends) = ([(name: String, header: [UInt8], bytes: [UInt8])](), 0, 0)
        while offset < tar.count {
            while offset + 512 <= tar.count, tar[offset] != 0 {
                let header = Array(tar[offset..<(offset + 512)])
                func text(_ range: Range<Int>) -> String {
                    String(decoding: header[range].prefix { $0 != 0 }, as: UTF8.self)
                }
                guard let length = Int(text(124..<135), radix: 8) else {
                    throw Violation(description: "a length in a tar")
                }
                let start = offset + 512
                guard start + length <= tar.count else { throw Violation(description: "a tar that is cut") }
                found.append((text(0..<100), header, Array(tar[start..<(start + length)])))
                offset = start + (length + 511) / 512 * 512
            }
            guard offset < tar.count else { throw Violation(description: "a tar without an end") }
            let next = tar[offset...].firstIndex { $0 != 0 } ?? tar.count
            guard next - offset >= 1024, next % 512 == 0 else { throw Violation(description: "the end of a tar") }
            (offset, ends) = (next, ends + 1)
        }
        guard ends == archives.count else { throw Violation(description: "\(ends) tars in \(archives.count) archives") }
        return found
    }

    /// Reads a table of the relational grammar.
    public init(name: String, relational bytes: [UInt8]) throws {
        try self.init(name: name, bytes, fieldEnd: 0x01, recordEnd: [0x02, 0x0A])
        guard mode != nil, columns.first == "export_date" else { throw Violation(description: "\(name): the header") }
    }

    /// Reads a flat file.
    public init(name: String, flat bytes: [UInt8]) throws {
        try self.init(name: name, bytes, fieldEnd: 0x09, recordEnd: [0x0A])
        guard mode == nil, key.isEmpty else { throw Violation(description: "\(name): the header of a flat file") }
    }

    private init(name: String, _ bytes: [UInt8], fieldEnd: UInt8, recordEnd: [UInt8]) throws {
        (self.name, self.bytes) = (name, bytes)
        (columns, types, key, mode, legal, headers, rows) = ([], [], [], nil, 0, 0, [])
        // As readers do: the number of rows comes from the last 40 bytes, decoded on their own.
        guard bytes.count >= 40, let footer = String(validating: bytes.suffix(40), as: UTF8.self),
            let mark = footer.range(of: "#recordsWritten:"),
            let count = Int(footer[mark.upperBound...].prefix { $0.isNumber })
        else { throw Violation(description: "\(name): the footer") }
        var records: [[UInt8]] = []
        var start = 0
        var index = 0
        while index + recordEnd.count <= bytes.count {
            if bytes[index] == recordEnd[0], Array(bytes[index..<(index + recordEnd.count)]) == recordEnd {
                records.append(Array(bytes[start..<index]))
                start = index + recordEnd.count
                index = start
            } else {
                index += 1
            }
        }
        guard start == bytes.count else { throw Violation(description: "\(name): bytes after the last record") }
        for (position, record) in records.enumerated() {
            guard let text = String(validating: record, as: UTF8.self) else {
                throw Violation(description: "\(name): a record that is no UTF-8")
            }
            func list(_ start: String) -> [String]? {
                guard text.hasPrefix(start) else { return nil }
                return record.dropFirst(start.utf8.count).split(
                    separator: fieldEnd, omittingEmptySubsequences: false
                ).map { String(decoding: $0, as: UTF8.self) }
            }
            if text.hasPrefix("##legal:") {
                legal += 1
            } else if let found = list("#primaryKey:") {
                key = found
            } else if let found = list("#dbTypes:") {
                types = found
            } else if let found = list("#exportMode:") {
                mode = found[0]
            } else if text.hasPrefix("#recordsWritten:") {
                guard position == records.count - 1 else { throw Violation(description: "\(name): an early footer") }
            } else if let found = list("#") {
                guard position == 0 else { continue }
                columns = found
            } else {
                if rows.isEmpty { headers = position }
                rows.append(
                    record.split(separator: fieldEnd, omittingEmptySubsequences: false).map {
                        $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self)
                    })
            }
        }
        guard columns.count == types.count, rows.allSatisfy({ $0.count == columns.count }), rows.count == count else {
            throw Violation(
                description:
                    "\(name): \(columns.count) columns, \(types.count) types, \(rows.count) rows of \(count), fields "
                    + "\(Set(rows.map(\.count)))")
        }
    }

    // MARK: Loading

    /// The name of the table that ``load(_:)`` fills.
    public var tableName: String { "epf_" + (name.split(separator: "/").last.map(String.init) ?? name) }

    /// Loads the table as importers do: a full one replaces the table, an incremental one its rows by key.
    public func load(_ connection: Connection) throws {
        if mode == "FULL" {
            try connection.execute("DROP TABLE IF EXISTS \(tableName)")
            let definitions = zip(columns, types).map { "\($0) \(Self.type($1))" }
            try connection.execute(
                "CREATE TABLE \(tableName) (\(definitions.joined(separator: ", ")), PRIMARY KEY (\(key.joined(separator: ", "))))"
            )
        }
        let updates = columns.filter { !key.contains($0) }.map { "\($0) = excluded.\($0)" }
        // Many rows in one statement: PostgreSQL is asked once for each. A statement has at most 999 arguments.
        let most = min(50, 999 / columns.count)
        for start in stride(from: 0, to: rows.count, by: most) {
            let part = rows[start..<min(start + most, rows.count)]
            let values = part.indices.map { row in
                let first = (row - start) * types.count + 1
                return types.enumerated().map { "CAST($\(first + $0) AS \(Self.type($1)))" }.joined(separator: ", ")
            }
            try connection.execute(
                "INSERT INTO \(tableName) (\(columns.joined(separator: ", "))) VALUES "
                    + values.map { "(\($0))" }.joined(separator: ", ")
                    + " ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(updates.joined(separator: ", "))",
                Array(part.joined()))
        }
    }

    private static func type(_ type: String) -> String {
        switch type {
        case "LONGTEXT", "DATETIME": "TEXT"
        // Two and three digits after the point are the same number, and stay the text that they are.
        case let type where type.hasPrefix("DECIMAL"): "TEXT"
        case "BOOLEAN", "INTEGER": "BIGINT"
        default: type
        }
    }
}
