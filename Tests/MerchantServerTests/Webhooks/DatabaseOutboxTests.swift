import Database
import Foundation
import HTTPTypes
import MerchantWire
import TestSupport
import Testing

@testable import Merchant
@testable import MerchantServer

/// Delivery out of the merchant's own database, on both engines.
@Suite("Webhooks out of the database", .timeLimit(.minutes(1)))
struct DatabaseOutboxTests {
    private let clock = ManualPacing()
    private let secret: WebhookSecret

    init() throws { secret = try WebhookSecret(WebhookSecret.make()) }

    private func merchant(_ database: Database, _ folder: URL) throws -> Merchant {
        Merchant(
            database: database,
            blobs: try MerchantPlace(folder: folder, databaseURL: nil, schema: "").blobs(nil) { Date() },
            verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []),
            policy: MerchantPolicy(sendsWebhooks: true),
            now: { Int64(clock.now.timeIntervalSince1970 * 1_000) }, makeID: { UUID() })
    }

    /// A change of a user's balance, of which the backend is to hear.
    private func change(_ merchant: Merchant, _ key: String) async throws {
        _ = try await merchant.adjust(
            AdjustmentRequest(key: key, currency: "coins", amount: 1), of: UserID("user-\(key)"))
    }

    private func delivery(_ url: URL, _ merchant: Merchant, attempts: Int = 24) throws -> WebhookDelivery {
        var policy = WebhookPolicy()
        policy.attempts = attempts
        return WebhookDelivery(
            to: try WebhookReceiver(address: url.absoluteString + "hook", secrets: [secret]), from: merchant.outbox,
            policy: policy, pacing: clock.pacing(), metrics: nil, logger: .silent)
    }

    private static func ids(_ receiver: WebhookTests.Receiver) throws -> [String] {
        let name = try #require(HTTPField.Name("webhook-id"))
        return receiver.requests.map { $0.headers[name] ?? "" }
    }

    /// Runs a test beside a receiver and a merchant, which can be opened again.
    private func with(
        _ backend: Backend, _ answers: (HTTPResponse.Status, HTTPFields)...,
        body:
            @escaping @Sendable (URL, WebhookTests.Receiver, Merchant, _ again: () async throws -> Merchant)
            async throws
            -> Void
    ) async throws {
        let receiver = WebhookTests.Receiver(answers)
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withDatabase(migrations: MerchantSchema.migrations) { database, location in
                try await LoopbackServer.with(receiver.router) { url in
                    var opened: [Database] = []
                    try await body(url, receiver, try merchant(database, directory.url)) {
                        let another = try await Database.open(
                            location, migrations: MerchantSchema.migrations, logger: .silent)
                        opened.append(another)
                        return try merchant(another, directory.url)
                    }
                    for database in opened { await database.close() }
                }
            }
        }
    }

    @Test(arguments: Backend.available)
    func `two deliverers over one database send each event once`(_ backend: Backend) async throws {
        try await with(backend, (.ok, [:])) { [self] url, receiver, merchant, again in
            let other = try await again()
            for number in 0..<50 { try await change(number.isMultiple(of: 2) ? merchant : other, "\(number)") }
            let deliveries = [try delivery(url, merchant), try delivery(url, other)]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for delivery in deliveries {
                    group.addTask { while try await delivery.deliverDue() > 0 {} }
                }
                try await group.waitForAll()
            }
            let ids = try Self.ids(receiver)
            #expect(ids.count == 50 && Set(ids).count == 50)
            #expect(try await merchant.outbox.nextDue() == nil)
        }
    }

    @Test(arguments: Backend.available)
    func `an attempt that failed is made again after a restart, under the same id`(_ backend: Backend) async throws {
        try await with(backend, (.internalServerError, [:]), (.ok, [:])) {
            [self] url, receiver, merchant, again in
            try await change(merchant, "one")
            #expect(try await delivery(url, merchant).deliverDue() == 1)
            let restarted = try await again()
            let delivery = try delivery(url, restarted)
            #expect(try await delivery.deliverDue() == 0)
            let due = try #require(try await restarted.outbox.nextDue())
            clock.advance(by: Double(due) / 1_000 - clock.now.timeIntervalSince1970 + 0.001)
            #expect(try await delivery.deliverDue() == 1)
            let ids = try Self.ids(receiver)
            #expect(ids.count == 2 && Set(ids).count == 1)
            #expect(receiver.requests[0].body == receiver.requests[1].body)
            #expect(try await restarted.outbox.nextDue() == nil)
        }
    }

    @Test(arguments: Backend.available)
    func `what a process that died had taken is another's after the lease`(_ backend: Backend) async throws {
        try await with(backend, (.ok, [:])) { [self] url, receiver, merchant, again in
            try await change(merchant, "one")
            let now = Int64(clock.now.timeIntervalSince1970 * 1_000)
            let lease = Int64(WebhookDelivery.lease / .milliseconds(1))
            // Taken, and nothing came of it.
            #expect(
                try await merchant.outbox.takeDueEvents(limit: 16, retries: 16, now: now, leaseEnd: now + lease).count
                    == 1)
            let other = try await again()
            let delivery = try delivery(url, other)
            #expect(try await delivery.deliverDue() == 0)
            clock.advance(by: Double(lease) / 1_000 + 0.001)
            #expect(try await delivery.deliverDue() == 1)
            #expect(receiver.requests.count == 1)
        }
    }

    @Test(arguments: Backend.available)
    func `what was given up is listed, and sent when it is replayed`(_ backend: Backend) async throws {
        try await with(backend, (.internalServerError, [:]), (.badGateway, [:]), (.ok, [:])) {
            [self] url, receiver, merchant, again in
            try await change(merchant, "one")
            let delivery = try delivery(url, merchant, attempts: 2)
            #expect(try await delivery.deliverDue() == 1)
            clock.advance(by: 60)
            #expect(try await delivery.deliverDue() == 1)
            clock.advance(by: 86_400)
            #expect(try await delivery.deliverDue() == 0)
            let other = try await again()
            let dead = try #require(try await other.deadWebhooks().events.first)
            #expect(dead.attempts == 2 && dead.reason == "HTTP 502" && dead.type == "balance.changed")
            #expect(try Self.ids(receiver) == [dead.eventID, dead.eventID])
            await #expect(throws: MerchantError.self) { try await other.replayWebhook("none") }
            try await other.replayWebhook(dead.eventID)
            #expect(try await other.deadWebhooks().events == [])
            #expect(try await delivery.deliverDue() == 1)
            #expect(try Self.ids(receiver) == [dead.eventID, dead.eventID, dead.eventID])
            await #expect(throws: MerchantError.self) { try await other.replayWebhook(dead.eventID) }
        }
    }

    @Test(arguments: Backend.available)
    func `a delivered event is kept with its attempts, and can be sent again`(_ backend: Backend) async throws {
        try await with(backend, (.internalServerError, [:]), (.ok, [:])) { [self] url, receiver, merchant, _ in
            try await change(merchant, "one")
            let delivery = try delivery(url, merchant)
            let id = try #require(try await merchant.webhookEvents().events.first?.eventID)
            #expect(try await delivery.deliverDue() == 1)
            let failed = try await merchant.webhookEvent(id)
            #expect(failed.event.state == .waiting && failed.event.attempts == 1 && failed.event.settledAt == nil)
            #expect(failed.event.reason == "HTTP 500" && failed.event.nextAttemptAt == failed.attempts[0].nextAttemptAt)
            #expect(Array(failed.body.utf8) == receiver.requests[0].body)
            clock.advance(by: 60)
            #expect(try await delivery.deliverDue() == 1)
            let kept = try await merchant.webhookEvent(id)
            #expect(kept.event.state == .delivered && kept.event.reason == nil && kept.event.nextAttemptAt == nil)
            #expect(kept.event.settledAt == Int64(clock.now.timeIntervalSince1970 * 1_000))
            #expect(kept.attempts.map(\.attempt) == [2, 1] && kept.attempts.map(\.status) == [200, 500])
            #expect(kept.attempts.map(\.reason) == [nil, "HTTP 500"] && kept.attempts[0].answer == "ok")
            #expect(kept.attempts.allSatisfy { $0.duration >= 0 })
            #expect(kept.attempts[0].sentAt - kept.attempts[1].sentAt == 60_000)
            #expect(try await merchant.webhookEvents(.delivered).events == [kept.event])
            #expect(try await merchant.webhookEvents(.dead).events == [])

            try await merchant.resendWebhook(id)
            #expect(try await merchant.webhookEvents(.waiting).events.map(\.eventID) == [id])
            #expect(try await delivery.deliverDue() == 1)
            #expect(try Self.ids(receiver) == [id, id, id])
            #expect(try await merchant.webhookEvent(id).attempts.map(\.attempt) == [3, 2, 1])
            await #expect(throws: MerchantError.self) { try await merchant.resendWebhook("none") }
            await #expect(throws: MerchantError.self) { try await merchant.webhookEvent("a\u{0}b") }

            // Kept for 7 days.
            clock.advance(by: 7 * 86_400)
            #expect(try await merchant.pruneWebhooks() == 0)
            clock.advance(by: 1)
            #expect(try await merchant.pruneWebhooks() == 1)
            #expect(try await merchant.webhookEvents().events == [])
            await #expect(throws: MerchantError.self) { try await merchant.webhookEvent(id) }
            #expect(
                try await merchant.database.read {
                    try $0.queryOne("SELECT count(*) FROM webhook_attempts")?.int(0)
                } == 0)
        }
    }

    @Test(arguments: Backend.available)
    func `an attempt that fails late does not undo that the event is sent again`(_ backend: Backend) async throws {
        try await with(backend, (.ok, [:])) { [self] url, receiver, merchant, _ in
            try await change(merchant, "one")
            let outbox = merchant.outbox
            let now = Int64(clock.now.timeIntervalSince1970 * 1_000)
            let answer = WebhookAnswer(sentAt: now, duration: 1, status: 500)
            let new = try await outbox.takeDueEvents(limit: 1, retries: 1, now: now, leaseEnd: now + 1)
            let first = try #require(new.first)
            try await outbox.settle(first, .retry(at: now, reason: "HTTP 500"), answer, now: now)
            let tried = try await outbox.takeDueEvents(limit: 1, retries: 1, now: now, leaseEnd: now + 20_000)
            let last = try #require(tried.first)
            #expect(last.attempts == 1)
            try await merchant.resendWebhook(last.eventID)
            for outcome in [WebhookOutcome.retry(at: now + 60_000, reason: "HTTP 500"), .dead(reason: "HTTP 500")] {
                try await outbox.settle(last, outcome, answer, now: now)
                let event = try await merchant.webhookEvent(last.eventID).event
                #expect(event.state == .waiting && event.attempts == 0 && event.nextAttemptAt == now)
            }
            #expect(try await delivery(url, merchant).deliverDue() == 1)
            #expect(receiver.requests.count == 1)
            #expect(try await merchant.webhookEvent(last.eventID).event.state == .delivered)
        }
    }

    @Test(arguments: Backend.available)
    func `events are listed page by page, and the oldest delivered ones removed`(_ backend: Backend) async throws {
        try await with(backend, (.ok, [:])) { [self] _, _, merchant, _ in
            let now = Int64(clock.now.timeIntervalSince1970 * 1_000)
            let count = Merchant.deliveredWebhooksKept + 3
            try await merchant.database.write { connection in
                for number in 0..<count {
                    try connection.execute(
                        """
                        INSERT INTO webhook_events (event_id, type, body, created_at, state, due_at, attempts, settled_at)
                        VALUES ($1, 'balance.changed', '{}', $2, $3, 0, 1, $2)
                        """,
                        [
                            String(format: "%08d", number), now + Int64(number),
                            // The oldest are dead and stay.
                            number < 2 ? "dead" : "delivered",
                        ])
                }
            }
            var ids: [String] = []
            var before: String?
            repeat {
                let page = try await merchant.webhookEvents(before: before, limit: 200)
                ids += page.events.map(\.eventID)
                before = page.next
            } while before != nil && ids.count <= count
            #expect(ids.count == count && ids == ids.sorted(by: >))
            let dead = try await merchant.webhookEvents(.dead, limit: 2)
            #expect(dead.events.map(\.eventID) == ["00000001", "00000000"] && dead.next == nil)
            #expect(try await merchant.pruneWebhooks() == 1)
            #expect(try await merchant.pruneWebhooks() == 0)
            await #expect(throws: MerchantError.self) { try await merchant.webhookEvent("00000002") }
            #expect(try await merchant.webhookEvents(.dead).events.count == 2)
        }
    }

    @Test(arguments: Backend.available)
    func `the newest attempts are kept, and the beginning of an answer`(_ backend: Backend) async throws {
        try await with(backend, (.ok, [:])) { [self] _, _, merchant, _ in
            try await change(merchant, "one")
            let id = try #require(try await merchant.webhookEvents().events.first?.eventID)
            let answer = WebhookAnswer(
                sentAt: 1, duration: 2, status: 500, body: [0] + [UInt8](repeating: 0x61, count: 5_000))
            for attempts in 0..<(MerchantLimits.webhookAttempts + 2) {
                let event = WebhookEvent(
                    eventID: id, type: "balance.changed", body: [], createdAt: 1, attempts: attempts)
                try await merchant.outbox.settle(event, .retry(at: 3, reason: "HTTP 500"), answer, now: 4)
            }
            let attempts = try await merchant.webhookEvent(id).attempts
            #expect(attempts.count == MerchantLimits.webhookAttempts && attempts.first?.attempt == 52)
            #expect(attempts.last?.attempt == 3 && attempts[0].answer?.count == MerchantLimits.webhookAnswer - 1)
        }
    }

    @Test func `whoever delivers is rung for`() async throws {
        try await with(.sqlite, (.ok, [:])) { [self] url, _, merchant, _ in
            let (rings, ring) = AsyncStream.makeStream(of: Void.self)
            merchant.outboxSignal.listen { ring.yield() }
            try await change(merchant, "one")
            for await _ in rings { break }
            #expect(try await delivery(url, merchant).deliverDue() == 1)
        }
    }
}
