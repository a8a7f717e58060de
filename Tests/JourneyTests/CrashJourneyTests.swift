import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Interruptions at every step", .timeLimit(.minutes(1)))
struct CrashJourneyTests {
    /// Every run has so many steps at least: the first observer's listing, then save, tell, ask, save, send, collect,
    /// save, tell, save, finish, forget, tell.
    private static let steps = 13
    /// All steps, in parts that take a few seconds each.
    private static let parts = [1...4, 5...8, 9...12, 13...40]

    /// How many of these steps every run has.
    private static func least(of part: ClosedRange<Int>) -> Int {
        part.clamped(to: 1...steps).count
    }

    @Test(arguments: Backend.available, parts)
    func `an app killed before any step has bought, delivered and finished once after its relaunch`(
        _ backend: Backend, _ part: ClosedRange<Int>
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            var kills = 0
            for step in part {
                let device = try await JourneyDevice(store, email: "ape\(step)@example.com")
                let grants = Grants()
                let wasKilled = try await Self.run(device, grants) { number, _ in number != step }
                if wasKilled {
                    kills += 1
                    #expect(try await !Self.run(device, grants))
                }
                try await Self.expectOnePurchase(device, grants, step)
                if !wasKilled { break }
            }
            #expect(kills >= Self.least(of: part))
        }
    }

    @Test(arguments: Backend.available, parts)
    func `a store that stops before any step, and starts again, changes nothing in the end`(
        _ backend: Backend, _ part: ClosedRange<Int>
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            var restarts = 0
            for step in part {
                let device = try await JourneyDevice(store, email: "ape\(step)@example.com")
                let grants = Grants()
                let restart = Mutex<Task<Void, any Error>?>(nil)
                let (retries, retried) = AsyncStream.makeStream(of: Void.self)
                let wasKilled = try await Self.run(device, grants) { number, action in
                    if case .wait(for: .entry, _) = action { retried.yield() }
                    guard number == step else { return true }
                    // The step finds the store gone, and the ones after it find it there again at some time. A request
                    // that finds it gone is made again.
                    let isRequest =
                        switch action {
                        case .send, .finish: true
                        default: false
                        }
                    let isGone = DispatchSemaphore(value: 0)
                    let task = Task {
                        await store.stop()
                        isGone.signal()
                        if isRequest { for await _ in retries { break } }
                        try await store.start()
                    }
                    restart.withLock { $0 = task }
                    isGone.wait()
                    return true
                }
                #expect(!wasKilled)
                guard let task = restart.withLock({ $0 }) else { break }
                restarts += 1
                try await task.value
                try await Self.expectOnePurchase(device, grants, step)
            }
            #expect(restarts >= Self.least(of: part))
        }
    }

    @Test(arguments: Backend.available)
    func `losing any answer changes nothing in the end`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let address = try #require(URL(string: store.addresses.sandbox))
            var losses = 0
            for number in 1...20 {
                let device = try await JourneyDevice(store, email: "ape\(number)@example.com")
                let grants = Grants()
                let transport = LossyTransport(try #require(HTTPTransport(store: address)), lost: number)
                #expect(try await !Self.run(device, grants, transport))
                try await Self.expectOnePurchase(device, grants, number)
                if !transport.hasLost { break }
                losses += 1
            }
            // To sign in, for the price, to buy, for two receipts, to finish.
            #expect(losses >= 6)
        }
    }

    @Test(arguments: Backend.available)
    func `a payment is kept while the store is unavailable, and then sent`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let grants = Grants()
            await store.stop()
            let (tries, tell) = AsyncStream.makeStream(of: Void.self)
            let noted: @Sendable (PaymentQueueStateMachine.Action) -> Bool = { action in
                if case .wait(for: .entry, _) = action { tell.yield() }
                return true
            }
            var app = JourneyApp(device.launch(mayPerform: noted), grants: grants)
            await #expect(throws: SKError.self) { try await ProductsQuestion().ask(["credits5"], app.engine) }
            app.queue.add(payment("credits5", quantity: 4))
            var attempts = 0
            for await _ in tries {
                attempts += 1
                if attempts == 2 { break }
            }
            #expect(await app.told(1) == ["updated purchasing credits5"])
            #expect(device.sheets.isEmpty)
            await app.stop()
            #expect(try device.journal().map(\.phase) == [.queued])

            app = JourneyApp(device.launch(), grants: grants)
            #expect(await app.told(1) == ["updated purchasing credits5"])
            try await store.start()
            #expect(await app.told(3).dropFirst() == ["updated purchased credits5", "removed purchased credits5"])
            #expect(Array(grants.all.values) == [4])
            let ledger = try await device.ledger()
            #expect(ledger.payments.count == 1 && ledger.transactions.map(\.isFinished) == [true])
            await app.stop()
        }
    }

    // MARK: One launch

    /// Buys if that was not done yet, and goes on until the queue is empty or `mayPerform`, given the number of each
    /// step, has killed the app.
    private static func run(
        _ device: JourneyDevice, _ grants: Grants, _ transport: (any StoreTransport)? = nil,
        _ mayPerform: @escaping @Sendable (Int, PaymentQueueStateMachine.Action) -> Bool = { _, _ in true }
    ) async throws -> Bool {
        let journal = try device.journal()
        let ledger = try await device.ledger()
        // Killed between the last step's effect and its end: there is nothing left to be told.
        if journal.isEmpty, ledger.transactions.contains(where: \.isFinished) { return false }
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let count = Mutex(0)
        let app = JourneyApp(
            device.launch(transport: transport) { action in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                guard mayPerform(number, action) else {
                    end.yield(true)
                    return false
                }
                if case .remove = action { end.yield(false) }
                return true
            }, grants: grants)
        if journal.isEmpty, ledger.purchases.isEmpty { app.queue.add(payment("credits5", quantity: 2)) }
        var wasKilled = false
        for await end in ends {
            wasKilled = end
            break
        }
        await app.stop()
        return wasKilled
    }

    private static func expectOnePurchase(_ device: JourneyDevice, _ grants: Grants, _ step: Int) async throws {
        let ledger = try await device.ledger()
        let row = try #require(ledger.transactions.first, "step \(step)")
        #expect(ledger.purchases.map(\.state) == ["purchased"], "step \(step)")
        #expect(ledger.payments.count == 1 && ledger.transactions.count == 1, "step \(step)")
        #expect(row.isFinished && row.quantity == 2 && row.price == 1980, "step \(step)")
        #expect(grants.all == [String(row.id): 2], "step \(step)")
        #expect(try device.journal().isEmpty, "step \(step)")
        // The app receipt was on the disk before the app was told.
        #expect(try await device.checkedReceipt().inApp.map(\.transactionID) == [String(row.id)], "step \(step)")
    }
}
