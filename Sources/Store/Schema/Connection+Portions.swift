import Database

extension Connection {
    /// Runs a query about many values, 50 at a time. One statement serves all portions: the last one repeats its last
    /// value.
    /// - Parameter text: makes the statement with the places of a portion's values: `$1, $2`.
    func query(portionsOf values: [any SQLConvertible], _ text: (String) -> String) throws -> [Row] {
        let portion = 50
        let statement = text((1...portion).map { "$\($0)" }.joined(separator: ", "))
        return try stride(from: 0, to: values.count, by: portion).flatMap { start in
            try query(statement, (start..<start + portion).map { values[min($0, values.count - 1)] })
        }
    }
}
