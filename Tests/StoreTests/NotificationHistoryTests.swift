import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Notifications sent again, and their history", .timeLimit(.minutes(1))) struct NotificationHistoryTests {
    @Test(arguments: Backend.available, [.success, .timedOut] as [SendAttemptResult])
    func aResendDuringAnAttemptIsMadeAfterIt(_ backend: Backend, _ result: SendAttemptResult) async throws {
        try await backend.withOutbox(.production) { box async throws in
            try await box.test.buy("credits5", by: box.test.account())
            let running = try #require(try await box.due().first)
            let id = try #require(try await box.outbox.list(NotificationFilter()).rows.first?.notificationID)
            _ = try await box.outbox.resend(id)
            #expect(try await box.record(result, of: running) == .waiting)
            let again = try #require(try await box.due().first)
            #expect(again.signedPayload == running.signedPayload)
            #expect(try await box.record(.success, of: again) == .delivered)
            #expect(try await box.due().isEmpty)
            #expect(try await box.outbox.notification(id).attempts.map(\.result) == [result, .success])
        }
    }

    @Test(arguments: Backend.available) func aPageLooksAtABoundedNumberOfRows(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let account = try await box.test.account()
            for _ in 0..<5 { try await box.test.buy("credits5", by: account) }
            try await box.test.buy("gym.monthly", by: account)
            for _ in 0..<5 { try await box.test.buy("credits5", by: account) }
            try await box.sendAll()
            // What was not tried is not in the history, and is looked at.
            try await box.test.buy("credits5", by: account)
            func pages(_ members: String, limit: Int, of accountID: AccountID? = nil) async throws -> [[Int64]] {
                var query = try NotificationQuery(
                    Array("{\(box.always)\(members)}".utf8), of: TestStore.bundleID,
                    at: box.test.store.clock.milliseconds)
                query.accountID = accountID
                var place: NotificationPlace?
                var pages: [[Int64]] = []
                repeat {
                    let page = try await box.test.database.read { [query, place] connection in
                        try Notifications.history(query, after: place, limit: limit, lookingAt: 5, connection)
                    }
                    pages.append(page.rows.map(\.number))
                    place = page.next
                } while place != nil
                return pages
            }
            let all = try await box.outbox.list(NotificationFilter()).rows.filter { !$0.attempts.isEmpty }
                .sorted { ($0.date, $0.number) < ($1.date, $1.number) }
            #expect(all.count == 11)
            for accountID in [nil, account.accountID] {
                // Twelve rows, five on a page.
                let whole = try await pages("", limit: 20, of: accountID)
                #expect(whole.map(\.count) == [5, 5, 1] && whole.flatMap(\.self) == all.map(\.number))
                let short = try await pages("", limit: 2, of: accountID)
                #expect(short.flatMap(\.self) == all.map(\.number) && short.allSatisfy { $0.count <= 2 })
                #expect(try await pages(#", "onlyFailures": true"#, limit: 20, of: accountID) == [[], [], []])
            }
            let subscribed = try await pages(#", "notificationType": "SUBSCRIBED""#, limit: 20)
            #expect(subscribed.count == 3)
            #expect(subscribed.flatMap(\.self) == all.filter { $0.type == "SUBSCRIBED" }.map(\.number))
        }
    }

    @Test(arguments: Backend.available) func whatIsOlderThan180DaysIsNotTold(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            try await box.test.buy("credits5", by: box.test.account())
            try await box.sendAll()
            // The rows are there until the next pruning.
            for (pause, count) in [(NotificationOutbox.keptFor, 1), (1, 0)] as [(Int64, Int)] {
                try await box.test.store.changeClock { try $0.advance(by: pause) }
                let page = try await box.history(box.always)
                #expect((page["notificationHistory"] as? [Any])?.count == count)
                #expect(try await box.outbox.list(NotificationFilter()).rows.count == 1)
            }
            try await box.outbox.prune()
            #expect(try await box.outbox.list(NotificationFilter()).rows.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func theAppsVersionIsSaidWhenItIsKnown(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let store = box.test.store
            let (account, other) = (try await box.test.account(), try await box.test.account("other@example.com"))
            var request = TestStore.receiptRequest
            try await box.test.buy("credits5", by: account)
            for _ in 0..<2 { try await store.noteVersion(in: request, of: account) }
            try await box.test.buy("gym.monthly", by: account)
            request.bundleVersion = "8"
            try await store.noteVersion(in: request, of: account)
            try await box.test.buy("credits5", by: account)
            try await box.test.buy("credits5", by: other)
            // A cleared history takes no version away.
            _ = try await store.clearHistory(of: account)
            try await box.test.buy("hats", by: account)
            let sent = try await box.sendAll().sorted { $0.number < $1.number }
            let versions = try sent.map { notification in
                let data = try #require(try box.payload(notification.signedPayload)["data"] as? [String: Any])
                return data["bundleVersion"] as? String
            }
            #expect(versions == [nil, "7", "8", nil, "8"])
            // App transactions have it, too, so it is also kept without a receiver.
            try await box.set(nil)
            try await store.noteVersion(in: request, of: other)
            let known = try await box.test.database.read { connection in
                try [account, other].map { try AppCustomers.find($0.accountID, in: TestStore.bundleID, connection) }
            }
            #expect(known.map(\.bundleVersion) == ["8", "8"] && known.map(\.originalVersion) == ["7", "8"])
        }
    }
}
