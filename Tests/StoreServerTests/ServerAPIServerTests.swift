import ControlWire
import Crypto
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// An app's server, which calls the App Store Server API over HTTP.
struct AppServer {
    private var server: RunningServer
    private let clock: MachineClock
    let key: NewAPIKey

    init(_ server: RunningServer, _ clock: MachineClock) async throws {
        (self.server, self.clock) = (server, clock)
        key = try await server.application.apiKeys.make(for: RunningServer.bundleID, at: 1)
    }

    /// The same app, which calls another process of the store.
    func at(_ server: RunningServer) -> AppServer {
        var app = self
        app.server = server
        return app
    }

    /// - Parameter isGood: whether the token is signed with the app's key.
    func ask(
        _ path: String, _ environment: StoreEnvironment = .sandbox, method: String = "GET", isGood: Bool = true
    ) async throws -> RunningServer.Reply {
        try await server.send(
            method, server.addresses.store(environment) + path,
            headers: [("Authorization", try authorization(isGood: isGood))])
    }

    private func authorization(isGood: Bool) throws -> String {
        let now = clock.now.timeIntervalSince1970
        let claims: [String: Any] = [
            "iss": key.key.issuerID, "iat": now, "exp": now + 300, "aud": "appstoreconnect-v1",
            "bid": RunningServer.bundleID.rawValue,
        ]
        let head = ["alg": "ES256", "kid": key.key.keyID, "typ": "JWT"]
        let parts = [
            try JSONSerialization.data(withJSONObject: head), try JSONSerialization.data(withJSONObject: claims),
        ]
        let input = parts.map(Self.base64URL).joined(separator: ".")
        let signer =
            try isGood ? P256.Signing.PrivateKey(pemRepresentation: key.privateKey) : P256.Signing.PrivateKey()
        let signature = try signer.signature(for: SHA256.hash(data: Data(input.utf8)))
        return "Bearer \(input).\(Self.base64URL(signature.rawRepresentation))"
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

@Suite("The App Store Server API over HTTP", .timeLimit(.minutes(1))) struct ServerAPIServerTests {
    private static let bundle = RunningServer.bundleID.rawValue

    private static func control(
        _ server: RunningServer, _ route: RateLimitRoute, _ body: String? = nil
    ) async throws -> RunningServer.Reply {
        try await server.control(route.method.rawValue, ControlRoute.rateLimits(route).path, body)
    }

    @Test(arguments: Backend.available) func anAppsRequestsAreLimitedByTheHour(_ backend: Backend) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await TemporaryDirectory.with { directory async throws in
                let clock = MachineClock()
                try await RunningServer.with(directory.url, clock: clock) {
                    $0.databaseURL = url
                    $0.schemaPrefix = prefix
                } _: { server in
                    try await Self.limits(server, clock)
                }
            }
        }
    }

    private static func limits(_ server: RunningServer, _ clock: MachineClock) async throws {
        let app = try await AppServer(server, clock)
        let path = "/inApps/v1/transactions/7"
        // Without a rule nothing is limited.
        for _ in 0..<5 { #expect(try await app.ask(path).status == 404) }
        let set = try await control(
            server, .set(.sandbox, bundle: bundle), #"{"requestsPerHour": {"transaction": 2}}"#)
        #expect(
            try set.decoded(ControlAPI.RateLimits.self)
                == ControlAPI.RateLimits(bundleId: bundle, requestsPerHour: ["transaction": 2]))
        // A bad token does not count.
        for _ in 0..<3 { #expect(try await app.ask(path, isGood: false).status == 401) }
        for _ in 0..<2 { #expect(try await app.ask(path).status == 404) }
        let end = Int64(((clock.now.timeIntervalSince1970 + 3_600) * 1_000).rounded(.up))
        for pause in [0, 3_598] as [Double] {
            clock.now = clock.now.addingTimeInterval(pause)
            let refused = try await app.ask(path)
            #expect(refused.status == 429 && refused.headers["Content-Type"] == ["application/json"])
            #expect(refused.json["errorCode"] as? Int == 4_290_000)
            #expect(refused.headers["Retry-After"] == [String(end)])
        }
        #expect(try await app.ask("/inApps/v2/history/7").status == 404)
        #expect(try await app.ask(path, .production).status == 404)
        clock.now = clock.now.addingTimeInterval(3)
        for _ in 0..<2 { #expect(try await app.ask(path).status == 404) }
        #expect(try await app.ask(path).status == 429)

        for body in [
            "{}", #"{"apple": false}"#, #"{"requestsPerHour": {"books": 1}}"#, #"{"requestsPerHour": {"order": 0}}"#,
            #"{"requestsPerHour": {"order": 1.5}}"#, #"{"requestsPerHour": {"order": 1000000001}}"#, "x",
        ] {
            #expect(try await control(server, .set(.sandbox, bundle: bundle), body).status == 400, "\(body)")
        }
        #expect(try await control(server, .set(.sandbox, bundle: "x"), #"{"apple": true}"#).status == 404)
        let apples = try await control(server, .set(.production, bundle: bundle), #"{"apple": true}"#)
            .decoded(ControlAPI.RateLimits.self)
        #expect(apples.requestsPerHour.count == 11 && apples.requestsPerHour["statuses"] == 180_000)
        #expect(
            try await control(server, .list(.sandbox)).decoded([ControlAPI.RateLimits].self).map(\.requestsPerHour)
                == [["transaction": 2]])
        #expect(try await control(server, .remove(.sandbox, bundle: bundle)).status == 204)
        #expect(try await app.ask(path).status == 404)
        #expect(try await control(server, .list(.sandbox)).text == "[]")
        let audit = try await server.control("GET", ControlRoute.audit().path).text
        #expect(audit.contains("rate-limits") && audit.contains("transaction 2"))
    }

    @Test func anUnknownAddressNeedsAGoodTokenToo() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let clock = MachineClock()
            try await RunningServer.with(directory.url, clock: clock) { server async throws in
                let app = try await AppServer(server, clock)
                let order = "/inApps/v1/lookup/MK5TTTVWJH"
                for (method, path) in [
                    ("GET", order), ("GET", "/inApps"), ("GET", "/inApps/v3/history/7"),
                    ("GET", "/inApps/v1/messaging/image/list"), ("PUT", "/inApps/v1/transactions/7"),
                    ("POST", "/inApps/v1/notifications/none"),
                ] {
                    let refused = try await app.ask(path, method: method, isGood: false)
                    #expect(refused.status == 401 && refused.text == "Unauthenticated", "\(path)")
                    #expect(refused.headers["Content-Type"] == ["text/plain"])
                    let unknown = try await app.ask(path, method: method)
                    #expect(unknown.status == 404 && unknown.body.isEmpty, "\(path)")
                }
                #expect(try await app.ask(order, .production).json["status"] as? Int == 1)
                let elsewhere = try await server.send("GET", server.addresses.sandbox + "/inAppsElsewhere")
                #expect(elsewhere.status == 404 && elsewhere.code == "not_found")
                let log = try await server.control("GET", ControlRoute.requests().path).text
                #expect(log.contains("unauthenticated"))
            }
        }
    }
}
