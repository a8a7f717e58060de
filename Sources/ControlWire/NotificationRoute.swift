import StoreWire

/// The routes for App Store Server Notifications of one environment. The server routes by ``template``, and the command
/// line requests ``path``.
public enum NotificationRoute: Sendable, Hashable {
    /// Lists the URLs that notifications are sent to, by app: ``ControlAPI/NotificationReceiver``.
    case receivers(StoreEnvironment)
    /// Sets the URL of an app: ``ControlAPI/NotificationReceiverChange``, answered with
    /// ``ControlAPI/NotificationReceiver``.
    case setReceiver(StoreEnvironment, bundle: String)
    /// Removes the URL of an app. Its notifications then go to the merchant beside the store, or nowhere without one.
    case removeReceiver(StoreEnvironment, bundle: String)
    /// Sends a test notification to an app's URL, answered with ``ControlAPI/Notification``.
    case test(StoreEnvironment, bundle: String)
    /// Sends a sample to an app's URL: ``ControlAPI/NotificationSample``, answered with ``ControlAPI/Notification``.
    case sample(StoreEnvironment, bundle: String)
    /// Lists notifications, newest first: a ``ControlAPI/Page`` of ``ControlAPI/Notification``.
    case list(
        StoreEnvironment, bundle: String? = nil, type: String? = nil, state: String? = nil, before: String? = nil,
        limit: Int? = nil)
    /// Gets a notification by its `notificationUUID`: ``ControlAPI/Notification``.
    case notification(StoreEnvironment, id: String)
    /// Sends a notification again, answered with ``ControlAPI/Notification``.
    case resend(StoreEnvironment, id: String)

    private typealias Line = RouteLine<ControlRoute.Parameter>

    private var line: Line {
        switch self {
        case .receivers(let store): Line(.get, store, "notification-urls")
        case .setReceiver(let store, let bundle): Line(.put, store, "notification-urls/{bundle}", [bundle])
        case .removeReceiver(let store, let bundle): Line(.delete, store, "notification-urls/{bundle}", [bundle])
        case .test(let store, let bundle): Line(.post, store, "notification-urls/{bundle}/test", [bundle])
        case .sample(let store, let bundle): Line(.post, store, "notification-urls/{bundle}/sample", [bundle])
        case .list(let store, let bundle, let type, let state, let before, let limit):
            Line(
                .get, store, "notifications",
                query: [
                    (.bundle, bundle), (.type, type), (.state, state), (.before, before),
                    (.limit, limit.map(String.init)),
                ])
        case .notification(let store, let id): Line(.get, store, "notifications/{id}", [id])
        case .resend(let store, let id): Line(.post, store, "notifications/{id}/resend", [id])
        }
    }

    /// The HTTP method of the request.
    public var method: RouteMethod { line.method }

    /// The path, with the names of parameters in braces.
    public var template: String { line.template }

    /// The names of the parameters in the query.
    public var queryNames: [String] { line.queryNames }

    /// The path and query of the request. Parameters that are nil are left out.
    public var path: String { line.path }

    /// One route of each line of the table, with values that stand for any.
    public static let all: [NotificationRoute] = [
        .receivers(.sandbox), .setReceiver(.sandbox, bundle: ""), .removeReceiver(.sandbox, bundle: ""),
        .test(.sandbox, bundle: ""), .sample(.sandbox, bundle: ""), .list(.sandbox), .notification(.sandbox, id: ""),
        .resend(.sandbox, id: ""),
    ]
}
