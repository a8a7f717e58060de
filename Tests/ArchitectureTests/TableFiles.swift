/// The rule that one file has the SQL of a table. The extensions of its type, such as `Transactions+History.swift`
/// beside `Transactions.swift`, are part of it.
///
/// The file that writes a table also reads it. Another file may only read it in a joined statement that stands with
/// another table, and only if it is listed in ``joins``.
struct TableFiles {
    /// A file that reads a table of another file.
    struct Join: Hashable {
        var table: String
        /// The file's path without `Sources/`.
        var file: String
    }

    /// The tables that a module creates.
    let tables: Set<String>
    private var writers: [String: Set<String>] = [:]
    private var readers: [String: Set<String>] = [:]

    /// Reads the statements of a module's files. Migrations, in the folder `Schema` or in a file whose name ends with
    /// `Schema`, may change any table.
    init(_ sources: [SwiftSource]) {
        let texts = sources.map { source in
            let code = source.lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
            return (path: String(source.path.dropFirst("Sources/".count)), code: code)
        }
        let files = Dictionary(texts.map { (Self.name($0.path), $0.path) }) { first, _ in first }
        tables = Set(
            texts.flatMap { text in
                text.code.matches(of: /CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)/).map { String($0.1) }
            })
        for text in texts where !Self.isSchema(text.path) {
            for match in text.code.matches(of: /\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN)\s+(\w+)/) {
                let table = String(match.2)
                guard tables.contains(table) else { continue }
                let file = files[String(Self.name(text.path).prefix { $0 != "+" })] ?? text.path
                if match.1 == "FROM" || match.1 == "JOIN" {
                    readers[table, default: []].insert(file)
                } else {
                    writers[table, default: []].insert(file)
                }
            }
        }
    }

    /// A file's name without its folder and `.swift`.
    private static func name(_ path: String) -> String {
        String((path.split(separator: "/").last ?? "").dropLast(".swift".count))
    }

    private static func isSchema(_ path: String) -> Bool { path.contains("/Schema/") || path.hasSuffix("Schema.swift") }

    /// The tables whose SQL stands in more than one file.
    /// - Parameter joins: the files that may read tables of other files.
    func violations(allowing joins: Set<Join>) -> [String] {
        var found: [String] = []
        for table in tables.sorted() {
            let writers = writers[table] ?? []
            if writers.count > 1 {
                found.append("\(table) is written in \(writers.sorted().joined(separator: ", "))")
            }
            let readers = (readers[table] ?? []).subtracting(writers).filter {
                !joins.contains(Join(table: table, file: $0))
            }
            if readers.count + min(writers.count, 1) > 1 {
                found.append("\(table) is read in \(readers.sorted().joined(separator: ", "))")
            }
        }
        return found
    }

    /// The permitted joins that no file makes.
    func unused(_ joins: Set<Join>) -> [Join] {
        joins.filter { tables.contains($0.table) && readers[$0.table]?.contains($0.file) != true }
    }
}
