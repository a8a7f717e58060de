import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire

/// Authenticates requests: the app's user by token, within the user's rate limit, or a backend by API key.
public struct Authentication: Sendable {
    /// The tokens of the app's users.
    public let tokens: UserTokens
    /// The API keys of backends.
    public let keys: APIKeys
    private let limits: RateLimits?
    private let now: @Sendable () -> Date
    /// Whether requests come from a part of this process, which needs no API key.
    var isInProcess = false

    /// Creates an authentication.
    /// - Parameters:
    ///   - limits: the rate limits; nil for no limit.
    ///   - now: the machine's clock.
    public init(tokens: UserTokens, keys: APIKeys, limits: RateLimits?, now: @escaping @Sendable () -> Date) {
        self.tokens = tokens
        self.keys = keys
        self.limits = limits
        self.now = now
    }

    /// Returns the user whose token the request carries, and counts the request.
    /// - Throws: ``HTTPProblem`` 401 `not_signed_in`; 400 `name_not_normalized` for a valid token whose subject is
    ///   not in normalization form C; 429 over the user's rate limit.
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

    /// A user whose token was verified before, and how the request was counted.
    public struct Remembered: Sendable {
        /// The user.
        public let user: UserID
        /// The address that the request was counted for; nil when requests are not counted.
        fileprivate let address: NetworkAddress?
    }

    /// Returns the user of a token that was verified before, and counts the request. Returns nil when the token is not
    /// remembered, or a rate limit is reached: the router then handles the request. Does not wait.
    /// - Parameter address: the client's address, computed only when requests are counted.
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

    /// Undoes the count of a request after ``rememberedUser(authorization:at:)``. Call it when the router handles the
    /// request after all, and so counts it again.
    public func sendTheLongWay(_ remembered: Remembered) {
        guard let limits, let address = remembered.address else { return }
        limits.giveBack(.address(address))
        limits.giveBack(.user(remembered.user))
    }

    /// Redeems a transaction that a user only named. Counts the request for its user and its address until the store
    /// has answered, and afterwards only if the store knows no such transaction in an environment and did not return it
    /// from the other: identifiers can be guessed, and each guess costs a request to the store. A request whose client
    /// has left stays counted.
    /// - Parameter address: the client's address, computed only when requests are counted.
    /// - Throws: ``HTTPProblem`` 429 over one of the rates, without calling `redeem`; the errors of `redeem`.
    func countingGuesses<Answer>(
        of user: UserID, at address: @autoclosure () -> NetworkAddress, _ redeem: () async throws -> Answer
    ) async throws -> Answer {
        guard let limits else { return try await redeem() }
        let now = now()
        let address = address()
        try limits.begin(.guesser(user), at: now)
        var isGuess = false
        defer { limits.end(.guesser(user), counts: isGuess) }
        try limits.begin(.guessingAddress(address), at: now)
        defer { limits.end(.guessingAddress(address), counts: isGuess) }
        do {
            return try await redeem()
        } catch {
            isGuess = (error as? MerchantError)?.isUnknownTransaction == true || error is CancellationError
            throw error
        }
    }

    /// Returns the backend whose API key the request carries. ``RateLimitMiddleware`` has counted the request when it
    /// arrived.
    /// - Throws: ``HTTPProblem`` 401 `not_signed_in`, or 403 `forbidden` when the key lacks the scope.
    public func key(of request: Request, scope: APIScope) async throws -> APIKey {
        let now = now()
        guard let text = request.bearerToken, APIKeys.isKey(text), let key = try await keys.key(text, at: now) else {
            throw Self.notSignedIn("Send a valid API key as Authorization: Bearer.")
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
