import CornerstoreEncoding
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerSupport
import Store
import Synchronization

/// Limits how often one network address may search and look up.
public final class SearchLimit: Sendable {
    private let addresses: Mutex<TokenBuckets<NetworkAddress>>

    /// The largest number of addresses that are counted at the same time.
    static let capacity = 65_536

    /// Creates a limit.
    public init(_ rate: TokenRate) { addresses = Mutex(TokenBuckets(rate, capacity: Self.capacity)) }

    /// Counts a request. Returns false when the address has reached its limit.
    func allows(_ address: NetworkAddress, at seconds: Double) -> Bool {
        addresses.withLock { $0.take(address, at: seconds) == nil }
    }
}

/// Answers `/search` and `/lookup` as Apple's search API does (`Documentation/StoreItems.md`).
struct SearchController: Sendable {
    let finder: ItemFinder
    let limit: SearchLimit?
    let isBehindProxy: Bool

    /// The largest form, in bytes. Clients send one instead of a query to avoid caches.
    private static let largestForm = 64 << 10

    /// The operation of a path.
    enum Operation: String, CaseIterable {
        case search
        case lookup
    }

    func addRoutes(to router: Router<StoreRequestContext>) {
        for operation in Operation.allCases {
            for method in [HTTPRequest.Method.get, .post] {
                router.on("/\(operation)", method: method) { request, context in
                    try await answer(operation, request, context, country: nil)
                }
            }
            // Some clients put the parameters into the path, and are answered with nothing.
            router.get("/\(operation)/**") { request, _ in Self.response(ItemFinder.nothing, to: request) }
        }
    }

    /// Answers a search or lookup.
    /// - Parameter country: the country in the path; nil for none.
    func answer(
        _ operation: Operation, _ request: Request, _ context: StoreRequestContext, country: String?
    ) async throws -> Response {
        guard allows(request, context) else { return Self.refusal }
        var query = request.uri.query ?? ""
        if request.method == .post,
            request.headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") == true
        {
            let form = try await request.boundedBody(upTo: Self.largestForm)
            query += "&" + String(buffer: form)
        }
        let parameters = QueryParameters(query: query)
        return Self.response(
            try operation == .search
                ? finder.search(parameters, country: country) : finder.lookup(parameters, country: country),
            to: request)
    }

    /// Counts a search or lookup of the client. Returns false when its address has reached the limit.
    func allows(_ request: Request, _ context: StoreRequestContext) -> Bool {
        guard let limit else { return true }
        let address = NetworkAddress(
            of: context.channel.remoteAddress, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy)
        return limit.allows(address, at: Double(NIODeadline.now().uptimeNanoseconds) / 1e9)
    }

    private static func response(_ answer: SearchAnswer, to request: Request) -> Response {
        Response(
            status: answer.isValid ? .ok : .badRequest, headers: headers,
            compressing: ByteBuffer(bytes: answer.body), for: request)
    }

    private static let headers: HTTPFields = {
        var headers: HTTPFields = [
            .contentType: "text/javascript; charset=utf-8", .contentDisposition: "attachment; filename=1.txt",
            .cacheControl: "max-age=1",
        ]
        if let name = HTTPField.Name("X-Content-Type-Options") { headers[name] = "nosniff" }
        return headers
    }()

    /// Over the limit, Apple's servers answer with an empty body and no time to wait.
    private static var refusal: Response {
        Response(
            status: .forbidden,
            headers: [.cacheControl: "max-age=0, no-cache, no-store", .accessControlAllowOrigin: "*"])
    }
}
