import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

/// The store answers without waiting, so that the watch pauses, and the test's timer ends each pause.
@Suite("News of the store while an app observes", .timeLimit(.minutes(1)))
struct StoreWatchTests {
    private static let account: AccountID = "account-1"
    private static let product: ProductID = "com.example.monkeys.credits5"

    private func launch(
        _ device: TestDevice, _ timer: ManualTimer,
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
    ) -> StoreKitEngine {
        var configuration = device.configuration()
        configuration.watchesStore = true
        return device.launch(configuration, timer: timer, mayPerform: mayPerform)
    }

    private func asked(_ device: TestDevice, _ route: String = "news") -> Int {
        device.store.asked.count { $0 == route }
    }

    /// Waits until the watch pauses after its first two requests, and the launch's check of the notices, which begins
    /// between them, has its answer.
    private func untilPaused(_ device: TestDevice, _ timer: ManualTimer) async throws {
        try await until { !timer.delays.isEmpty && asked(device, "notices") > 1 }
    }

    @Test(arguments: [nil, .lostRequest, .lostAnswer, .garbage(502)] as [FakeStore.Fault?])
    func `a transaction of the store reaches a running app once, whatever is lost`(_ fault: FakeStore.Fault?)
        async throws
    {
        let device = try await TestDevice.signedIn(notices: [])
        let timer = ManualTimer()
        let book = GrantBook()
        let engine = launch(device, timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = book.observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        let lists = asked(device, "unfinished")
        // More than one page.
        let ids = (0..<3).map { _ in device.store.sell(Self.product, to: Self.account).description }
        if let fault { device.store.failNext("arrived", fault) }
        await timer.fire()
        if fault != nil { await timer.fire() }
        try await until { book.deliveries.count == 3 && device.store.unfinishedCount == 0 }
        // The store's order, without the store's whole list.
        let told = observer.history.filter { $0.hasPrefix("updated") }.joined(separator: "\n")
        let places = ids.compactMap { told.range(of: $0)?.lowerBound }
        #expect(places.count == 3 && places == places.sorted())
        #expect(asked(device, "unfinished") == lists)
        await engine.stop()

        let again = launch(device, ManualTimer())
        let later = SKPaymentQueue(engine: again)
        let relaunched = book.observer()
        later.add(relaunched)
        try await until { asked(device, "unfinished") > lists }
        await again.payments.quiet()
        await again.stop()
        withExtendedLifetime(relaunched) {}
        #expect(book.deliveries == Dictionary(uniqueKeysWithValues: ids.map { ($0, 1) }))
    }

    @Test func `an app that dies before the delivery gets it at the next launch, once`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let timer = ManualTimer()
        let book = GrantBook()
        let isCut = LockedList<Bool>()
        let engine = launch(device, timer) { action in
            guard case .update = action else { return true }
            isCut.append(true)
            return false
        }
        let queue = SKPaymentQueue(engine: engine)
        let observer = book.observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        let id = device.store.sell(Self.product, to: Self.account).description
        await timer.fire()
        try await until { !isCut.all.isEmpty }
        await engine.stop()
        withExtendedLifetime(observer) {}
        #expect(book.deliveries.isEmpty)

        let again = launch(device, ManualTimer())
        let later = SKPaymentQueue(engine: again)
        let relaunched = book.observer()
        later.add(relaunched)
        try await until { device.store.unfinishedCount == 0 }
        await again.payments.quiet()
        await again.stop()
        withExtendedLifetime(relaunched) {}
        #expect(book.deliveries == [id: 1])
    }

    @Test func `a store that is away is asked ever more rarely, and its news arrive when it is back`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let timer = ManualTimer()
        let book = GrantBook()
        let engine = launch(device, timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = book.observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        device.store.change { $0.isDown = true }
        for _ in 0..<4 { await timer.fire() }
        try await until { timer.delays.count == 5 }
        #expect(timer.delays == [1, 1, 2, 4, 8])
        let id = device.store.sell(Self.product, to: Self.account).description
        device.store.change { $0.isDown = false }
        await timer.fire()
        try await until { book.deliveries == [id: 1] }
        await engine.stop()
        withExtendedLifetime(observer) {}
    }

