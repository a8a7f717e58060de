import Foundation

extension JSONEncoder {
    /// Writes JSON for programs: on one line, with sorted keys and unescaped slashes, so that equal values have equal
    /// text.
    package static var compact: JSONEncoder { JSONEncoder([.sortedKeys, .withoutEscapingSlashes]) }

    /// Writes JSON for people: the same on many lines.
    package static var readable: JSONEncoder { JSONEncoder([.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]) }

    private convenience init(_ formatting: OutputFormatting) {
        self.init()
        outputFormatting = formatting
    }
}
