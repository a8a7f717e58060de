import Foundation
import StoreWire
import Testing

@testable import StoreServer

/// The short cut and the router give the same answers. `Connection: close` sends a request to the router.
@Suite(.timeLimit(.minutes(1))) struct DirectAnswersTests {
    private static func send(
        _ server: RunningServer, _ request: PurchaseRequest, token: String, byRouter: Bool
    ) async throws -> RunningServer.Reply {
        try await server.send(
            "POST", server.addresses.store(.sandbox) + StoreRoute.purchases.path, token: token,
            headers: byRouter ? [("Connection", "close")] : [], body: [UInt8](try JSONEncoder().encode(request)))
    }

    @Test(arguments: [true, false]) func aRepeatedKeyHasOneAnswerWhicheverWayItGoes(routerFirst: Bool) async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            let request = server.purchase("credits5", quantity: 3)
            let first = try await Self.send(server, request, token: token, byRouter: routerFirst)
            let second = try await Self.send(server, request, token: token, byRouter: !routerFirst)
            #expect(first.status == 200)
            #expect(first.text.contains("\"quantity\":3"))
            #expect(second.body == first.body)
            #expect(second.headers["content-type"] == first.headers["content-type"])
            #expect(first.headers.contains(name: "date") && second.headers.contains(name: "date"))
            let unfinished = try await server.device(
                .unfinishedTransactions(RunningServer.bundleID, after: nil), token: token
            ).decoded(UnfinishedTransactionsResponse.self)
            #expect(unfinished.transactions.count == 1)
        }
    }

    @Test func oneKeySentManyTimesAtOnceBuysOnce() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            let request = server.purchase("credits5")
            let answers = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for number in 0..<64 {
                    group.addTask {
                        try await Self.send(server, request, token: token, byRouter: number % 2 == 0).body
                    }
                }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(answers.count == 1)
        }
    }

    @Test func whatTheShortCutDoesNotKnowTheRouterAnswers() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            func answer(_ request: PurchaseRequest, token: String) async throws -> RunningServer.Reply {
                try await Self.send(server, request, token: token, byRouter: false)
            }
            #expect(try await answer(server.purchase("credits5"), token: token).status == 200)
            #expect(try await answer(server.purchase("nothing"), token: token).text.contains("product_not_available"))
            #expect(
                try await answer(server.purchase("credits5", quantity: 11), token: token).text.contains(
                    "invalid_quantity"))
            #expect(try await answer(server.purchase("hats"), token: token).status == 200)
            #expect(try await answer(server.purchase("credits5"), token: "wrong").status == 401)
            let fault = #"{"operation":"purchases","status":503,"count":1}"#
            #expect(try await server.control("POST", "/control/v1/sandbox/faults", fault).status < 300)
            #expect(try await answer(server.purchase("credits5"), token: token).status == 503)
            #expect(try await answer(server.purchase("credits5"), token: token).status == 200)
            let tester = try #require(SandboxTester.read(from: server.directory))
            let account = "/control/v1/sandbox/accounts/\(tester.email)"
            #expect(try await server.control("PATCH", account, #"{"paymentsAllowed":false}"#).status == 200)
            #expect(try await answer(server.purchase("credits5"), token: token).text.contains("payment_not_allowed"))
            #expect(
                try await server.control("PATCH", account, #"{"paymentsAllowed":true,"asksToBuy":true}"#).status == 200)
            #expect(try await answer(server.purchase("credits5"), token: token).text.contains("deferred"))
        }
    }
}
