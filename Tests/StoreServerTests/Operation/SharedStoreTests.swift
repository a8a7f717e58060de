import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// What two servers of one store, in this process, have in common while they run.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct SharedStoreTests {
    /// Waits until something holds that takes the beats of the processes, which nobody can move.
    static func holds(_ condition: () async throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(20)
        while try await !condition() {
            guard ContinuousClock.now < end else { return false }
        }
        return true
    }

    /// The processes that a server shows to the operator.
    static func processes(_ server: RunningServer) async throws -> [ControlAPI.StoreProcess] {
        try await server.control("GET", ControlRoute.settings.path).decoded(ControlAPI.Settings.self).processes ?? []
    }

    // MARK: Leaves

    @Test func receiptsFromBeforeARotationVerifyAtBothProcesses() async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                try await place.serve("second") { second async throws in
                    let (token, servers) = (try await first.signIn().token, [first, second])
                    let bought = try await second.device(.purchases, token: token, body: second.purchase("hats"))
                        .decoded(PurchaseResponse.self)
                    let id = try #require(bought.transaction?.transactionID)
                    /// An app receipt and a transaction receipt of each server.
                    func receipts() async throws -> [[UInt8]] {
                        var receipts: [[UInt8]] = []
                        for server in servers {
                            for route in [StoreRoute.appReceipt, .transactionReceipt(id)] {
                                let reply = try await server.device(
                                    route, token: token, body: RunningServer.receiptRequest)
                                #expect(reply.status == 200, "\(reply.text)")
                                receipts.append(reply.body)
                            }
                        }
                        return receipts
                    }
                    let old = try await receipts()
                    let before = try await first.control("GET", ControlRoute.authority.path)
                        .decoded(ControlAPI.Authority.self)
                    let rotated = try await second.control("POST", ControlRoute.rotateAuthority.path)
                        .decoded(ControlAPI.Authority.self)
                    #expect(rotated != before)
                    let new = try await receipts()
                    for server in servers {
                        for receipt in old + new {
                            let reply = try await server.verify(receipt)
                            #expect(reply.json["status"] as? Int == 0, "\(reply.text)")
                        }
                    }
                }
            }
        }
    }

    // MARK: A broken connection

    /// The connection on which a process hears the others goes silent, as when a machine on the way is gone. Its other
    /// connections work.
    @Test func aProcessThatCannotHearIsNotReadyAndMissesNoLock() async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            var parts = try #require(place.databaseURL.flatMap { URLComponents(string: $0) })
            let relay = try Relay(to: UInt16(parts.port ?? 5432))
            defer { relay.close() }
            parts.port = Int(relay.port)
            let relayed = try #require(parts.string)
            relay.mark(onSending: "LISTEN ")
            try await place.serve("first", { $0.databaseURL = relayed }) { first async throws in
                try await place.serve("second") { second async throws in
                    let ready = first.addresses.sandbox + "/ready"
                    let token = try await first.signIn().token
                    let tester = try #require(SandboxTester.read(from: first.directory)).email
                    let bought = try await first.device(.purchases, token: token, body: first.purchase("credits5"))
                    #expect(bought.status == 200, "\(bought.text)")
                    try await until { try await first.send("GET", ready).status == 200 }
                    // It cannot connect again before everybody has seen it.
                    relay.refuse()
                    #expect(relay.silenceMarked() == 2)
                    // Its answer waits until the first process may not use any more what it keeps.
                    let locked = try await second.control(
                        "PATCH", "/control/v1/sandbox/accounts/\(tester)", #"{"locked":true}"#)
                    #expect(locked.status == 200, "\(locked.text)")
                    var impatient = first
                    impatient.isPatient = false
                    let refused = try await impatient.device(
                        .purchases, token: token, body: first.purchase("credits5"))
                    // 503: the machine was so busy that the process has lost its number meanwhile.
                    #expect(refused.code == "account_locked" || refused.status == 503, "\(refused.text)")
                    var (isNotReady, isSeen) = (false, false)
                    let reason = try await Self.holds {
                        let reply = try await first.send("GET", ready)
                        isNotReady =
                            isNotReady
                            || reply.status == 503
                                && ["cannot_hear", "no_node"].contains(reply.json["reason"] as? String ?? "")
                        // The operator sees it at the other process.
                        let states = try await Self.processes(second).filter { !$0.isOwn }.map(\.state)
                        isSeen = isSeen || states == ["silent"]
                        return isNotReady && isSeen
                    }
                    #expect(reason, "\(isNotReady) \(isSeen)")
                    try await until {
                        try await second.send("GET", second.addresses.sandbox + "/ready").status == 200
                    }
                    // It connects again by itself, ends the silent session and hears what it has missed.
                    relay.mend()
                    let isBack = try await Self.holds { try await first.send("GET", ready).status == 200 }
                    #expect(isBack)
                    let unlocked = try await second.control(
                        "PATCH", "/control/v1/sandbox/accounts/\(tester)", #"{"locked":false}"#)
                    #expect(unlocked.status == 200, "\(unlocked.text)")
                    let again = try await first.device(
                        .purchases, token: token, body: first.purchase("credits5"))
                    #expect(again.status == 200, "\(again.text)")
                }
            }
        }
    }

    @Test func aProcessThatCannotHearRefusesARevokedKey() async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            var parts = try #require(place.databaseURL.flatMap { URLComponents(string: $0) })
            let relay = try Relay(to: UInt16(parts.port ?? 5432))
            defer { relay.close() }
            parts.port = Int(relay.port)
            let relayed = try #require(parts.string)
            relay.mark(onSending: "LISTEN ")
            try await place.serve("first", { $0.databaseURL = relayed }) { first async throws in
                try await place.serve("second") { second async throws in
                    let path = "/inApps/v1/transactions/7"
                    let app = try await AppServer(second, MachineClock())
                    // On a busy machine the first process may hear of the key a little later.
                    let isKnown = try await Self.holds { try await app.at(first).ask(path).status == 404 }
                    #expect(isKnown)
                    #expect(relay.silenceMarked() == 2)
                    // Its answer waits until the first process may not use any more what it keeps.
                    let revoked = try await second.control(
                        "DELETE", "/control/v1/api-keys/\(app.key.key.keyID)")
                    #expect(revoked.status == 200, "\(revoked.text)")
                    var impatient = first
                    impatient.isPatient = false
                    for path in [path, "/inApps/none"] {
                        let refused = try await app.at(impatient).ask(path)
                        // 500, 503: the machine was so busy that the process has lost its number meanwhile.
                        #expect([401, 500, 503].contains(refused.status), "\(refused.status) \(refused.text)")
                    }
                    #expect(try await app.ask(path).status == 401)
                }
            }
        }
    }

    // MARK: What one process has

    @Test func theFeedsAreAtTheProcessThatBuildsThem() async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            try await place.serve(
                "first",
                {
                    $0.node = 10
                    $0.feed.isScheduled = true
                }
            ) { first async throws in
                try await place.serve("second", { $0.node = 11 }) { second async throws in
                    // Any process adds the partner.
                    let added = try await second.control("POST", "/control/v1/partners", #"{"name":"example"}"#)
                    let password = try #require(added.json["password"] as? String)
                    let credentials = Data("example:\(password)".utf8).base64EncodedString()
                    func ask(_ server: RunningServer, _ credentials: String) async throws -> RunningServer.Reply {
                        try await server.send(
                            "GET", server.addresses.storefront + "/feeds/epf/",
                            headers: [("Authorization", "Basic \(credentials)")])
                    }
                    let other = try await ask(second, credentials)
                    #expect(other.status == 421 && other.code == "other_process", "\(other.text)")
                    #expect(other.headers.first(name: "Cornerstore-Process") == "0a")
                    // The first process builds feeds; there may be none yet.
                    let own = try await ask(first, credentials)
                    #expect([200, 404].contains(own.status), "\(own.text)")
                    // A stranger learns nothing of the processes.
                    #expect(try await ask(second, "ZXhhbXBsZTp4").status == 401)
                    for (method, body) in [("GET", nil), ("POST", #"{"mode":"full"}"#)] as [(String, String?)] {
                        let reply = try await second.control(method, "/control/v1/feeds", body)
                        #expect(reply.status == 421 && reply.code == "other_process", "\(reply.text)")
                        #expect(reply.headers.first(name: "Cornerstore-Process") == "0a")
                    }
                    #expect(try await first.control("GET", "/control/v1/feeds").status == 200)
                }
            }
        }
    }

    @Test func aDeviceThatWasSignedOutAtOneProcessIsSignedOutAtTheOther() async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                try await place.serve("second") { second async throws in
                    let tester = try #require(SandboxTester.read(from: first.directory)).email
                    for (one, other) in [(first, second), (second, first)] {
                        let token = try await one.signIn().token
                        for server in [one, other] {
                            #expect(try await server.device(.account, token: token).status == 200)
                        }
                        let route = ControlRoute.signOut(.sandbox, email: tester)
                        let signedOut = try await one.control(route.method.rawValue, route.path)
                        #expect(signedOut.status == 200, "\(signedOut.text)")
                        for server in [other, one] {
                            let refused = try await server.device(
                                .purchases, token: token, body: server.purchase("credits5"))
                            #expect(refused.status == 401 && refused.code == "not_signed_in", "\(refused.text)")
                        }
                    }
                }
            }
        }
    }
}
