/// The errors of the endpoints for notifications.
extension APIError {
    static let startTooFarInPast = APIError(
        4_000_012, "Invalid request. The start date is earlier than the allowed start date.")
    static let invalidPaginationToken = APIError(4_000_014, "Invalid request. The pagination token is invalid.")
    static let invalidNotificationType = APIError(
        4_000_018, "Invalid request. The notification type or subtype is invalid.")
    static let multipleFilters = APIError(
        4_000_019, "Invalid request. Supply either a transaction id or a notification type, but not both.")
    static let invalidTestToken = APIError(4_000_020, "Invalid request. The test notification token is invalid.")
    static let notificationURLNotFound = APIError(
        4_040_007,
        "No App Store Server Notification URL found for provided app. Check that a URL is configured in App Store "
            + "Connect for this environment.")
    static let testNotificationNotFound = APIError(
        4_040_008,
        "Either the test notification token is expired or the notification and status are not yet available.")
}
