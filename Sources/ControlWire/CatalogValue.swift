import Foundation

extension ControlAPI {
    /// A JSON value of a catalog document, such as a product as a YAML catalog describes it
    /// (`Documentation/catalog.schema.json`).
    public indirect enum CatalogValue: Codable, Sendable, Hashable {
        /// `null`. In a change it removes the key.
        case null
        /// `true` or `false`.
        case bool(Bool)
        /// A number, as a decimal.
        case number(Decimal)
        /// A string.
        case string(String)
        /// A list.
        case array([CatalogValue])
        /// An object.
        case object([String: CatalogValue])

        /// The levels of lists and objects that are read.
        private static let depth = 64

        /// Reads any JSON value.
        /// - Throws: `DecodingError` when the value is nested too deeply.
        public init(from decoder: any Decoder) throws {
            guard decoder.codingPath.count <= Self.depth else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "the document is nested too deeply"))
            }
            if let members = try? decoder.container(keyedBy: Name.self) {
                var object: [String: CatalogValue] = [:]
                for key in members.allKeys {
                    object[key.stringValue] = try members.decode(CatalogValue.self, forKey: key)
                }
                self = .object(object)
                return
            }
            if var elements = try? decoder.unkeyedContainer() {
                var array: [CatalogValue] = []
                while !elements.isAtEnd { array.append(try elements.decode(CatalogValue.self)) }
                self = .array(array)
                return
            }
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .null
            } else if let flag = try? value.decode(Bool.self) {
                self = .bool(flag)
            } else if let text = try? value.decode(String.self) {
                self = .string(text)
            } else {
                self = .number(try value.decode(Decimal.self))
            }
        }

        /// Writes the value as JSON.
        /// - Throws: the error of `encoder`.
        public func encode(to encoder: any Encoder) throws {
            switch self {
            case .array(let array):
                var container = encoder.unkeyedContainer()
                for element in array { try container.encode(element) }
            case .object(let object):
                var container = encoder.container(keyedBy: Name.self)
                for (key, value) in object { try container.encode(value, forKey: Name(key)) }
            case .null, .bool, .number, .string:
                var container = encoder.singleValueContainer()
                switch self {
                case .bool(let flag): try container.encode(flag)
                case .number(let number): try container.encode(number)
                case .string(let text): try container.encode(text)
                default: try container.encodeNil()
                }
            }
        }

        /// The value of a key; nil when this is no object or has no such key.
        public subscript(key: String) -> CatalogValue? {
            if case .object(let members) = self { members[key] } else { nil }
        }

        /// The text; nil when this is no string.
        public var text: String? { if case .string(let text) = self { text } else { nil } }

        private struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(_ name: String) { stringValue = name }
            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
    }
}
