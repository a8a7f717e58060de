import Database
import Foundation
import HTTPTypes
import Merchant
import MerchantWire
import TestSupport
import Testing

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
