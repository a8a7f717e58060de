import Foundation

/// A value of a property list.
public enum PropertyListValue: Sendable, Hashable {
    /// A string.
    case string(String)
    /// A boolean.
    case boolean(Bool)
    /// A whole number.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// A date.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// An array of values.
    case array([PropertyListValue])
    /// Values by key.
    case dictionary([String: PropertyListValue])

    /// Creates a value from Foundation's type; nil for a type that no property list contains.
    init?(foundationValue value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let number as NSNumber:
            if CFNumberType.isBoolean(number) {
                self = .boolean(number.boolValue)
            } else if CFNumberType.isReal(number) {
                self = .real(number.doubleValue)
            } else {
                self = .integer(number.int64Value)
            }
        case let date as Date: self = .date(date)
        case let data as Data: self = .data(data)
        case let list as [Any]:
            var values: [PropertyListValue] = []
            for element in list {
                guard let value = PropertyListValue(foundationValue: element) else { return nil }
                values.append(value)
            }
            self = .array(values)
        case let keys as [String: Any]:
            var values: [String: PropertyListValue] = [:]
            for (key, element) in keys {
                guard let value = PropertyListValue(foundationValue: element) else { return nil }
                values[key] = value
            }
            self = .dictionary(values)
        default: return nil
        }
    }

    /// The value as Foundation's type.
    var foundationValue: Any {
        switch self {
        case .string(let text): text
        case .boolean(let flag): flag
        case .integer(let number): number
        case .real(let number): number
        case .date(let date): date
        case .data(let data): data
        case .array(let values): values.map(\.foundationValue)
        case .dictionary(let values): values.mapValues(\.foundationValue)
        }
    }
}

/// Distinguishes booleans and kinds of numbers by their type codes, because Foundation reads all of them as `NSNumber`.
private enum CFNumberType {
    static func isBoolean(_ number: NSNumber) -> Bool {
        number === (true as NSNumber) || number === (false as NSNumber) || code(number) == UInt8(ascii: "B")
    }

    static func isReal(_ number: NSNumber) -> Bool {
        code(number) == UInt8(ascii: "d") || code(number) == UInt8(ascii: "f")
    }

    private static func code(_ number: NSNumber) -> UInt8 { UInt8(bitPattern: number.objCType.pointee) }
}
