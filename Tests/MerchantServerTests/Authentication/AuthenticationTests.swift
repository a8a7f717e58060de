import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Merchant
import MerchantWire
import ServerSupport
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Who makes a request", .timeLimit(.minutes(1)))
struct AuthenticationTests {
    private let clock = ManualPacing()

    private func authentication(limits: RateLimits? = nil) async throws -> Authentication {
        Authentication(
            tokens: try await TokenSamples.tokens(), keys: APIKeys(KeysInMemory()), limits: limits,
            now: { [clock] in clock.now })
    }

    /// A server with a route for users, one for backends and the metrics.
    private func application(
        _ authentication: Authentication, limits: RateLimits? = nil, isBehindProxy: Bool = false, log: Logger = .silent
    ) -> some ApplicationProtocol {
        let router = Router(context: MerchantRequestContext.self)
        let metrics = PrometheusMetrics()
        router.add(middleware: RequestMetricsMiddleware(metrics))
        router.add(middleware: ProblemMiddleware { _ in nil })
        if let limits {
            router.add(
                middleware: RateLimitMiddleware(
                    limits: limits, keys: authentication.keys, isBehindProxy: isBehindProxy,
                    now: { [clock] in clock.now }))
        }
        router.get("/me/{name}") { request, _ in try authentication.user(of: request).rawValue }
        router.get("/backend") { request, _ in try await authentication.key(of: request, scope: .ledger).name }
        MetricsController(metrics: metrics, authentication: authentication).addRoutes(to: router)
        return Application(router: router, logger: log)
    }

