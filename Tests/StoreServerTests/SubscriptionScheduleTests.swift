import Foundation
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct SubscriptionScheduleTests {
    @Test func `renewals go on as soon as the database answers again`() async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            var parts = try #require(place.databaseURL.flatMap { URLComponents(string: $0) })
            let relay = try Relay(to: UInt16(parts.port ?? 5432))
            defer { relay.close() }
            parts.port = Int(relay.port)
            let relayed = try #require(parts.string)
            try await place.open("first", { $0.databaseURL = relayed }) { application async throws in
                await application.waitUntilCurrent()
                let (store, log) = (application.sandbox, LogLines())
                relay.cut()
                store.forgetDueDates()
                let schedule = SubscriptionSchedule(stores: [store], logger: log.logger)
                let work = Task { try await schedule.run() }
                for await line in log.arrivals where line.text.contains("subscriptions not settled") { break }
                #expect(store.schedule.mayBeDue(at: store.clock.milliseconds))
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
