import HTTPTypes
import Hummingbird

/// The rules for the `Host` field of a request (RFC 9112, section 3.2).
enum HostField {
    /// Whether the value is a host name or address with an optional port. It may be empty, for a request whose target
    /// has no host.
    static func isGood(_ value: some StringProtocol) -> Bool {
        value.utf8.count <= 512
            && value.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "%"), UInt8(ascii: "!"),
                    UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="):
                    true
                default: false
                }
            }
    }
}

/// Refuses a request without a `Host`, with several, or with an invalid one: 400.
///
/// Two servers on a request's way may each choose a different one of several hosts, and together admit a request that
/// either would refuse alone. An HTTP/1.0 request needs no `Host`.
public struct HostMiddleware<Context: RequestContext>: RouterMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Passes the request on if its `Host` is valid.
    /// - Throws: ``HTTPProblem`` 400 otherwise.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        // The first `Host` is the authority; NIO leaves further ones among the fields.
        guard let host = request.head.authority, request.headers[.host] == nil, HostField.isGood(host) else {
            throw HTTPProblem(
                .badRequest, code: "invalid_request",
                message: "The request must have one Host field, and it must name a host. Send it once.")
        }
        return try await next(request, context)
    }
}

extension HTTPField.Name {
    fileprivate static let host = HTTPField.Name("host") ?? .server
}
