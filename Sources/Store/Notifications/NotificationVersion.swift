/// A version of App Store Server Notifications. The raw values are those of the database and of the control port.
public enum NotificationVersion: Int64, Sendable, CaseIterable {
    /// Version 1, which Apple has deprecated: JSON with a unified receipt.
    case one = 1
    /// Version 2: a signed payload.
    case two = 2
}
