/// Suggests known names for an unknown name.
enum Suggestion {
    /// Returns a sentence for the end of an error message: the most similar name, or else a list of the known names.
    /// - Parameters:
    ///   - names: the known names, at least one.
    ///   - what: the kind of names, when the sentence before does not say it.
    static func text(for name: String, among names: [String], of what: String = "") -> String {
        let near = names.min { distance($0, name) < distance($1, name) }
        let limit = name.count < 4 ? 1 : max(2, name.count / 4)
        if let near, distance(near, name) <= limit { return "Did you mean \(Style.printable(near))?" }
        let what = what.isEmpty ? "" : what + ": "
        return "There are \(what)\(names.prefix(8).map(Style.printable).joined(separator: ", "))"
            + (names.count > 8 ? " and \(names.count - 8) more." : ".")
    }

    /// Returns the edit distance: the number of characters to insert, delete or replace to turn one text into the
    /// other.
    static func distance(_ one: String, _ other: String) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (index, character) in one.enumerated() {
            var corner = row[0]
            row[0] = index + 1
            for (column, another) in other.enumerated() {
                let replaced = corner + (character == another ? 0 : 1)
                corner = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, corner + 1)
            }
        }
        return row[other.count]
    }
}
