/// Columns under a heading, as wide as their widest text. A column with nothing in any row is left out.
struct Table {
    private var heading: [String]
    private var rows: [[String]]

    /// - Parameter rows: each as long as the heading.
    init(heading: [String], rows: [[String]]) {
        let used = heading.indices.filter { column in rows.isEmpty || rows.contains { !$0[column].isEmpty } }
        self.heading = used.map { heading[$0] }
        self.rows = rows.map { row in used.map { row[$0] } }
    }

    /// The lines, joined. A table without rows is only its heading.
    func text(_ style: Style) -> String {
        let rows = rows.map { $0.map { Style.printable($0) } }
        let widths = heading.indices.map { column in
            ([heading] + rows).map { $0[column].count }.max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            let padded = cells.enumerated().map { column, cell in
                column == cells.count - 1
                    ? cell : cell + String(repeating: " ", count: max(0, widths[column] - cell.count))
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        return ([style.bold(line(heading))] + rows.map(line)).joined(separator: "\n")
    }

    /// Names and values, a line each, the values under one another.
    static func fields(_ fields: [(String, String?)], _ style: Style) -> String {
        let fields = fields.compactMap { name, value in value.map { (name, Style.printable($0)) } }
        let width = fields.map(\.0.count).max() ?? 0
        return fields.map { name, value in
            style.dim(name + String(repeating: " ", count: width - name.count)) + "  " + value
        }.joined(separator: "\n")
    }
}