    @Test func aRefusalsRequestIDIsInTheLog() async throws {
        let lines = LogLines()
        try await application(try await authentication(), log: lines.logger).test(.router) { client in
            try await client.execute(uri: "/me/x", method: .get) { response in
                let id = try #require(response.headers[.requestID])
                #expect(String(buffer: response.body).contains(id))
                let line = try #require(lines.all.first { $0.text.contains("request refused") })
                #expect(
                    line.text.contains(id) && line.text.contains("not_signed_in") && line.text.contains("/me/{name}"))
            }
        }
    }

    @Test func aNameHasOneSpelling() async throws {
        let (composed, decomposed) = (UserID("Jos\u{e9}"), UserID("Jose\u{301}"))
        // Each is counted for itself.
        let rate = TokenRate(burst: 1, perSecond: 0.001)
        let limits = RateLimits(.init(address: rate, user: rate, key: rate))
        #expect(limits.allows(.user(composed), at: clock.now) && limits.allows(.user(decomposed), at: clock.now))
        #expect(!limits.allows(.user(composed), at: clock.now))
        let authentication = try await authentication()
        try await application(authentication).test(.router) { client in
            for (user, status, text) in [
                (composed, HTTPResponse.Status.ok, composed.rawValue), (decomposed, .badRequest, "name_not_normalized"),
            ] {
                let token = try TokenSamples.token(claims: ["sub": user.rawValue])
                for _ in 0..<2 {
                    try await client.execute(uri: "/me/x", method: .get, headers: [.authorization: "Bearer \(token)"]) {
                        #expect($0.status == status)
                        #expect(String(buffer: $0.body).utf8.contains(text.utf8))
                    }
                }
            }
        }
        let error = await #expect(throws: MerchantServerError.self) {
            try await authentication.tokens.makeToken(for: decomposed, at: clock.now)
        }
        #expect(error?.detail.contains("normalization form C") == true)
    }

    @Test func whatIsNotThereForNowSaysWhenToComeBack() {
        #expect(HTTPProblem.merchant(MerchantError(.unavailable))?.retryAfter == 1)
        #expect(HTTPProblem.merchant(MerchantError(.storeUnavailable, "later", retryAfter: 7))?.retryAfter == 7)
        #expect(HTTPProblem.merchant(MerchantError(.invalidRequest))?.retryAfter == nil)
    }

    @Test func usersComeByTokenAndBackendsByKey() async throws {
        let authentication = try await authentication()
        let token = try TokenSamples.token()
        let good = try await authentication.keys.make(name: "shop", scopes: [.ledger], at: clock.now).text
        let other = try await authentication.keys.make(name: "desk", scopes: [.products], at: clock.now).text
        let cases: [(String, String?, HTTPResponse.Status, String)] = [
            ("/me/x", "Bearer \(token)", .ok, "ann"), ("/me/x", "bearer \(token)", .ok, "ann"),
            ("/me/x", nil, .unauthorized, "not_signed_in"), ("/me/x", "Basic \(token)", .unauthorized, "not_signed_in"),
            ("/me/x", "Bearer \(good)", .unauthorized, "not_signed_in"),
            ("/backend", "Bearer \(good)", .ok, "shop"), ("/backend", nil, .unauthorized, "not_signed_in"),
            ("/backend", "Bearer \(token)", .unauthorized, "not_signed_in"),
            ("/backend", "Bearer \(other)", .forbidden, "forbidden"),
        ]
        try await application(authentication).test(.router) { client in
            for (path, authorization, status, text) in cases {
                let headers: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
                try await client.execute(uri: path, method: .get, headers: headers) { response in
                    #expect(response.status == status, "\(path) \(authorization ?? "")")
                    #expect(String(buffer: response.body).contains(text))
                    #expect((response.headers[.wwwAuthenticate] == "Bearer") == (status == .unauthorized))
                }
            }
        }
    }

    @Test func theRememberedWayAnswersOnlyWhatWasVerified() async throws {
        let authentication = try await authentication()
        let token = try TokenSamples.token()
        func remembered(_ authorization: String?) -> UserID? {
            authentication.rememberedUser(authorization: authorization, at: NetworkAddress(nil))?.user
        }
        #expect(remembered("Bearer \(token)") == nil)
        _ = try authentication.tokens.user(token, at: clock.now)
        #expect(remembered("Bearer \(token)") == "ann")
        for wrong in [nil, "", "Bearer", "Basic \(token)", "Bearer \(token)x"] {
            #expect(remembered(wrong) == nil)
        }
        clock.advance(by: 601)
        #expect(remembered("Bearer \(token)") == nil)
    }

    @Test func theRememberedWayCountsUserAndAddress() async throws {
        let limits = RateLimits(
            .init(
                address: .init(burst: 3, perSecond: 1), user: .init(burst: 2, perSecond: 1),
                key: .init(burst: 1, perSecond: 1)))
        let authentication = try await authentication(limits: limits)
        let tokens = try ["ann", "bob", "cleo"].map { try TokenSamples.token(claims: ["sub": $0]) }
        for token in tokens { _ = try authentication.tokens.user(token, at: clock.now) }
        let (here, there) = (try #require(NetworkAddress("192.0.2.1")), try #require(NetworkAddress("192.0.2.2")))
        func ask(_ user: Int, at address: NetworkAddress) -> Authentication.Remembered? {
            authentication.rememberedUser(authorization: "Bearer \(tokens[user])", at: address)
        }
        #expect(ask(0, at: here)?.user == "ann")
        #expect(ask(0, at: here)?.user == "ann")
        // The user has had enough, which costs the address nothing; then the address has.
        #expect(ask(0, at: here) == nil)
        #expect(ask(1, at: here)?.user == "bob")
        #expect(ask(1, at: here) == nil)
        #expect(ask(2, at: here) == nil)
        let counted = try #require(ask(2, at: there))
        // What goes the long way is counted there.
        authentication.sendTheLongWay(counted)
        for _ in 0..<2 { #expect(ask(2, at: there) != nil) }
        #expect(ask(1, at: there) != nil)
        #expect(ask(1, at: there) == nil)
    }

    @Test func usersKeysAndAddressesAreHeldBackEachByThemselves() async throws {
        let rates = RateLimits.Rates(
            address: .init(burst: 7, perSecond: 1), user: .init(burst: 2, perSecond: 0.5),
            key: .init(burst: 3, perSecond: 1))
        let limits = RateLimits(rates)
        let authentication = try await authentication(limits: limits)
        let ann = "Bearer \(try TokenSamples.token())"
        let bob = "Bearer \(try TokenSamples.token(claims: ["sub": "bob"]))"
        let key = "Bearer \(try await authentication.keys.make(name: "shop", scopes: [.ledger], at: clock.now).text)"
        let forwarded = try #require(HTTPField.Name("X-Forwarded-For"))
        try await application(authentication, limits: limits, isBehindProxy: true).test(.router) { client in
            @Sendable func ask(_ path: String, _ authorization: String, from address: String) async throws -> (
                Int, String?
            ) {
                try await client.execute(
                    uri: path, method: .get, headers: [.authorization: authorization, forwarded: address]
                ) { ($0.status.code, $0.headers[.retryAfter]) }
            }
            // A user: two at once, the third waits two seconds.
            #expect(try await ask("/me/a", ann, from: "192.0.2.1").0 == 200)
            #expect(try await ask("/me/b", ann, from: "192.0.2.2").0 == 200)
            let third = try await ask("/me/c", ann, from: "192.0.2.3")
            #expect(third.0 == 429)
            #expect(third.1 == "2")
            #expect(try await ask("/me/c", bob, from: "192.0.2.3").0 == 200)
            clock.advance(by: 2)
            #expect(try await ask("/me/c", ann, from: "192.0.2.3").0 == 200)
            // A key.
            for _ in 0..<3 { #expect(try await ask("/backend", key, from: "192.0.2.4").0 == 200) }
            #expect(try await ask("/backend", key, from: "192.0.2.4").0 == 429)
            // An address, also one that guesses; what it says of others before itself does not matter.
            for _ in 0..<7 { #expect(try await ask("/me/d", "Bearer x", from: "203.0.113.9, 192.0.2.5").0 == 401) }
            #expect(try await ask("/me/d", "Bearer x", from: "203.0.113.10, 192.0.2.5").0 == 429)
            #expect(try await ask("/me/d", "Bearer x", from: "2001:db8::1").0 == 401)
        }
    }

    /// A backend speaks from one address for all users: its key's rate is the one that it was promised.
    @Test func aGoodKeyCountsForTheKeyAndABadOneForTheAddress() async throws {
        let limits = RateLimits(
            .init(
                address: .init(burst: 2, perSecond: 0.001), user: .init(burst: 1, perSecond: 1),
                key: .init(burst: 9, perSecond: 0.001)))
        let authentication = try await authentication(limits: limits)
        let made = try await authentication.keys.make(name: "shop", scopes: [.ledger], at: clock.now).text
        try await application(authentication, limits: limits).test(.router) { client async throws in
            @Sendable func ask(_ key: String) async throws -> Int {
                try await client.execute(uri: "/backend", method: .get, headers: [.authorization: "Bearer \(key)"]) {
                    $0.status.code
                }
            }
            for _ in 0..<6 { #expect(try await ask(made) == 200) }
            // Guesses are the address', whatever they look like.
            let similar = String(made.dropLast(2)) + (made.hasSuffix("AA") ? "BA" : "AA")
            #expect(try await ask(similar) == 401)
            #expect(try await ask("guess") == 401)
            #expect(try await ask(similar) == 429)
            // The key is not held back by them, also when it has to be looked up anew.
            clock.advance(by: APIKeys.rememberedFor + 1)
            for _ in 0..<3 { #expect(try await ask(made) == 200) }
            #expect(try await ask(made) == 429)
        }
    }

    @Test func aKeyThatWasRevokedElsewhereIsTheAddressGuess() async throws {
        let limits = RateLimits(
            .init(
                address: .init(burst: 2, perSecond: 0.001), user: .init(burst: 1, perSecond: 1),
                key: .init(burst: 9, perSecond: 0.001)))
        let storage = KeysInMemory()
        let authentication = Authentication(
            tokens: try await TokenSamples.tokens(), keys: APIKeys(storage), limits: limits,
            now: { [clock] in clock.now })
        let made = try await authentication.keys.make(name: "shop", scopes: [.ledger], at: clock.now).text
        try await application(authentication, limits: limits).test(.router) { client async throws in
            @Sendable func ask() async throws -> Int {
                try await client.execute(uri: "/backend", method: .get, headers: [.authorization: "Bearer \(made)"]) {
                    $0.status.code
                }
            }
            #expect(try await ask() == 200)
            #expect(try await APIKeys(storage).revoke(name: "shop", at: clock.now))
            clock.advance(by: APIKeys.rememberedFor + 1)
            for _ in 0..<3 { #expect(try await ask() == 401) }
            #expect(try await ask() == 429)
        }
    }

    @Test func theMetricsCountRoutesAndNeedTheScope() async throws {
        let authentication = try await authentication()
        let token = try TokenSamples.token()
        let key = try await authentication.keys.make(name: "watch", scopes: [.metrics], at: clock.now).text
        try await application(authentication).test(.router) { client in
            for name in ["a", "b"] {
                try await client.execute(
                    uri: "/me/\(name)", method: .get, headers: [.authorization: "Bearer \(token)"]
                ) { #expect($0.status == .ok) }
            }
            try await client.execute(uri: "/me/a", method: .get) { #expect($0.status == .unauthorized) }
            try await client.execute(uri: "/nowhere/\(UUID())", method: .get) { #expect($0.status == .notFound) }
            try await client.execute(uri: "/metrics", method: .get) { #expect($0.status == .unauthorized) }
            try await client.execute(uri: "/metrics", method: .get, headers: [.authorization: "Bearer \(key)"]) {
                response in
                let text = String(buffer: response.body)
                #expect(response.headers[.contentType] == PrometheusText.contentType)
                #expect(
                    text.contains(#"http_server_requests_total{route="/me/{name}",method="GET",status="200"} 2"#),
                    "\(text)")
                #expect(text.contains(#"http_server_requests_total{route="/me/{name}",method="GET",status="401"} 1"#))
                #expect(text.contains(#"http_server_requests_total{route="NotFound",method="GET",status="404"} 1"#))
                #expect(
                    text.contains(#"http_server_request_duration_seconds_count{route="/me/{name}",method="GET"} 3"#))
                #expect(!text.contains("ann"))
            }
        }
    }
}
