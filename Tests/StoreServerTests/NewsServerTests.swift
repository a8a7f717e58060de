import Foundation
import HTTPSupport
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Requests that wait for news", .timeLimit(.minutes(1))) struct NewsServerTests {
    @Test(arguments: Backend.available) func aChangeEndsTheWait(_ backend: Backend) async throws {
        try await backend.withServerDatabase { url, prefix async throws in
            try await withServer({
                $0.databaseURL = url
                $0.schemaPrefix = prefix
            }) { server async throws in
                let token = try await server.signIn().token
                let bought = try await server.device(.purchases, token: token, body: server.purchase("hats"))
                let id = try #require(try bought.decoded(PurchaseResponse.self).transaction).transactionID
                let first = try await server.device(.news(RunningServer.bundleID, since: nil, wait: 25), token: token)
                let marks = try first.decoded(NewsMarks.self)
                #expect(first.status == 200 && marks.transactions == NewsMarks.nothing)
                let start = ContinuousClock.now
                async let waiting = server.device(
                    .news(RunningServer.bundleID, since: marks, wait: 25), token: token)
                #expect(
                    try await server.control("POST", "/control/v1/sandbox/transactions/\(id)/refund", "{}").status
                        == 200)
                let changed = try await waiting.decoded(NewsMarks.self)
                #expect(changed.notices != marks.notices)
                #expect(start.duration(to: .now) < .seconds(20))
            }
        }
    }

    @Test func aRequestThatMayNotWaitIsAnsweredAtOnce() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            let bundleID = RunningServer.bundleID
            let marks = try await server.device(.news(bundleID, since: nil, wait: 0), token: token)
                .decoded(NewsMarks.self)
            for wait in [0, -1, Int.min] {
                let again = try await server.device(.news(bundleID, since: marks, wait: wait), token: token)
                #expect(try again.decoded(NewsMarks.self) == marks)
            }
            let long = String(repeating: "x", count: NewsMarks.longest + 1)
            let wrong = NewsMarks(transactions: long, notices: "0")
            #expect(try await server.device(.news(bundleID, since: wrong, wait: 25), token: token).status == 400)
            let nameless = server.addresses.sandbox + "/device/v1/news?wait=0"
            #expect(try await server.send("GET", nameless, token: token).status == 400)
        }
    }

    /// Half of the port's connections wait; the next request is answered at once, and its connection is closed.
    @Test func waitingRequestsLeaveConnectionsForOthers() async throws {
        try await withServer { configuration in
            configuration.limits = ServerLimits(.init(connections: 5))
        } _: { server async throws in
            let token = try await server.signIn().token
            let bought = try await server.device(.purchases, token: token, body: server.purchase("hats"))
            let id = try #require(try bought.decoded(PurchaseResponse.self).transaction).transactionID
            let marks = try await server.device(.news(RunningServer.bundleID, since: nil, wait: 0), token: token)
                .decoded(NewsMarks.self)
            let port = server.port(server.addresses.sandbox)
            let path = StoreRoute.news(RunningServer.bundleID, since: marks, wait: 25).path
            let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        try await RawConnection.run {
                            let connection = try RawConnection(port: port)
                            connection.write(request)
                            let answer = connection.read(until: "}").lowercased()
                            guard answer.contains("connection: close") else { return answer }
                            return connection.readToEnd() == 0 ? "closed" : "more"
                        }
                    }
                }
                let first = try await group.next()
                #expect(first == "closed")
                #expect(start.duration(to: .now) < .seconds(20))
                let refund = try await server.control(
                    "POST", "/control/v1/sandbox/transactions/\(id)/refund", "{}")
                #expect(refund.status == 200)
                for try await answer in group {
                    #expect(answer.hasPrefix("http/1.1 200") && answer.contains("transactions"))
                }
            }
            #expect(start.duration(to: .now) < .seconds(20))
        }
    }

    @Test func requestsBeyondTheLimitDoNotWait() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let store = server.application.sandbox
            let account = try #require(try await store.accounts.account(session.account.accountID))
            let board = NewsBoard(store, most: 0)
            let marks = try await board.marks(
                of: account, in: RunningServer.bundleID, since: nil, waiting: .seconds(25))
            let start = ContinuousClock.now
            let again = try await board.marks(
                of: account, in: RunningServer.bundleID, since: marks, waiting: .seconds(25))
            #expect(again == marks && start.duration(to: .now) < .seconds(20))
        }
    }
}
