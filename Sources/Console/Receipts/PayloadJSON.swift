import CornerstoreEncoding
import Foundation

/// The JSON payload of a JWS. It keeps all members, also those unknown to this program.
package struct PayloadJSON: Encodable {
    private indirect enum Value: Codable {
        case object([String: Value])
        case array([Value])
        case text(String)
        case flag(Bool)
        case integer(Int64)
        case number(Double)
        case null

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .flag(value)
            } else if let value = try? container.decode(Int64.self) {
                self = .integer(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([Value].self) {
                self = .array(value)
            } else {
                self = .object(try container.decode([String: Value].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .object(let members): try container.encode(members)
            case .array(let elements): try container.encode(elements)
            case .text(let text): try container.encode(text)
            case .flag(let flag): try container.encode(flag)
            case .integer(let integer): try container.encode(integer)
            case .number(let number): try container.encode(number)
            case .null: try container.encodeNil()
            }
        }
    }

    private let value: Value

    /// Parses the payload; nil when the bytes are not JSON.
    package init?(bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Value.self, from: Data(bytes)) else { return nil }
        self.value = value
    }

    package func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

    /// The payload as indented JSON, with its members sorted by name.
    package var text: String {
        (try? JSONEncoder.readable.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
