import HTTPTypes
import Hummingbird
import Logging

/// Takes over the id that a client or a proxy gave the request in `X-Request-Id`: the log knows the request by it, and every answer to it says it again.
/// An id that is not 1 to 64 letters, digits and `-_.:` is not taken, and one of the server's own is used.
public struct RequestIDMiddleware<Context: RequestContext>: RouterMiddleware {
    public init() {}

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

/// The ids of requests that are taken from outside.
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
