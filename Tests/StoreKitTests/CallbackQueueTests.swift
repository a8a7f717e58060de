import Foundation
import StoreWire
import Synchronization
import Testing

@testable import StoreKit

/// Runs the parts of a task on a queue. A block that a part adds to the queue runs after the part has ended.
final class TaskQueue: TaskExecutor {
    let queue = DispatchQueue(label: "task")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Where an app is called that says nothing about it: on the main queue, all of it.
@Suite("The default callback queue", .timeLimit(.minutes(1)))
struct CallbackQueueTests {
    private static let isMain: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Notes each call with whether it came on the main queue.
    private final class App: NSObject, SKPaymentTransactionObserver, SKProductsRequestDelegate, Sendable {
        let calls: AsyncStream<String>
        private let call: AsyncStream<String>.Continuation
        private let finishes: Bool

        init(finishes: Bool = true) {
            (calls, call) = AsyncStream.makeStream(of: String.self)
            self.finishes = finishes
            super.init()
        }

        func note(_ name: String) {
            call.yield(name + (DispatchQueue.getSpecific(key: isMain) == true ? "" : " on another queue"))
        }

        func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
            note("updated")
            for transaction in transactions where finishes && transaction.transactionState == .purchased {
                queue.finishTransaction(transaction)
            }
        }
        func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
            note("removed")
        }
        func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { note("restored") }
        func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
            note("restore failed")
        }
        func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) { note("products") }
        func requestDidFinish(_ request: SKRequest) { note("finished") }
        func request(_ request: SKRequest, didFailWithError error: any Error) { note("failed") }
    }

    @Test func `without a chosen queue every call comes on the main queue`() async throws {
        let device = try TestDevice()
        var configuration = device.configuration()
        configuration.callbackQueue =
            StoreKitConfiguration(environment: [:], executable: nil).callbackQueue
        #expect(configuration.callbackQueue.label == DispatchQueue.main.label)
        let engine = device.launch(configuration)
        let app = App()
        var calls = app.calls.makeAsyncIterator()
        let prices = SKProductsRequest(productIdentifiers: ["credits5"], engine: engine)
        prices.delegate = app
        prices.start()
        #expect(await calls.next() == "products")
        #expect(await calls.next() == "finished")
        let queue = SKPaymentQueue(engine: engine)
        queue.add(app)
        queue.add(payment())
        for expected in ["updated", "updated", "removed"] { #expect(await calls.next() == expected) }
        queue.restoreCompletedTransactions()
        #expect(await calls.next() == "restored")
        let receipt = SKReceiptRefreshRequest(receiptProperties: nil, engine: engine)
        receipt.delegate = app
        receipt.start()
        #expect(await calls.next() == "finished")
        device.store.change { $0.isDown = true }
        let failing = SKProductsRequest(productIdentifiers: ["credits5"], engine: engine)
        failing.delegate = app
        failing.start()
        #expect(await calls.next() == "failed")
        withExtendedLifetime(app) {}
        await engine.stop()
    }

    /// Tells when a task of the queue has taken the store's answer for products, and has ended or waits.
    private struct WatchedStore: StoreTransport {
        let store: FakeStore
        let tasks = TaskQueue()
        let answered = DispatchSemaphore(value: 0)

        func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse {
            let answer = try await store.send(request)
            if case .products = request.route { tasks.queue.async { answered.signal() } }
            return answer
        }
    }

    @Test func `observers get unfinished transactions before a later request is answered`() async throws {
        let device = try TestDevice()
        let bought = device.launch()
        let buyer = ObserverRecorder()
        let first = SKPaymentQueue(engine: bought)
        first.add(buyer)
        first.add(payment())
        await buyer.wait { $0.contains { $0.hasPrefix("updated purchased") } }
        await bought.stop()

        let store = WatchedStore(store: device.store)
        // The queue is late: the store answers first.
        let engine = device.launch(
            transport: store,
            mayPerform: { action in
                if case .introduce = action { store.answered.wait() }
                return true
            })
        // If it finished the transaction, its removal could come before the products as well.
        let app = App(finishes: false)
        var calls = app.calls.makeAsyncIterator()
        let queue = SKPaymentQueue(engine: engine)
        queue.add(app)
        let prices = SKProductsRequest(productIdentifiers: ["credits5"], engine: engine, executor: store.tasks)
        prices.delegate = app
        prices.start()
        #expect(await calls.next() == "updated on another queue")
        #expect(await calls.next() == "products on another queue")
        withExtendedLifetime(app) {}
        await engine.stop()
    }
}
