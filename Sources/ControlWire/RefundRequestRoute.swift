import StoreWire

/// The routes for customers' requests for refunds in one environment. The server routes by ``template``, and the
/// command line requests ``path``.
public enum RefundRequestRoute: Sendable, Hashable {
    /// Lists requests, newest first: a ``ControlAPI/Page`` of ``ControlAPI/RefundRequest``.
    case list(
        StoreEnvironment, bundle: String? = nil, state: String? = nil, before: String? = nil, limit: Int? = nil)
    /// Asks for a refund as the customer: ``ControlAPI/NewRefundRequest``, answered with ``ControlAPI/RefundRequest``.
    case make(StoreEnvironment)
    /// Gets a request: ``ControlAPI/RefundRequest``.
    case request(StoreEnvironment, id: String)
    /// Approves a request: ``ControlAPI/RefundApproval``, answered with ``ControlAPI/RefundRequest``.
    case approve(StoreEnvironment, id: String)
    /// Declines a request, answered with ``ControlAPI/RefundRequest``.
    case decline(StoreEnvironment, id: String)
    /// Gets the rule by which the store decides when deadlines are over: ``ControlAPI/RefundRule``.
    case rule(StoreEnvironment)
    /// Sets the rule: ``ControlAPI/RefundRule``, answered with it.
    case setRule(StoreEnvironment)

    private typealias Line = RouteLine<ControlRoute.Parameter>

    private var line: Line {
        switch self {
        case .list(let store, let bundle, let state, let before, let limit):
            Line(
                .get, store, "refund-requests",
                query: [
                    (.bundle, bundle), (.state, state), (.before, before), (.limit, limit.map(String.init)),
                ])
        case .make(let store): Line(.post, store, "refund-requests")
        case .request(let store, let id): Line(.get, store, "refund-requests/{id}", [id])
        case .approve(let store, let id): Line(.post, store, "refund-requests/{id}/approve", [id])
        case .decline(let store, let id): Line(.post, store, "refund-requests/{id}/decline", [id])
        case .rule(let store): Line(.get, store, "refund-rule")
        case .setRule(let store): Line(.put, store, "refund-rule")
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
    public static let all: [RefundRequestRoute] = [
        .list(.sandbox), .make(.sandbox), .request(.sandbox, id: ""), .approve(.sandbox, id: ""),
        .decline(.sandbox, id: ""), .rule(.sandbox), .setRule(.sandbox),
    ]
}
