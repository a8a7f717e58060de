import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

/// What the store does by itself reaches an app that runs, over sockets.
@Suite("News of the store in a running app", .timeLimit(.minutes(1)))
struct NewsJourneyTests {
    /// 40 days in milliseconds: one renewal of a month.
    private static let advance = #"{"advance":3456000000}"#

    private static func launch(
        _ device: JourneyDevice, grants: Grants,
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
    ) -> JourneyApp {
        var configuration = device.configuration()
        configuration.watchesStore = true
        return JourneyApp(device.launch(configuration, mayPerform: mayPerform), grants: grants)
    }

    /// Buys a month of the club in a launch of its own, and finishes it.
    private static func subscribe(_ device: JourneyDevice, _ grants: Grants) async {
        let app = JourneyApp(device.launch(), grants: grants)
        app.queue.add(payment("club.monthly"))
        await app.told(3)
        await app.stop()
    }

    @Test(arguments: Backend.available)
    func `a renewal is delivered while the app runs, once`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let grants = Grants()
            await Self.subscribe(device, grants)
            let app = Self.launch(device, grants: grants)
            // The renewal is not for the list of the launch.
            await app.engine.payments.quiet()
            #expect(try await store.control("PUT", "clock", Self.advance).status == 200)
            let history = await app.told(2)
            #expect(history == ["updated purchased club.monthly", "removed purchased club.monthly"])
            #expect(app.latest?.original != nil)
            #expect(try await device.checkedReceipt().inApp.count == 2)
            await app.stop()
            let ledger = try await device.ledger()
            #expect(ledger.transactions.map(\.isFinished) == [true, true])

            let again = Self.launch(device, grants: grants)
            await again.engine.payments.quiet()
            await again.stop()
            #expect(again.history.isEmpty && grants.all.count == 2 && grants.originals.count == 1)
        }
    }

    @Test(arguments: Backend.available)
    func `a renewal arrives once although the app dies, and although the store was away`(_ backend: Backend)
        async throws
    {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let grants = Grants()
            await Self.subscribe(device, grants)
            let (cuts, cut) = AsyncStream.makeStream(of: Void.self)
            let app = Self.launch(device, grants: grants) { action in
                guard case .update = action else { return true }
                cut.yield()
                return false
            }
            await app.engine.payments.quiet()
            await store.stop()
            try await store.start()
            #expect(try await store.control("PUT", "clock", Self.advance).status == 200)
            for await _ in cuts { break }
            await app.stop()
            #expect(app.history.isEmpty)

            let again = Self.launch(device, grants: grants)
            #expect(await again.told(2).last == "removed purchased club.monthly")
            await again.stop()
            #expect(grants.all.count == 2 && grants.originals.count == 1)
        }
    }

    @Test func `what another device of the account buys stays with that device`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let phone = try await JourneyDevice(store)
            let grants = Grants()
            await Self.subscribe(phone, grants)
            let tablet = JourneyApp(JourneyDevice(beside: phone, name: "tablet").launch())
            tablet.queue.add(payment("credits5"))
            #expect(await tablet.told(2).last == "updated purchased credits5")

            var configuration = phone.configuration()
            configuration.watchesStore = true
            let app = JourneyApp(phone.launch(configuration))
            // The list of the launch has it, in case the tablet is gone.
            #expect(await app.told(1) == ["updated purchased credits5"])
            tablet.queue.add(payment("credits5"))
            #expect(await tablet.told(4).last == "updated purchased credits5")
            #expect(try await store.control("PUT", "clock", Self.advance).status == 200)
            #expect(await app.told(2).last == "updated purchased club.monthly")
            await app.stop()
            await tablet.stop()
        }
    }
}
