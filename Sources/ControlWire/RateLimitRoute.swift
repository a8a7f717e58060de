import CornerstoreEncoding
import StoreWire

/// The routes for the rate limits of the App Store Server API of one environment. The server routes by ``template``,
/// and the command line requests ``path``.
public enum RateLimitRoute: Sendable, Hashable {
    /// Lists the limits of the apps that have some: ``ControlAPI/RateLimits``.
    case list(StoreEnvironment)
    /// Sets limits of an app: ``ControlAPI/RateLimitChange``, answered with ``ControlAPI/RateLimits``.
    case set(StoreEnvironment, bundle: String)
    /// Ends the limits of an app.
    case remove(StoreEnvironment, bundle: String)

    /// The HTTP method of the request.
    public var method: RouteMethod {
        switch self {
        case .list: .get
        case .set: .put
        case .remove: .delete
        }
    }

    /// The path, with the names of parameters in braces.
    public var template: String {
        switch self {
        case .list: "/control/v1/{environment}/rate-limits"
        case .set, .remove: "/control/v1/{environment}/rate-limits/{bundle}"
        }
    }

    /// The path of the request.
    public var path: String {
        switch self {
        case .list(let store): "/control/v1/\(store.name)/rate-limits"
        case .set(let store, let bundle), .remove(let store, let bundle):
            "/control/v1/\(store.name)/rate-limits/\(bundle.percentEncoded)"
        }
    }

    /// One route of each kind, with values that stand for any.
    public static let all: [RateLimitRoute] = [
        .list(.sandbox), .set(.sandbox, bundle: ""), .remove(.sandbox, bundle: ""),
    ]
}
