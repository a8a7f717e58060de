import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import MerchantWire

/// Tells who makes a request: the app's user by token, within the user's rate, or a backend by API key.
public struct Authentication: Sendable {
    public let tokens: UserTokens
    public let keys: APIKeys
    private let limits: RateLimits?
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - limits: how often one user may come; nil for no bound.
    ///   - now: the machine's clock.
    public init(tokens: UserTokens, keys: APIKeys, limits: RateLimits?, now: @escaping @Sendable () -> Date) {
        self.tokens = tokens
        self.keys = keys
        self.limits = limits
        self.now = now
    }

    /// The user whose token the request carries.
    /// - Throws: ``HTTPProblem`` 401 `not_signed_in`, 400 `name_not_normalized` for a genuine token whose subject is
    ///   not in normalization form C, or 429.
    public func user(of request: Request) throws -> UserID {
        guard let token = request.bearerToken else {
            throw Self.notSignedIn("Send the user's token as Authorization: Bearer.")
        }
        let now = now()
        let user: UserID
        do throws(TokenRejection) {
            user = try tokens.user(String(token), at: now)
        } catch .subjectNotNormalized {
            throw HTTPProblem(
                .badRequest, code: MerchantErrorCode.nameNotNormalized.rawValue,
                message: TokenRejection.subjectNotNormalized.sentence)
        } catch {
            throw Self.notSignedIn(error.sentence)
        }
        try limits?.take(.user(user), at: now)
        return user
    }

    /// A user whose token was verified before, and what the request was counted as.
    public struct Remembered: Sendable {
        public let user: UserID
        /// Nil when nothing is counted.
        fileprivate let address: NetworkAddress?
    }

    /// The user of a token that was verified before, when user and address are within their rates; nil sends the request the long way. Does not wait.
    /// - Parameter address: asked for when it is to be counted.
    public func rememberedUser(authorization: String?, at address: @autoclosure () -> NetworkAddress) -> Remembered? {
        guard let authorization, authorization.prefix(7).lowercased() == "bearer " else { return nil }
        let now = now()
        guard let user = tokens.rememberedUser(String(authorization.dropFirst(7)), at: now) else { return nil }
        guard let limits else { return Remembered(user: user, address: nil) }
        let address = address()
        guard limits.allows(.address(address), at: now) else { return nil }
        guard limits.allows(.user(user), at: now) else {
            limits.giveBack(.address(address))
            return nil
        }
        return Remembered(user: user, address: address)
    }

    /// To be called when the request of a ``rememberedUser(authorization:at:)`` goes the long way after all, where it is counted again.
    public func sendTheLongWay(_ remembered: Remembered) {
        guard let limits, let address = remembered.address else { return }
        limits.giveBack(.address(address))
        limits.giveBack(.user(remembered.user))
    }

    /// The backend whose API key the request carries. It was counted when the request came in
    /// (``RateLimitMiddleware``).
    /// - Throws: ``HTTPProblem`` 401 `not_signed_in`, or 403 `forbidden` when the key lacks the scope.
    public func key(of request: Request, scope: APIScope) async throws -> APIKey {
        let now = now()
        guard let text = request.bearerToken, APIKeys.isKey(text), let key = try await keys.key(text, at: now) else {
            throw Self.notSignedIn("Send an API key that is good as Authorization: Bearer.")
        }
        guard key.scopes.contains(scope) else {
            throw HTTPProblem(
                .forbidden, code: MerchantErrorCode.forbidden.rawValue,
                message: "The API key lacks the scope “\(scope.rawValue)”.")
        }
        return key
    }

    private static func notSignedIn(_ message: String) -> HTTPProblem {
        HTTPProblem(.unauthorized, code: MerchantErrorCode.notSignedIn.rawValue, message: message)
    }
}
