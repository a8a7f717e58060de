import CornerstoreEncoding
import StoreWire

/// One line of a table of routes: how its request is written. `Name` is the name of a parameter in the query.
struct RouteLine<Name: RawRepresentable<String>> {
    /// The HTTP method.
    let method: RouteMethod
    /// The path, with the names of parameters in braces.
    let template: String
    /// The values of the path's parameters, in their order.
    let values: [String]
    /// The names and values of the query. Those without a value are left out of a request.
    let query: [(Name, String?)]

    init(_ method: RouteMethod, template: String, _ values: [String], query: [(Name, String?)]) {
        (self.method, self.template, self.values, self.query) = (method, template, values, query)
    }

    /// The names of the parameters in the query.
    var queryNames: [String] { query.map { name, _ in name.rawValue } }

    /// The path and query of the request.
    var path: String {
        var values = values.makeIterator()
        let path = template.split(separator: "/", omittingEmptySubsequences: false).map { part in
            part.hasPrefix("{") ? (values.next() ?? "").percentEncoded : String(part)
        }.joined(separator: "/")
        let pairs = query.compactMap { name, value in value.map { "\(name.rawValue)=\($0.percentEncoded)" } }
        return path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }
}

extension RouteLine<ControlRoute.Parameter> {
    /// A route of one environment.
    /// - Parameters:
    ///   - path: the template after the environment.
    ///   - values: those of the parameters after the environment.
    init(
        _ method: RouteMethod, _ environment: StoreEnvironment, _ path: String, _ values: [String] = [],
        query: [(Name, String?)] = []
    ) {
        self.init(
            method, template: "/control/v1/{environment}/" + path, [environment.name] + values, query: query)
    }
}

extension RouteLine<ManagedRoute.Query> {
    /// A route of the managed catalog.
    /// - Parameter path: the template after the part that all have.
    init(_ method: RouteMethod, _ path: String, _ values: [String] = [], query: [(Name, String?)] = []) {
        self.init(method, template: "/control/v1/managed/" + path, values, query: query)
    }
}
