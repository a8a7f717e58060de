/// A value of a catalog file with its place in the file.
struct SourceNode: Sendable {
    indirect enum Content: Sendable {
        case null
        case bool(Bool)
        /// A number as its literal.
        case number(String)
        case string(String)
        case array([SourceNode])
        /// In the file's order; no key appears twice.
        case object([Member])
    }

    struct Member: Sendable {
        var key: String
        var line: Int
        var value: SourceNode
    }

    var content: Content
    /// The line, from 1.
    var line: Int
    /// The column in characters, from 1.
    var column: Int

    /// The value without its place.
    var value: JSONValue {
        switch content {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let literal): .number(literal)
        case .string(let value): .string(value)
        case .array(let elements): .array(elements.map(\.value))
        case .object(let members):
            .object(Dictionary(members.map { ($0.key, $0.value.value) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// The value's type, for messages.
    var kind: String {
        switch content {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// The limits of a catalog file.
enum CatalogLimits {
    /// Bytes of a `.storekit` file.
    static let storeKitFile = 16 << 20
    /// Bytes of a YAML catalog, whose parser takes far more time and memory for each byte.
    static let yamlFile = 4 << 20
    /// Levels of arrays and objects in a `.storekit` file.
    static let depth = 64
    /// Levels in a YAML catalog, where apps and the keys under `xcode` are nested deeper.
    static let yamlDepth = depth + 4
    /// Bytes of a key in a `.storekit` file. A YAML parser takes keys of up to 1024 characters, escapes included.
    static let key = 128
    /// Values in one file.
    static let values = 500_000
    /// Products of one app.
    static let products = 10_000
    /// Apps of one file.
    static let apps = 1_000
    /// Elements of every other list.
    static let list = 1_000
    /// Bytes of a text.
    static let text = 64 << 10
    /// Problems in one error.
    static let problems = 100
}
