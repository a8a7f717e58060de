import Foundation

/// A value of a property list.
public enum PropertyListValue: Sendable, Hashable {
    case string(String)
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case date(Date)
    case data(Data)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])

    /// From what Foundation reads; nil for what no property list holds.
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

    /// As Foundation writes it.
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

/// Foundation reads booleans and all numbers as `NSNumber`; its type code tells them apart.
private enum CFNumberType {
    static func isBoolean(_ number: NSNumber) -> Bool {
        number === (true as NSNumber) || number === (false as NSNumber) || code(number) == UInt8(ascii: "B")
    }

    static func isReal(_ number: NSNumber) -> Bool {
        code(number) == UInt8(ascii: "d") || code(number) == UInt8(ascii: "f")
    }

    private static func code(_ number: NSNumber) -> UInt8 { UInt8(bitPattern: number.objCType.pointee) }
}
