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
        let forwardedFor = HTTPField.Name("X-Forwarded-For").flatMap { request.headers[values: $0].last }
        let address = Self.address(
            forwardedFor: forwardedFor, context.channel.remoteAddress, isBehindProxy: isBehindProxy)
        try limits.take(.address(address), at: now())
        return try await next(request, context)
    }

    /// Whose request it is: the connection's address, or the one that the proxy added last.
    /// - Parameter forwardedFor: the last `X-Forwarded-For` field's value.
    static func address(
        forwardedFor: String?, _ connection: SocketAddress?, isBehindProxy: Bool
    ) -> NetworkAddress {
        guard isBehindProxy, let last = forwardedFor?.split(separator: ",").last,
            let address = NetworkAddress(last.trimmingCharacters(in: .whitespaces))
        else { return NetworkAddress(connection) }
        return address
    }
}
