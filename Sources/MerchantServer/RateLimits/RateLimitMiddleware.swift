import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import MerchantWire

/// Refuses the requests of addresses and API keys that have reached their rate limit, before anything else is done for
/// them.
///
/// A request with a valid API key counts for its key alone. Every other request counts for its address, including one
/// with a guessed key. A notification counts for its address apart from other requests, and only if it is refused: a
/// store may send many at once, and a sandbox sends each only once.
struct RateLimitMiddleware: RouterMiddleware {
    typealias Context = MerchantRequestContext

    let limits: RateLimits
    let keys: APIKeys
    /// Whether the server is behind a proxy that adds the client's address to `X-Forwarded-For`. Without one, the
    /// client can write anything in the header.
    let isBehindProxy: Bool
    let now: @Sendable () -> Date

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let address = NetworkAddress(
            of: context.channel.remoteAddress, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy)
        let now = now()
        if let text = request.bearerToken, APIKeys.isKey(text) {
            try await take(key: text, from: address, at: now)
        } else if request.method == .post, request.uri.path == MerchantRoute.notifications.path {
            try limits.take(.notifier(address), at: now)
            let response = try await next(request, context)
            if response.status == .ok { limits.giveBack(.notifier(address)) }
            return response
        } else {
            try limits.take(.address(address), at: now)
        }
        return try await next(request, context)
    }

    private func take(key text: Substring, from address: NetworkAddress, at now: Date) async throws {
        if let name = keys.knownName(of: text) { return try limits.take(.key(name), at: now) }
        // An unknown key costs a database look-up, and counts as a guess of its address until it is found valid.
        try limits.take(.address(address), at: now)
        guard let key = try await keys.key(text, at: now) else { return }
        limits.giveBack(.address(address))
        try limits.take(.key(key.name), at: now)
    }
}
