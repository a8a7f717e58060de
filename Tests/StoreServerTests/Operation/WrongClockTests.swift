import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// Two servers of one store in this process. The machine's clock of the first goes wrong while it runs.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct WrongClockTests {
    private static func ledger(at server: RunningServer) async throws -> Int {
        let reply = try await server.control("GET", "/control/v1/sandbox/transactions", headers: [])
        return try #require(reply.json["rows"] as? [Any], "\(reply.text)").count
    }

    /// Sends requests that read and that write to a server, and expects that it refuses all of them.
    private static func expectRefusals(
        by server: RunningServer, token: String, _ purchase: PurchaseRequest, receipt: [UInt8], account: String
    ) async throws {
        var server = server
        server.isPatient = false
        for address in [
            server.addresses.sandbox, server.addresses.production, server.addresses.storefront,
            server.addresses.control,
        ] {
            let ready = try await server.send("GET", address + "/ready")
            #expect(ready.status == 503 && ready.text == #"{"reason":"clock_differs","status":"not ready"}"#)
            #expect(try await server.send("GET", address + "/health").status == 200)
        }
        #expect(try await server.control("GET", "/metrics", headers: []).status == 200)
        let refusals = [
            try await server.device(.purchases, token: token, body: purchase),
            try await server.device(.account, token: token),
            try await server.device(.appReceipt, token: token, body: RunningServer.receiptRequest),
            try await server.verify(receipt),
            try await server.control("PATCH", "/control/v1/sandbox/accounts/\(account)", #"{"locked":true}"#),
            try await server.control("GET", "/control/v1/sandbox/transactions", headers: []),
        ]
        for refusal in refusals { #expect(refusal.status == 503 && refusal.code == "unavailable", "\(refusal.text)") }
        #expect(try await server.send("GET", server.addresses.storefront + "/lookup?id=1").status == 503)
    }

    @Test func `a process refuses every request while its clock is wrong, and the other one does not`() async throws {
        let clock = MachineClock()
        clock.run(ahead: 0)
        try await SeveralProcessesTests.withPlace { place async throws in
            try await place.serve("first", clock: clock) { first async throws in
                try await place.serve("second") { second async throws in
                    let token = try await first.signIn().token
                    let tester = try #require(SandboxTester.read(from: first.directory)).email
                    let lock = "/control/v1/sandbox/accounts/\(tester)"
                    let ready = first.addresses.sandbox + "/ready"
                    for seconds in [-60, 60] as [Double] {
                        let sold = try await first.device(.purchases, token: token, body: first.purchase("credits5"))
                        #expect(sold.status == 200, "\(sold.text)")
                        let receipt = try await first.device(
                            .appReceipt, token: token, body: RunningServer.receiptRequest
                        ).body
                        let before = try await Self.ledger(at: second)

                        clock.run(ahead: seconds)
                        let isNoticed = try await SharedStoreTests.holds {
                            try await first.send("GET", ready).json["reason"] as? String == "clock_differs"
                        }
                        #expect(isNoticed)
                        let purchase = first.purchase("credits5")
                        try await Self.expectRefusals(
                            by: first, token: token, purchase, receipt: receipt, account: tester)
                        #expect(try await Self.ledger(at: second) == before)

                        // The device repeats the purchase, and nginx leads it to the other process.
                        let isReady = try await SharedStoreTests.holds {
                            try await second.send("GET", second.addresses.sandbox + "/ready").status == 200
                        }
                        #expect(isReady)
                        let bought = try await second.device(.purchases, token: token, body: purchase)
                        #expect(bought.status == 200, "\(bought.text)")
                        let locked = try await second.control("PATCH", lock, #"{"locked":true}"#)
                        #expect(locked.status == 200, "\(locked.text)")

                        clock.run(ahead: 0)
                        let isBack = try await SharedStoreTests.holds {
                            try await first.send("GET", ready).status == 200
                        }
                        #expect(isBack)
                        // It has missed nothing.
                        let refused = try await first.device(
                            .purchases, token: token, body: first.purchase("credits5"))
                        #expect(refused.code == "account_locked", "\(refused.text)")
                        let unlocked = try await second.control("PATCH", lock, #"{"locked":false}"#)
                        #expect(unlocked.status == 200, "\(unlocked.text)")
                        let again = try await first.device(.purchases, token: token, body: purchase)
                        #expect(again.status == 200 && again.body == bought.body, "\(again.text)")
                        #expect(try await Self.ledger(at: first) == before + 1)
                    }
                }
            }
        }
    }
}