    @Test func `a refund reaches a running app`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let timer = ManualTimer()
        let engine = launch(device, timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        let before = asked(device, "notices")
        device.store.change { $0.lost = ["a"] }
        await timer.fire()
        try await until { asked(device, "notices") > before }
        await engine.stop()
        withExtendedLifetime(observer) {}
    }

    @Test func `notices are checked again once a store that was away is back`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let timer = ManualTimer()
        let engine = launch(device, timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        device.store.change { $0.isDown = true }
        await timer.fire()
        try await until { timer.delays.count == 2 }
        let before = asked(device, "notices")
        device.store.change { $0.isDown = false }
        await timer.fire()
        try await until { asked(device, "notices") > before }
        await engine.stop()
        withExtendedLifetime(observer) {}
    }

    @Test func `a store that returns the same marks after seconds is not asked without a pause`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        await engine.payments.quiet()
        let timer = ManualTimer()
        // Each answer takes five seconds.
        let start = ContinuousClock.now
        let calls = LockedList<Bool>()
        let watch = StoreWatch(
            session: try #require(engine.session), timer: timer, backoff: Backoff(jitter: { 1 }),
            now: { start + Duration.seconds(5 * calls.append(true)) })
        watch.attach(engine.payments)
        await watch.follow()
        try await untilPaused(device, timer)
        await timer.fire()
        try await until { timer.delays.count == 2 }
        #expect(timer.delays == [1, 2] && asked(device) == 3)
        watch.stop()
        await engine.stop()
        withExtendedLifetime(observer) {}
    }

    @Test func `an event that waits when a request begins knows of the request`() async throws {
        let device = try TestDevice()
        let gate = DispatchSemaphore(value: 0)
        let engine = device.launch { action in
            guard case .update = action else { return true }
            gate.wait()
            gate.signal()
            return true
        }
        let running = LockedList<Int>()
        // Its event waits at the gate, and the next one behind it.
        SKPaymentQueue(engine: engine).add(payment())
        engine.payments.happened { machine in
            running.append(machine.expectedResponses)
            return []
        }
        engine.payments.expectTransaction()
        gate.signal()
        await engine.payments.settled()
        #expect(running.all == [1])
        await engine.stop()
    }

    @Test func `nothing is asked without an observer, nor without a customer`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let timer = ManualTimer()
        let engine = launch(device, timer)
        let queue = SKPaymentQueue(engine: engine)
        await engine.payments.quiet()
        #expect(asked(device) == 0)
        let observer = GrantBook().observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        let count = asked(device)
        queue.remove(observer)
        await timer.fire()
        await engine.payments.quiet()
        #expect(asked(device) == count)
        // The next observer begins again.
        queue.add(observer)
        try await until { asked(device) > count }
        await engine.stop()

        let stranger = try TestDevice()
        let other = launch(stranger, ManualTimer())
        let empty = SKPaymentQueue(engine: other)
        empty.add(observer)
        await other.payments.quiet()
        #expect(asked(stranger) == 0)
        await other.stop()
        withExtendedLifetime(observer) {}
    }

    @Test func `a store whose answers always differ is not asked without end`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        device.store.change { $0.isRestless = true }
        let timer = ManualTimer()
        let engine = launch(device, timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        try await untilPaused(device, timer)
        // More only if an answer took a second.
        let count = asked(device)
        #expect(count >= 6 && timer.delays == [1])
        await timer.fire()
        try await until { timer.delays.count == 2 }
        #expect(asked(device) > count)
        await engine.stop()
        withExtendedLifetime(observer) {}
    }
}
