import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// Notes which entitlements it was told to be gone, and counts the calls.
// @unchecked: the list is a lock's.
private final class RevocationObserver: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    let told = LockedList<[String]>()

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions where transaction.transactionState == .purchased {
            queue.finishTransaction(transaction)
        }
    }

    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) { told.append(productIdentifiers) }

    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        told.append(["add", payment.productIdentifier])
        return false
    }
}

@Suite("Refunds in pages", .timeLimit(.minutes(1)))
struct NoticePagesTests {
    @Test func `all pages are delivered in one call, and the next launch repeats nothing`() async throws {
        let device = try await TestDevice.signedIn()
        // A page is two; one product stands twice.
        device.store.change { $0.lost = ["a", "b", "c", "a", "d"] }
        for isFirst in [true, false] {
            let asked = device.store.asked.count { $0 == "notices" }
            let engine = device.launch()
            let queue = SKPaymentQueue(engine: engine)
            let observer = RevocationObserver()
            queue.add(observer)
            try await until { device.store.asked.count { $0 == "notices" } >= asked + (isFirst ? 3 : 1) }
            if isFirst {
                try await until { !observer.told.all.isEmpty }
            } else {
                // A second check begins only after the first is over.
                try await until {
                    queue.checkStore()
                    return device.store.asked.count { $0 == "notices" } > asked + 1
                }
            }
            await engine.stop()
            #expect(observer.told.all == (isFirst ? [["a", "b", "c", "d"]] : []))
        }
        // One to sign in with, three pages, two after.
        #expect(device.store.asked.count { $0 == "notices" } >= 6)
    }

    /// The app is told once, although the store is asked again and again, and the engine is stopped meanwhile.
    @Test func `an engine that stops during a call to observers calls all of them and records it`() async throws {
        let device = try await TestDevice.signedIn()
        device.store.change { $0.lost = [] }
        for isFirst in [true, false] {
            let engine = device.launch()
            let queue = SKPaymentQueue(engine: engine)
            // Telling that many takes longer than stopping.
            let observers = (0..<500).map { _ in RevocationObserver() }
            for observer in observers { queue.add(observer) }
            device.store.change { $0.lost = ["a"] }
            let asked = device.store.asked.count { $0 == "notices" }
            try await until {
                queue.checkStore()
                return isFirst
                    ? !observers[0].told.all.isEmpty : device.store.asked.count { $0 == "notices" } > asked + 1
            }
            await engine.stop()
            #expect(observers.count { $0.told.all == [["a"]] } == (isFirst ? observers.count : 0))
        }
    }

    /// Answers the requests of one template once the test says so.
    private final class LateStore: StoreTransport {
        private let store: FakeStore
        private let state = Mutex((isAsked: false, isDue: false))
        private let held: String

        /// - Parameter held: the template of the requests that wait for ``answer()``.
        init(_ store: FakeStore, holding held: String) { (self.store, self.held) = (store, held) }

        var isAsked: Bool { state.withLock { $0.isAsked } }

        func answer() { state.withLock { $0.isDue = true } }

        func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse {
            if FakeStore.name(request.route) == held {
                state.withLock { $0.isAsked = true }
                try await until { state.withLock { $0.isDue } }
            }
            return try await store.send(request)
        }
    }

