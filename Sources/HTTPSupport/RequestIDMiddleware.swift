import HTTPTypes
import Hummingbird
import Logging

/// Uses the id that a client or a proxy gave the request in `X-Request-Id`: the log lines and the answer carry it. An
/// id that is not 1 to 64 letters, digits and `-_.:` is ignored, and the request keeps the server's own id.
public struct RequestIDMiddleware<Context: RequestContext>: RouterMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Passes the request on under its id, and adds the id to the response.
    /// - Throws: the error of `next`.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let id = request.headers[.requestID], RequestIDText.isGood(id) else {
            return try await next(request, context)
        }
        var context = context
        context.logger[metadataKey: "hb.request.id"] = .string(id)
        var response = try await next(request, context)
        response.headers[.requestID] = id
        return response
    }
}

/// The rules for request ids from outside.
enum RequestIDText {
    static func isGood(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
