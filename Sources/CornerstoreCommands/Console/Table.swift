/// A text table. Each column is as wide as its widest text. Columns that are empty in every row are left out.
struct Table {
    private var heading: [String]
    private var rows: [[String]]

    /// - Parameter rows: the rows, each with as many cells as the heading.
    init(heading: [String], rows: [[String]]) {
        let used = heading.indices.filter { column in rows.isEmpty || rows.contains { !$0[column].isEmpty } }
        self.heading = used.map { heading[$0] }
        self.rows = rows.map { row in used.map { row[$0] } }
    }

    /// Returns the table as lines of text. A table without rows consists of its heading only.
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

    /// Returns one line for each name and value, with the values aligned. Fields without a value are left out.
    static func fields(_ fields: [(String, String?)], _ style: Style) -> String {
        let fields = fields.compactMap { name, value in value.map { (name, Style.printable($0)) } }
        let width = fields.map(\.0.count).max() ?? 0
        return fields.map { name, value in
            style.dim(name + String(repeating: " ", count: width - name.count)) + "  " + value
        }.joined(separator: "\n")
    }
}
