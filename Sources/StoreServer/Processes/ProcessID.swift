import CornerstoreEncoding

/// Identifiers that name the process that made them: two hexadecimal digits of its node number, then 120 random bits in
/// thirty digits. A proxy can send requests to the right process by them.
enum ProcessID {
    /// A new identifier of the process with a node number.
    static func make(node: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let random = (0..<15).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return name(ofNode: node) + Hexadecimal.encoded(random)
    }

    /// The node number in an identifier; nil for a text of another form.
    static func node(in id: String) -> Int? {
        guard id.utf8.count == 32, let bytes = Hexadecimal.decoded(id) else { return nil }
        return bytes.first.map { Int($0) }
    }

    /// A node number as identifiers begin with it.
    static func name(ofNode node: Int) -> String { Hexadecimal.encoded([UInt8(truncatingIfNeeded: node)]) }
}
