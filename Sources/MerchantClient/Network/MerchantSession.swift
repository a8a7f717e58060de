import Foundation
import MerchantWire

/// The merchant's routes with the user's token: asked for once, remembered, and asked for anew when it is refused.
actor MerchantSession {
    /// Attempts of one question that somebody waits for.
    private static let attempts = 3
    /// What somebody who waits may be told to wait between two of them, in seconds.
    private static let longestPause = 2

    /// Who has to be signed in when a question is sent.
    enum Asker: Sendable, Equatable {
        case anybody
        /// The user of that number, or the first one when nobody had signed in yet.
        case user(Int)
        /// Whoever was signed in, or was signing in, when the generation had that number.
        case generation(Int)
    }

    let transport: MerchantTransport
    private let source: @Sendable (_ refused: String?) async throws -> String
    private var known: String?
    private var asking: (refused: String?, task: Task<Result<String, MerchantClientError>, Never>)?
    /// Rises when the user changes: an answer for an earlier one is not remembered.
    private var generation = 0
    /// Whose questions are asked now: rises with each change of the user once anybody has had a token. What is asked in one's name is not asked in the
    /// next one's.
    private var user = 0
    private var hadUser = false

    init(transport: MerchantTransport, token: @escaping @Sendable (_ refused: String?) async throws -> String) {
        self.transport = transport
        source = token
    }

    /// Another user is, or nobody is signed in.
    func forgetToken() {
        generation += 1
        if hadUser { user += 1 }
        known = nil
        asking = nil
    }

    /// Asks for a value, in the user's name where the route wants one. A token that is refused is replaced once.
    ///
    /// - Throws: ``MerchantClientError``.
    func ask<Value: Decodable & Sendable>(
        _ route: MerchantRoute, _ body: Data? = nil, of asker: Asker = .anybody, as type: Value.Type = Value.self
    ) async throws(MerchantClientError) -> Value {
        guard route.access == .user else { return try await transport.send(route, body: body).value() }
        return try await withToken(of: asker) { [transport] token throws(MerchantClientError) in
            try await transport.send(route, body: body, token: token).value()
        }
    }

    /// The same, for what somebody waits for: a lost answer is asked for again at once. All routes can be repeated, but by the same user: under
    /// a key of Ann's that was spent already, Bob would spend, too. A question that waits for the very first token is asked for
    /// the user who gets it; a spend is not, since nobody knows whose it was.
    ///
    /// - Throws: ``MerchantClientError``.
    func askPatiently<Value: Decodable & Sendable>(
        _ route: MerchantRoute, _ body: Data? = nil, as type: Value.Type = Value.self,
        pause: @Sendable (_ attempt: Int, _ atLeast: Int) async throws -> Void
    ) async throws(MerchantClientError) -> Value {
        let asker = if case .spends = route { Asker.generation(generation) } else { Asker.user(user) }
        var attempt = 1
        while true {
            let seconds: Int
            do throws(MerchantClientError) {
                return try await ask(route, body, of: asker)
            } catch {
                seconds = error.retryAfter ?? 0
                // Who is told to come back later is not helped by an attempt now, and who waits is not to wait for long.
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

    /// Does something with the user's token, and once more with another if it was refused.
    ///
    /// - Throws: ``MerchantClientError``, of `body` or `notSignedIn`.
    func withToken<Value: Sendable>(
        of asker: Asker = .anybody,
        _ body: @Sendable (String) async throws(MerchantClientError) -> Value
    ) async throws(MerchantClientError) -> Value {
        let first = try await token(refused: nil, of: asker)
        do throws(MerchantClientError) {
            return try await body(first)
        } catch {
            guard error.code == .notSignedIn else { throw error }
        }
        return try await body(try await token(refused: first, of: asker))
    }

    /// The token; while one is fetched, others wait for it. One that was asked for before the user changed is nobody's.
    ///
    /// - Throws: ``MerchantClientError``: `notSignedIn`, `unreachable` when it cannot be had now, `cancelled` when it would be
    ///   another user's.
    private func token(refused: String?, of asker: Asker) async throws(MerchantClientError) -> String {
        let isMet =
            switch asker {
            case .anybody: true
            case .user(let number): number == user
            case .generation(let number): number == generation
            }
        guard isMet else {
            throw MerchantClientError(.cancelled, "another user has signed in since it was asked")
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
        guard generation == self.generation else { return try await self.token(refused: nil, of: asker) }
        asking = nil
        // A header cannot carry more, and what has a line break in it would carry another header.
        if case .success(let token) = answer { known = Self.isSendable(token) ? token : nil }
        let token = try answer.get()
        hadUser = true
        guard Self.isSendable(token) else {
            throw MerchantClientError(.notSignedIn, "the user's token is empty, too long, or not printable")
        }
        return token
    }

    /// Why the app gave no token. A network that is down is no reason to sign in again.
    private static func failure(_ error: any Error) -> MerchantClientError {
        if let error = error as? MerchantClientError, error.code == .unreachable { return error }
        let code = (error as? URLError)?.code.rawValue ?? (error as NSError).code
        guard (error as NSError).domain == NSURLErrorDomain, code != URLError.userAuthenticationRequired.rawValue else {
            return MerchantClientError(.notSignedIn, "the app has no token of a user; sign in")
        }
        return MerchantClientError(
            .unreachable, "the app could not get the user's token: its sign-in cannot be reached (NSURLError \(code))")
    }

    private static func isSendable(_ token: String) -> Bool {
        (1...8192).contains(token.utf8.count) && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
