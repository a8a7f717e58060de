import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Several processes that send the notifications of one store.
@Suite("Notifications of several processes", .timeLimit(.minutes(1))) struct NotificationClaimTests {
    /// The outbox of another process.
    private static func outbox(_ test: TestStore) async throws -> NotificationOutbox {
        let identity = try await TestAuthority.value.jwsIdentity(for: test.store.environment)
        return NotificationOutbox(test.store, holder: UUID(), isShared: true) { identity }
    }

    private static func due(
        _ outbox: NotificationOutbox, limit: Int = 8
    ) async throws -> [OutgoingNotification] {
        try await outbox.due(of: TestStore.bundleID, limit: limit)
    }

    private static func record(
        _ result: SendAttemptResult, of notification: OutgoingNotification, _ outbox: NotificationOutbox
    ) async throws -> ServerNotification.State? {
        try await outbox.record(
            SendAttempt(date: outbox.store.clock.milliseconds, result: result), of: notification)
    }

    @Test(arguments: Backend.available) func aLaneIsSentInOrderByAnyProcess(_ backend: Backend) async throws {
        try await backend.withOutbox(.production) { box async throws in
            let (first, second) = (try await Self.outbox(box.test), try await Self.outbox(box.test))
            let bought = try await box.test.buy("gym.monthly", by: try await box.test.account())
            _ = try await box.test.store.setAutoRenew(false, of: bought.transactionID)
            try await box.test.buy("credits5", by: try await box.test.account("other@example.com"))
            let sent = try await Self.due(first, limit: 1)
            #expect(try box.words(sent) == ["SUBSCRIBED/INITIAL_BUY"])
            // The other process sends the other purchase's, and nothing of this one's.
            let other = try await Self.due(second)
            #expect(try box.words(other) == ["ONE_TIME_CHARGE"])
            for outbox in [first, second] { #expect(try await Self.due(outbox).isEmpty) }
            #expect(try await Self.record(.timedOut, of: sent[0], first) == .waiting)
            let next = try await Self.due(second)
            #expect(try box.words(next) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
            // The retry waits while a later one of the lane is sent.
            try await box.test.store.changeClock { try $0.advance(by: 3_600_000) }
            #expect(try await Self.due(first).isEmpty)
            #expect(try await Self.record(.success, of: next[0], second) == .delivered)
            let retry = try await Self.due(first)
            #expect(retry == sent)
            #expect(try await Self.record(.success, of: retry[0], first) == .delivered)
            #expect(try await Self.record(.success, of: other[0], second) == .delivered)
            #expect(try await box.outbox.list(NotificationFilter(state: .waiting)).rows.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func anotherProcessSendsWhatAKilledOneClaimed(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let (first, second) = (try await Self.outbox(box.test), try await Self.outbox(box.test))
            try await box.test.buy("credits5", by: box.test.account())
            let sent = try await Self.due(first)
            box.test.clock.milliseconds += NotificationOutbox.claimedFor
            #expect(sent.count == 1)
            #expect(try await Self.due(second).isEmpty)
            box.test.clock.milliseconds += 1
            #expect(try await Self.due(second) == sent)
            // The first one only stood still. Its result does not count any more.
            #expect(try await Self.record(.timedOut, of: sent[0], first) == nil)
            try await first.release(sent[0])
            #expect(try await Self.due(first).isEmpty)
            #expect(try await Self.record(.success, of: sent[0], second) == .delivered)
            let row = try #require(try await box.outbox.list(NotificationFilter()).rows.first)
            #expect(row.attempts.map(\.result) == [.success])
        }
    }

    @Test(arguments: Backend.available) func aProcessGivesBackWhatItDoesNotSend(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let (first, second) = (try await Self.outbox(box.test), try await Self.outbox(box.test))
            try await box.test.buy("credits5", by: box.test.account())
            let sent = try await Self.due(first)
            try await first.release(try #require(sent.first))
            #expect(try await Self.due(second) == sent)
        }
    }

    @Test(arguments: Backend.available) func aClaimOfWhatHasChangedFails(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let (first, store) = (try await Self.outbox(box.test), box.test.store)
            try await box.test.buy("credits5", by: box.test.account())
            let (date, now) = (store.clock.milliseconds, store.clock.realMilliseconds)
            let found = try await store.database.read {
                try Notifications.due(
                    of: TestStore.bundleID, at: date, besides: [], unclaimedAt: now, limit: 8, $0)
            }
            let due = try #require(found.first)
            let claim = NotificationClaim(holder: "another", start: now, end: now + NotificationOutbox.claimedFor)
            func take() async throws -> Bool {
                try await store.database.write { try Notifications.claim(due, at: date, for: claim, $0) }
            }
            let sent = try #require(try await Self.due(first).first)
            #expect(try await !take())
            // Since then it has a payload.
            try await first.release(sent)
            #expect(try await !take())
            #expect(try await Self.due(first) == [sent])
        }
    }

    @Test(arguments: Backend.available) func aResendDuringAnAttemptIsSentAfterIt(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let (first, second) = (try await Self.outbox(box.test), try await Self.outbox(box.test))
            try await box.test.buy("credits5", by: box.test.account())
            let sent = try #require(try await Self.due(first).first)
            let row = try #require(try await box.outbox.list(NotificationFilter()).rows.first)
            _ = try await box.outbox.resend(row.notificationID)
            #expect(try await Self.due(second).isEmpty)
            #expect(try await Self.record(.success, of: sent, first) == .waiting)
            let again = try #require(try await Self.due(second).first)
            #expect(again.number == sent.number)
            #expect(try await Self.record(.success, of: again, second) == .delivered)
        }
    }

    @Test(arguments: Backend.available) func processesThatLookAtOnceShareTheWork(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let outboxes = [
                try await Self.outbox(box.test), try await Self.outbox(box.test), try await Self.outbox(box.test),
            ]
            let account = try await box.test.account()
            for _ in 0..<9 { try await box.test.buy("credits5", by: account) }
            let numbers = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for outbox in outboxes {
                    group.addTask {
                        var numbers: [Int64] = []
                        while true {
                            let due = try await Self.due(outbox, limit: 2)
                            guard !due.isEmpty else { return numbers }
                            numbers += due.map(\.number)
                        }
                    }
                }
                var all: [Int64] = []
                for try await numbers in group { all += numbers }
                return all
            }
            #expect(numbers.count == 9 && Set(numbers).count == 9)
        }
    }
}
