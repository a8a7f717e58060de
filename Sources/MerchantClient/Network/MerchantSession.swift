import Foundation
import MerchantWire

/// Requests to the merchant with the user's token. The token is requested once, remembered, and requested again after a
/// refusal.
actor MerchantSession {
    /// The number of attempts for a request that a caller waits for.
    private static let attempts = 3
    /// The longest `Retry-After` for which such a request is retried, in seconds.
    private static let longestPause = 2

    /// The user who must be signed in when a request is sent.
    enum ExpectedUser: Sendable, Equatable {
        case anybody
        /// The user with this number, or the first user when nobody had signed in yet.
        case user(Int)
        /// The user who was signed in, or was signing in, in this generation.
        case generation(Int)
    }

    let transport: MerchantTransport
    private let source: @Sendable (_ refused: String?) async throws -> String
    private var known: String?
    private var asking: (refused: String?, task: Task<Result<String, MerchantClientError>, Never>)?
    /// A number that rises when the user changes. A token from an earlier generation is not remembered.
    private var generation = 0
    /// The number of the current user. It rises with each change of the user after the first token. A request for one
    /// user is not sent for the next.
    private var user = 0
    private var hadUser = false

    init(transport: MerchantTransport, token: @escaping @Sendable (_ refused: String?) async throws -> String) {
        self.transport = transport
        source = token
    }

    /// Forgets the token after another user has signed in or the user has signed out.
    func forgetToken() {
        generation += 1
        if hadUser { user += 1 }
        known = nil
        asking = nil
    }

    /// Sends a request and decodes the response, with the user's token if the route needs one. A refused token is
    /// replaced once.
    ///
    /// - Throws: ``MerchantClientError``.
    func ask<Value: Decodable & Sendable>(
        _ route: MerchantRoute, _ body: Data? = nil, of expected: ExpectedUser = .anybody,
        as type: Value.Type = Value.self
    ) async throws(MerchantClientError) -> Value {
        guard route.access == .user else { return try await transport.send(route, body: body).value() }
        return try await withToken(of: expected) { [transport] token throws(MerchantClientError) in
            try await transport.send(route, body: body, token: token).value()
        }
    }

    /// Sends a request that a caller waits for, and repeats it when no response arrives. All routes can be repeated,
    /// but only for the same user: with a key that Ann has already spent, Bob's request would spend again. A request
    /// that waits for the first token is sent for the user who gets the token; a spend is not, because its user is
    /// unknown.
    ///
    /// - Throws: ``MerchantClientError``.
    func askWithRetries<Value: Decodable & Sendable>(
        _ route: MerchantRoute, _ body: Data? = nil, as type: Value.Type = Value.self,
        pause: @Sendable (_ attempt: Int, _ atLeast: Int) async throws -> Void
    ) async throws(MerchantClientError) -> Value {
        let expected = if case .spends = route { ExpectedUser.generation(generation) } else { ExpectedUser.user(user) }
        var attempt = 1
        while true {
            let seconds: Int
            do throws(MerchantClientError) {
                return try await ask(route, body, of: expected)
            } catch {
                seconds = error.retryAfter ?? 0
                // A retry now does not help after a longer `Retry-After`, and the caller should not wait for long.
                guard error.code == .unreachable, seconds <= Self.longestPause, attempt < Self.attempts else {
                    throw error
                }
            }
            do { try await pause(attempt, seconds) } catch {
                throw MerchantClientError(.cancelled, "the request was cancelled")
            }
            attempt += 1
        }
    }

    /// Calls `body` with the user's token, and once more with a new token after a refusal.
    ///
    /// - Throws: ``MerchantClientError``: an error of `body`, or `notSignedIn`.
    func withToken<Value: Sendable>(
        of expected: ExpectedUser = .anybody,
        _ body: @Sendable (String) async throws(MerchantClientError) -> Value
    ) async throws(MerchantClientError) -> Value {
        let first = try await token(refused: nil, of: expected)
        do throws(MerchantClientError) {
            return try await body(first)
        } catch {
            guard error.code == .notSignedIn else { throw error }
        }
        return try await body(try await token(refused: first, of: expected))
    }

    /// Returns the token. Concurrent callers wait for the same token. A token that was requested before the user
    /// changed is discarded.
    ///
    /// - Throws: ``MerchantClientError``: `notSignedIn`, `unreachable` when the token is temporarily unavailable,
    ///   `cancelled` when the token would be another user's.
    private func token(refused: String?, of expected: ExpectedUser) async throws(MerchantClientError) -> String {
        let isMet =
            switch expected {
            case .anybody: true
            case .user(let number): number == user
            case .generation(let number): number == generation
            }
        guard isMet else {
            throw MerchantClientError(.cancelled, "another user signed in after the request began")
        }
        if let known, known != refused { return known }
        let generation = generation
        let task: Task<Result<String, MerchantClientError>, Never>
        if let asking, asking.refused == refused {
            task = asking.task
        } else {
            let source = source
            task = Task {
                do { return .success(try await source(refused)) } catch {
                    return .failure(Self.failure(error))
                }
            }
            asking = (refused, task)
        }
        let answer = await task.value
        guard generation == self.generation else { return try await self.token(refused: nil, of: expected) }
        asking = nil
        // An HTTP header can only contain such tokens. A line break in a token would begin another header.
        if case .success(let token) = answer { known = Self.isSendable(token) ? token : nil }
        let token = try answer.get()
        hadUser = true
        guard Self.isSendable(token) else {
            throw MerchantClientError(.notSignedIn, "the user's token is empty, too long, or not printable")
        }
        return token
    }

    /// The error for a token that the app did not return. A network failure does not mean that the user has to sign in
    /// again.
    private static func failure(_ error: any Error) -> MerchantClientError {
        if let error = error as? MerchantClientError, error.code == .unreachable { return error }
        let code = (error as? URLError)?.code.rawValue ?? (error as NSError).code
        guard (error as NSError).domain == NSURLErrorDomain, code != URLError.userAuthenticationRequired.rawValue else {
            return MerchantClientError(.notSignedIn, "the app returned no user token; sign in")
        }
        return MerchantClientError(
            .unreachable, "the app could not get the user's token: its sign-in cannot be reached (NSURLError \(code))")
    }

    private static func isSendable(_ token: String) -> Bool {
        (1...8192).contains(token.utf8.count) && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
