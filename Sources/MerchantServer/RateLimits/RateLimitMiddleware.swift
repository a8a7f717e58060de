import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore

/// Holds back addresses that come too often, before anything else is done for them: also those that guess keys.
struct RateLimitMiddleware: RouterMiddleware {
    typealias Context = MerchantRequestContext

    let limits: RateLimits
    /// Whether a proxy stands before this server that adds the client's address to `X-Forwarded-For`. Without one, the header is the client's invention.
    let isBehindProxy: Bool
    let now: @Sendable () -> Date

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let address = Self.address(request.headers, context.channel.remoteAddress, isBehindProxy: isBehindProxy)
        try limits.take(.address(address), at: now())
        return try await next(request, context)
    }

    /// Whose request it is: the connection's address, or the one that the proxy added last.
    static func address(_ headers: HTTPFields, _ connection: SocketAddress?, isBehindProxy: Bool) -> NetworkAddress {
        guard isBehindProxy, let name = HTTPField.Name("X-Forwarded-For"),
            let last = headers[values: name].last?.split(separator: ",").last,
            let address = NetworkAddress(last.trimmingCharacters(in: .whitespaces))
        else { return NetworkAddress(connection) }
        return address
    }
}
