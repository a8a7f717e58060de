import Foundation

/// Formats points in time for output.
enum Moment {
    /// Returns the time as RFC 3339 in UTC, to the second.
    /// - Parameter milliseconds: milliseconds since 1970.
    static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(.iso8601)
    }
}