    /// Otherwise it would write a receipt and an account beside the next launch.
    @Test func `notices that arrive after the stop are left to the next launch`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        let store = LateStore(device.store, holding: "notices")
        let engine = device.launch(transport: store)
        let check = Task { await engine.payments.parts.afterListing() }
        try await until { store.isAsked }
        await engine.stop()
        let receipts = device.store.change { state in
            state.lost = ["a"]
            return state.receiptRequests.count
        }
        store.answer()
        await check.value
        #expect(device.store.change { $0.receiptRequests.count } == receipts)
    }

    /// The next launch may have written a newer one.
    @Test func `a receipt that arrives after the stop is not written`() async throws {
        let device = try await TestDevice.signedIn(notices: [])
        device.store.change {
            $0.lost = ["a"]
            $0.makeReceipt = { _ in Data("late".utf8) }
        }
        let store = LateStore(device.store, holding: "appReceipt")
        let engine = device.launch(transport: store)
        let file = try #require(engine.receiptURL)
        let check = Task { await engine.payments.parts.afterListing() }
        try await until { store.isAsked }
        await engine.stop()
        store.answer()
        await check.value
        #expect((try? Data(contentsOf: file)) != Data("late".utf8))
    }

    @Test func `a refund is recorded as delivered only when an observer got it`() async throws {
        let engine = try TestDevice().launch()
        let callbacks = PaymentQueueCallbacks(callbackQueue: DispatchQueue(label: "callbacks"))
        let noted = LockedList<String>()
        await callbacks.revoked(["a"]) { noted.append("a") }
        #expect(noted.all == [])
        let observer = RevocationObserver()
        _ = callbacks.add(observer, queue: SKPaymentQueue(engine: engine))
        await callbacks.revoked(["b"]) { noted.append("b") }
        await callbacks.stop()
        await callbacks.revoked(["c"]) { noted.append("c") }
        #expect(noted.all == ["b"] && observer.told.all == [["b"]])
        await engine.stop()
    }

    @Test func `a store with endless pages is not asked forever`() async throws {
        let device = try await TestDevice.signedIn()
        device.store.change {
            $0.lost = ["a"]
            $0.saysThereIsMore = true
        }
        let before = device.store.asked.count { $0 == "notices" }
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        queue.add(observer)
        try await until { !observer.told.all.isEmpty }
        await engine.stop()
        #expect(observer.told.all == [["a"]])
        #expect(device.store.asked.count { $0 == "notices" } == before + 2)
    }

    @Test func `notices and approvals are asked for without the list of unfinished transactions`() async throws {
        let device = try await TestDevice.signedIn()
        device.store.change { $0.lost = [] }
        let grants = LockedList<Int>()
        var configuration = device.configuration()
        configuration.beforeGrant = { grants.append(1) }
        let engine = device.launch(configuration)
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        let before = device.store.asked.count { $0 == "notices" }
        queue.checkNotices()
        queue.add(observer)
        try await until { device.store.asked.count { $0 == "notices" } > before }
        let lists = device.store.asked.count { $0 == "unfinished" }
        let request = SKMutablePayment()
        request.productIdentifier = "com.example.monkeys.credits5"
        request.simulatesAskToBuyInSandbox = true
        queue.add(request)
        try await until { queue.transactions.first?.transactionState == .deferred }
        let deferred = device.store.change { $0.purchases.first { $0.value.response.state == .deferred }?.key }
        device.store.decide(try #require(deferred), approve: true)
        device.store.change { $0.lost = ["a"] }
        queue.checkNotices()
        try await until { queue.transactions.isEmpty && !observer.told.all.isEmpty }
        // A payment that fails grants nothing.
        device.store.change { $0.declines = true }
        queue.add(payment())
        try await until { queue.transactions.first?.transactionState == .failed }
        await engine.stop()
        #expect(observer.told.all == [["a"]] && grants.all.count == 1)
        #expect(device.store.asked.count { $0 == "unfinished" } == lists)
    }

    @Test func `notices outlast a long outage`() async throws {
        let device = try await TestDevice.signedIn()
        device.store.change { $0.lost = ["a"] }
        let outage = 12
        for _ in 0..<outage { device.store.failNext("notices", .lostRequest) }
        let timer = ManualTimer()
        let engine = device.launch(timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        queue.add(observer)
        for _ in 0..<outage { await timer.fire() }
        try await until { !observer.told.all.isEmpty }
        await engine.stop()
        #expect(observer.told.all == [["a"]])
        #expect(timer.delays == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60])
    }

    /// A receipt that the store or the device refuses will not be better in a minute.
    @Test(arguments: [true, false])
    func `a refused receipt ends the check with a message, and the next launch tells of the refund`(
        _ isRefusedByTheStore: Bool
    ) async throws {
        let device = try await TestDevice.signedIn()
        device.store.change {
            $0.lost = ["a"]
            $0.promotions = [PromotionDescription(promotionID: UUID(), productID: "com.example.monkeys.credits5")]
            if !isRefusedByTheStore { $0.makeReceipt = { _ in Data() } }
        }
        if isRefusedByTheStore {
            let refusal = WireError(code: .unknownApp, message: "No such app.")
            device.store.failNext("appReceipt", .refusal(404, refusal))
        }
        let said = LockedList<String>()
        var configuration = device.configuration()
        configuration.alarm = { said.append($0) }
        let timer = ManualTimer()
        let engine = device.launch(configuration, timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        queue.add(observer)
        // The other notices arrive all the same.
        try await until { !observer.told.all.isEmpty }
        await engine.payments.quiet()
        await engine.stop()
        #expect(observer.told.all == [["add", "com.example.monkeys.credits5"]])
        #expect(said.all.count == 1 && said.all.first?.contains("refused") == true, "\(said.all)")
        #expect(timer.delays == [])

        device.store.change { $0.makeReceipt = nil }
        let again = device.launch()
        let laterQueue = SKPaymentQueue(engine: again)
        let later = RevocationObserver()
        laterQueue.add(later)
        try await until { !later.told.all.isEmpty }
        await again.stop()
        #expect(later.told.all == [["a"]])
    }

    @Test func `refused notices are reported once, and not asked for again`() async throws {
        let device = try await TestDevice.signedIn()
        let said = LockedList<String>()
        var configuration = device.configuration()
        configuration.diagnostics = { said.append($0) }
        let timer = ManualTimer()
        let engine = device.launch(configuration, timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        // The store of the test has no notices.
        queue.add(observer)
        try await until { !said.all.isEmpty }
        await engine.stop()
        #expect(said.all.count == 1 && said.all.first?.hasPrefix("the store refused the notices: ") == true)
        #expect(timer.delays == [])
        withExtendedLifetime(observer) {}
    }

    @Test func `a check of the notices is not repeated without an observer`() async throws {
        let device = try await TestDevice.signedIn()
        device.store.change { $0.lost = ["a"] }
        device.store.failNext("notices", .lostRequest)
        let timer = ManualTimer()
        let before = device.store.asked.count { $0 == "notices" }
        let engine = device.launch(timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        queue.add(observer)
        try await until { !timer.delays.isEmpty }
        queue.remove(observer)
        await timer.fire()
        // The next observer begins with the list, and the check follows.
        queue.add(observer)
        try await until { !observer.told.all.isEmpty }
        await engine.stop()
        #expect(observer.told.all == [["a"]])
        #expect(device.store.asked.count { $0 == "notices" } == before + 2)
    }

    /// The customer's tap survives a request that fails, whichever it is.
    @Test(arguments: ["notices", "products", "promotions"])
    func `a promoted purchase reaches the app although the store was away for a moment`(_ route: String) async throws {
        let device = try await TestDevice.signedIn()
        device.store.change {
            $0.lost = []
            $0.promotions = [PromotionDescription(promotionID: UUID(), productID: "com.example.monkeys.credits5")]
        }
        device.store.failNext(route, .lostRequest)
        let timer = ManualTimer()
        let engine = device.launch(timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        queue.add(observer)
        await timer.fire()
        try await until { !observer.told.all.isEmpty }
        await engine.stop()
        #expect(observer.told.all == [["add", "com.example.monkeys.credits5"]])
        #expect(device.store.change { $0.promotions }.isEmpty)
    }
}
