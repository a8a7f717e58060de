import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct SubscriptionScheduleTests {
    /// Of several processes, one settles under a claim, and only while it hears the others.
    @Test(arguments: [false, true])
    func `renewals go on as soon as the database answers again`(_ isShared: Bool) async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            var parts = try #require(place.databaseURL.flatMap { URLComponents(string: $0) })
            let relay = try Relay(to: UInt16(parts.port ?? 5432))
            defer { relay.close() }
            parts.port = Int(relay.port)
            let relayed = try #require(parts.string)
            try await place.open("first", { $0.databaseURL = relayed }) { application async throws in
                await application.waitUntilCurrent()
                let (store, log) = (application.sandbox, LogLines())
                let claims = Claims(application.databases, holder: UUID()) {
                    Int64(Date().timeIntervalSince1970 * 1000)
                }
                let identifier = ExtensionIdentifier(text: "e", key: "e")
                try await store.accept(
                    MassExtensionRequest(
                        bundleID: RunningServer.bundleID, productID: "club.monthly",
                        terms: ExtensionTerms(days: 1, reason: 0, identifier: identifier), storefronts: nil,
                        acceptedAt: store.clock.milliseconds))
                relay.cut()
                let schedule = SubscriptionSchedule(
                    stores: [store], claims: isShared ? claims : nil, logger: log.logger)
                let work = Task { try await schedule.run() }
                // A machine so busy that the process no longer hears the others does not even begin.
                let hasFailed = try await SharedStoreTests.holds {
                    await Task.yield()
                    return log.all.contains { $0.text.contains("subscriptions not settled") } || !claims.isCurrent
                }
                #expect(hasFailed && store.schedule.mayBeDue(at: store.clock.milliseconds))
                relay.mend()
                // A minute would be too long: service is back ten seconds after the primary is gone.
                let isDone = try await SharedStoreTests.holds {
                    try? await store.check()
                    return !store.schedule.mayBeDue(at: store.clock.milliseconds)
                }
                work.cancel()
                _ = await work.result
                #expect(isDone)
            }
        }
    }
}
