import ControlWire
import Foundation
import StoreReceipts

extension ControlAPI {
    /// Writes a time as ISO 8601 with milliseconds, in UTC.
    static func text(_ milliseconds: Int64) -> String {
        // The milliseconds are written apart: the format style sometimes rounds those of a floating-point date down by
        // one.
        let (seconds, rest) = (Int64((Double(milliseconds) / 1000).rounded(.down)), (milliseconds % 1000 + 1000) % 1000)
        let date = Date(timeIntervalSince1970: Double(seconds))
        return date.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: false))
            + ".\(String(rest + 1000).dropFirst())Z"
    }

    /// Reads ISO 8601 with or without fractions of a second. Returns nil for a day or a time that does not exist.
    /// (Foundation reads 30 February as 2 March.)
    static func milliseconds(_ text: String) -> Int64? { ReceiptDate(rfc3339: text.utf8)?.milliseconds }
}
