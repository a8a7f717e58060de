/// The HTTP method of a route.
public enum RouteMethod: String, Sendable {
    /// The method `GET`.
    case get = "GET"
    /// The method `POST`.
    case post = "POST"
    /// The method `PUT`.
    case put = "PUT"
    /// The method `PATCH`.
    case patch = "PATCH"
    /// The method `DELETE`.
    case delete = "DELETE"
}
