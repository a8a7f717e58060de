import Foundation

/// How moments are shown.
enum Moment {
    /// RFC 3339 in UTC, to the second.
    /// - Parameter milliseconds: since 1970.
    static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(.iso8601)
    }
}
