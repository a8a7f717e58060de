import Foundation
import HTTPSupport
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct SignInLimitTests {
    private static let rates = SignInLimits.Rates(
        address: .init(burst: 3, perSecond: 0.5), account: .init(burst: 2, perSecond: 0.25))

    private static func status(_ body: () throws -> Void) -> Int {
        do {
            try body()
            return 200
        } catch {
            return (error as? HTTPProblem)?.status.code ?? 0
        }
    }

    @Test func addressesAndAccountsAreHeldBack() throws {
        let limits = SignInLimits(Self.rates)
        let (one, other) = (try #require(NetworkAddress("192.0.2.1")), try #require(NetworkAddress("192.0.2.2")))
        func ask(_ email: String, _ address: NetworkAddress, at milliseconds: Int64 = 0) -> Int {
            Self.status { try limits.take(email, from: address, at: milliseconds) }
        }
        // An account, in whatever case it is written, and from wherever.
        #expect(ask("a@example.com", one) == 200 && ask("A@EXAMPLE.com", other) == 200)
        #expect(ask("a@example.com", other) == 429)
        #expect(ask("a@example.com", other, at: 4_000) == 200)
        // An address.
        #expect(ask("b@example.com", one, at: 4_000) == 200 && ask("c@example.com", one, at: 4_000) == 200)
        #expect(ask("d@example.com", one, at: 4_000) == 200 && ask("e@example.com", one, at: 4_000) == 429)
        #expect(throws: HTTPProblem.self) { try limits.take("e@example.com", from: one, at: 4_000) }
        // What is given back is there again.
        limits.giveBack("d@example.com", from: one)
        #expect(ask("e@example.com", one, at: 4_000) == 200)
        // A text that can be no address is counted for whoever sends it alone.
        let long = String(repeating: "x", count: 300)
        #expect(ask(long, other, at: 60_000) == 200 && ask(long, other, at: 60_000) == 200)
    }

    /// The database takes the two spellings for two accounts, so neither holds the other back.
    @Test func accountsAreToldApartByTheirBytes() throws {
        let limits = SignInLimits(Self.rates)
        let here = try #require(NetworkAddress("127.0.0.1"))
        for email in ["jos\u{E9}@example.com", "jose\u{301}@example.com"] {
            #expect((1...3).map { _ in Self.status { try limits.take(email, from: here, at: 0) } } == [200, 200, 429])
        }
    }

    @Test func thisMachineIsHeldBackByAccountAlone() throws {
        let limits = SignInLimits(Self.rates)
        let here = try #require(NetworkAddress("127.0.0.1"))
        for number in 0..<100 {
            #expect(Self.status { try limits.take("\(number)@example.com", from: here, at: 0) } == 200)
        }
        #expect(Self.status { try limits.take("7@example.com", from: here, at: 0) } == 200)
        #expect(Self.status { try limits.take("7@example.com", from: here, at: 0) } == 429)
    }

    /// Known and unknown accounts are answered the same.
    @Test func tooManyAttemptsAreAnswered429WithTheTimeToWait() async throws {
        try await withServer {
            // However slow the machine is, nothing comes back while the test runs.
            $0.signInRates = .init(
                address: .init(burst: 3, perSecond: 0.001), account: .init(burst: 2, perSecond: 0.001))
            $0.isBehindProxy = true
        } _: { server in
            let tester = try #require(SandboxTester.read(from: server.directory))
            func signIn(_ email: String, _ password: String, from address: String) async throws -> RunningServer.Reply {
                let request = SignInRequest(email: email, password: password, deviceID: RunningServer.device)
                return try await server.send(
                    "POST", server.addresses.sandbox + StoreRoute.signIn.path,
                    headers: [("Content-Type", "application/json"), ("X-Forwarded-For", address)],
                    body: [UInt8](try JSONEncoder().encode(request)))
            }
            for (email, address) in [(tester.email, "192.0.2.1"), ("nobody@example.com", "192.0.2.2")] {
                // Those that succeed are not counted.
                if email == tester.email {
                    for _ in 0..<3 { #expect(try await signIn(email, tester.password, from: address).status == 200) }
                }
                for _ in 0..<2 {
                    let wrong = try await signIn(email, "wrong", from: address)
                    #expect(wrong.status == 401 && wrong.code == "wrong_password")
                }
                let refused = try await signIn(email, "wrong", from: address)
                #expect(refused.status == 429 && refused.code == "rate_limited", "\(refused.text)")
                let wait = refused.headers.first(name: "retry-after").flatMap { Int($0) } ?? 0
                #expect((1...1_000).contains(wait))
            }
        }
    }

    @Test func aLockedAccountSaysSoToItsPasswordAlone() async throws {
        try await withServer { server in
            let tester = try #require(SandboxTester.read(from: server.directory))
            _ = try await server.control(
                "PATCH", "/control/v1/sandbox/accounts/\(tester.email)", #"{"locked":true}"#)
            func signIn(_ password: String) async throws -> RunningServer.Reply {
                let request = SignInRequest(
                    email: tester.email, password: password, deviceID: RunningServer.device)
                return try await server.device(.signIn, body: request)
            }
            #expect(try await signIn("wrong").code == "wrong_password")
            #expect(try await signIn(tester.password).code == "account_locked")
        }
    }
}
