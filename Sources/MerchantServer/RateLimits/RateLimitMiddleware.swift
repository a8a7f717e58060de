import Foundation
import HTTPSupport
import Hummingbird

/// Holds back addresses and API keys that come too often, before anything else is done for them.
///
/// A request with a good API key counts for its key alone; every other one counts for its address, also one that
/// guesses keys.
struct RateLimitMiddleware: RouterMiddleware {
    typealias Context = MerchantRequestContext

    let limits: RateLimits
    let keys: APIKeys
    /// Whether a proxy stands before this server that adds the client's address to `X-Forwarded-For`. Without one, the header is the client's invention.
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
        } else {
            try limits.take(.address(address), at: now)
        }
        return try await next(request, context)
    }

    private func take(key text: Substring, from address: NetworkAddress, at now: Date) async throws {
        if let name = keys.knownName(of: text) { return try limits.take(.key(name), at: now) }
        // A key that was never seen costs a look-up in the database, and is the address' guess until it is found good.
        try limits.take(.address(address), at: now)
        guard let key = try await keys.key(text, at: now) else { return }
        limits.giveBack(.address(address))
        try limits.take(.key(key.name), at: now)
    }
}
