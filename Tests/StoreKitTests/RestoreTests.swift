import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Restoring over a store", .timeLimit(.minutes(1)))
struct RestoreTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    /// An app that takes and finishes what is restored, and notes the ids of the originals.
    private func observer(_ originals: LockedList<String>) -> ObserverRecorder {
        ObserverRecorder { queue, transaction in
            guard transaction.transactionState == .restored else { return }
            originals.append(transaction.original?.transactionIdentifier ?? "none")
            queue.finishTransaction(transaction)
        }
    }

    private func launch(
        _ configuration: StoreKitConfiguration? = nil, timer: any RetryTimer = ImmediateTimer(),
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
    ) -> SKPaymentQueue {
        SKPaymentQueue(engine: device.launch(configuration, timer: timer, mayPerform: mayPerform))
    }

    private func isOver(_ history: [String]) -> Bool { history.contains { $0.hasPrefix("restore ") } }

    @Test func `pages come in order, each as restored transactions of their originals, then the end`() async throws {
        device.store.own(5)
        let queue = launch()
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(isOver)
        let ids = (6...10).map { "200000000000000\($0)" }.map { $0.count > 16 ? "2000000000000010" : $0 }
        #expect(
            observer.history == [
                "updated restored \(ids[0]) hat1 + updated restored \(ids[1]) hat2",
                "updated restored \(ids[2]) hat3 + updated restored \(ids[3]) hat4",
                "updated restored \(ids[4]) hat5", "restore finished",
            ])
        #expect(queue.transactions.compactMap(\.transactionIdentifier) == ids)
        let first = try #require(queue.transactions.first)
        #expect(first.transactionDate == Date(timeIntervalSince1970: 1_800_000_000))
        #expect(first.transactionReceipt == nil && first.error == nil && first.payment.quantity == 1)
        let original = try #require(first.original)
        #expect(original.transactionIdentifier == "2000000000000001" && original.transactionState == .purchased)
        #expect(original.transactionDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(original.payment.productIdentifier == first.payment.productIdentifier && original.original == nil)
        // One receipt for all the pages, and no purchase.
        #expect(device.store.change { $0.receiptRequests.count } == 1)
        #expect(device.store.purchases.isEmpty)
        #expect(!device.store.asked.contains("transactionReceipt"))
    }

    @Test func `the receipt is on the disk before a restored transaction is journaled or delivered`() async throws {
        device.store.own(1)
        let receipt = DeviceFolder.receiptURL(
            device: device.folder, bundleID: BundleID(TestDevice.bundleID), environment: .sandbox)
        let seen = LockedList<Bool>()
        let queue = launch(mayPerform: { action in
            if case .save = action { seen.append(FileManager.default.fileExists(atPath: receipt.path)) }
            return true
        })
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(isOver)
        #expect(seen.all == [true])
    }

    @Test func `a restored transaction is delivered at each launch until the store has its finish`() async throws {
        device.store.own(1)
        let engine = device.launch()
        var queue = SKPaymentQueue(engine: engine)
        var observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(count: 2)
        await engine.stop()

        let originals = LockedList<String>()
        let second = device.launch()
        queue = SKPaymentQueue(engine: second)
        observer = self.observer(originals)
        queue.add(observer)
        await observer.wait(count: 2)
        #expect(
            observer.history == [
                "updated restored 2000000000000002 hat1", "removed restored 2000000000000002 hat1",
            ])
        #expect(originals.all == ["2000000000000001"])
        #expect(device.store.finished.map(\.description) == ["2000000000000002"])
        await second.stop()

        let third = device.launch()
        #expect(third.payments.isEmpty)
    }

    @Test func `nothing to restore ends well, and each call ends once`() async throws {
        let queue = launch()
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        queue.restoreCompletedTransactions(withApplicationUsername: "ape")
        queue.restoreCompletedTransactions()
        await observer.wait(count: 3)
        queue.restoreCompletedTransactions()
        await observer.wait(count: 4)
        #expect(observer.history == Array(repeating: "restore finished", count: 4))
    }

    @Test func `the user name goes to the store, and one that is too long does not`() async throws {
        device.store.own(1, username: "ape")
        device.store.own(1)
        let queue = launch()
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions(withApplicationUsername: "ape")
        await observer.wait(isOver)
        #expect(observer.history == ["updated restored 2000000000000003 hat1", "restore finished"])
        queue.restoreCompletedTransactions(withApplicationUsername: String(repeating: "x", count: 513))
        await observer.wait(count: 3)
        #expect(observer.history.last == "restore failed paymentInvalid")
        #expect(device.store.change { $0.restoreRequests.map(\.applicationUsername) } == ["ape"])
    }

    @Test func `a cancelled sign-in fails it with paymentCancelled, and the next call asks again`() async throws {
        device.store.own(1)
        let prompts = LockedList<SignInPrompt>()
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in .cancel },
            signIn: { prompt in
                prompts.append(prompt)
                return prompts.all.count < 2
                    ? nil : StoreCredentials(email: "monkey@example.com", password: "bananas")
            })
        let queue = launch(device.configuration(sheet: sheet))
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(count: 1)
        #expect(observer.history == ["restore failed paymentCancelled"])
        queue.restoreCompletedTransactions()
        await observer.wait(count: 3)
        #expect(observer.history.last == "restore finished" && prompts.all.count == 2)
        // Who is signed in already is not asked; and what is in the queue still is not told beside itself.
        queue.restoreCompletedTransactions()
        await observer.wait(count: 4)
        #expect(observer.history.last == "restore finished" && prompts.all.count == 2)
    }

    @Test func `a token that expires during a restore is replaced for the same account`() async throws {
        device.store.own(6)
        device.store.change { state in
            state.passwords["ape@example.com"] = "figs"
            state.accounts["ape@example.com"] = "account-2"
        }
        let prompts = LockedList<SignInPrompt>()
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in .cancel },
            signIn: { prompt in
                prompts.append(prompt)
                // Somebody else's hands on the device.
                return prompts.all.count == 2
                    ? StoreCredentials(email: "ape@example.com", password: "figs")
                    : StoreCredentials(email: "monkey@example.com", password: "bananas")
            })
        let store = device.store
        let queue = launch(
            device.configuration(sheet: sheet),
            mayPerform: { action in
                if case .restore(let restore) = action, restore.after != nil, prompts.all.count < 3 {
                    store.change { $0.tokens = [:] }
                }
                return true
            })
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(isOver)
        #expect(prompts.all.map(\.email) == [nil, "monkey@example.com"])
        #expect(observer.restoreErrors.map(\.localizedDescription) == [PaymentFailure.otherCustomer.text])
        // What came before stays, and none of the other account's is among it.
        #expect(queue.transactions.count == 2)
        queue.restoreCompletedTransactions()
        await observer.wait { $0.last == "restore finished" }
        #expect(prompts.all.count == 2 && queue.transactions.count == 2)
    }

    @Test func `an expired token is replaced`() async throws {
        device.store.own(3)
        let queue = launch()
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(isOver)
        device.store.change { $0.tokens = [:] }
        queue.restoreCompletedTransactions()
        await observer.wait { $0.filter { $0 == "restore finished" }.count == 2 }
        #expect(observer.restoreErrors.isEmpty)
    }

    @Test(arguments: ["appReceipt", "restores", "signIn"])
    func `a lost answer of any route changes nothing in the end`(route: String) async throws {
        device.store.own(5)
        device.store.failNext(route, .lostAnswer)
        device.store.failNext(route, .lostRequest)
        let originals = LockedList<String>()
        let queue = launch()
        let observer = observer(originals)
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait { history in
            history.contains("restore finished") && history.joined().split(separator: "removed").count == 6
        }
        #expect(originals.all == (1...5).map { "200000000000000\($0)" })
        #expect(Set(device.store.change { $0.restoreRequests.map(\.idempotencyKey) }).count == 1)
        #expect(device.store.change { $0.restored.values.joined().count } == 5)
    }

    @Test func `an unavailable store fails the restore with the network's error after three attempts`() async throws {
        device.store.change { $0.isDown = true }
        let timer = ManualTimer()
        let queue = launch(timer: timer)
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        let timers = Task {
            while !Task.isCancelled { await timer.fire() }
        }
        await observer.wait(isOver)
        timers.cancel()
        #expect(observer.history == ["restore failed unknown"])
        let error = try #require(observer.restoreErrors.first)
        #expect(error.localizedDescription == "Cannot connect to iTunes Store")
        let underlying = try #require(error.errorUserInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == NSURLErrorDomain)
        #expect(device.store.asked.filter { $0 == "signIn" }.count == 3)
        #expect(timer.delays.contains(1) && timer.delays.contains(2))
    }

    @Test func `a purchase continues during a restore`() async throws {
        device.store.own(5)
        let queue = launch()
        let book = GrantBook()
        let observer = book.observer()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        queue.add(payment())
        await observer.wait { history in
            history.contains("restore finished") && history.contains { $0.hasPrefix("removed purchased") }
        }
        #expect(book.deliveries.count == 1 && device.store.purchases.count == 1)
        #expect(queue.transactions.count == 5)
    }

    @Test func `after a kill before any action, another restore finishes each transaction`() async throws {
        var kills = 0
        for step in 1...60 {
            let device = try TestDevice()
            device.store.own(3)
            let originals = LockedList<String>()
            let wasKilled = try await run(device, originals, killAt: step)
            if wasKilled {
                kills += 1
                #expect(try await !run(device, originals, killAt: nil))
            }
            #expect(Set(originals.all) == ["2000000000000001", "2000000000000002", "2000000000000003"], "step \(step)")
            #expect(device.store.change { $0.unfinishedRestored.isEmpty }, "step \(step)")
            #expect(device.store.purchases.isEmpty, "step \(step)")
            let journal = try SQLitePaymentJournal(
                folder: try DeviceFolder(device.folder).bundleFolder(of: BundleID(TestDevice.bundleID)),
                name: "sandbox.journal"
            ) { _ in }
            #expect(try journal.load().isEmpty, "step \(step)")
            journal.close()
            if !wasKilled { break }
        }
        // List, restore, save, tell, restore, save, tell, end, told; and for three transactions save, finish, forget,
        // tell.
        #expect(kills >= 12)
    }

    /// One launch: restores, and goes on until the end was told and all is finished, or it was killed.
    private func run(_ device: TestDevice, _ originals: LockedList<String>, killAt step: Int?) async throws -> Bool {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let count = Mutex(0)
        let line = StoreLine(device.store)
        let engine = device.launch(
            timer: ImmediateTimer(), transport: line,
            mayPerform: { _ in
                let now = count.withLock { count in
                    count += 1
                    return count
                }
                if now == step { end.yield(true) }
                return now != step
            })
        let queue = SKPaymentQueue(engine: engine)
        let observer = observer(originals)
        queue.add(observer)
        queue.restoreCompletedTransactions()
        let isDone = Task {
            await observer.wait(isOver)
            repeat { await engine.payments.quiet() } while !Task.isCancelled && !engine.payments.isEmpty
            // The queue is empty before its journal is.
            await engine.payments.quiet()
            if !Task.isCancelled { end.yield(false) }
        }
        var iterator = ends.makeAsyncIterator()
        let wasKilled = await iterator.next() ?? false
        isDone.cancel()
        line.cut()
        await engine.stop()
        return wasKilled
    }

    @Test func `a thousand transactions are delivered in batches and finished together`() async throws {
        device.store.own(1_000)
        device.store.change { $0.page = StoreLimits.page }
        let saves = LockedList<Int>()
        // The engine is busy while the app finishes what a callback brings, as a slow disk would keep it.
        let busy = LockedList<DispatchSemaphore>()
        // Each pause waits for the end of its own page. The next page may begin before the engine gets to the pause.
        let pauses = LockedList<Void>()
        let engine = device.launch(
            timer: ImmediateTimer(),
            mayPerform: { action in
                if case .save(let entries, _) = action { saves.append(entries.count) }
                if case .forget(let keys) = action, keys.isEmpty { busy.all[pauses.append(()) - 1].wait() }
                return true
            })
        let queue = SKPaymentQueue(engine: engine)
        let originals = LockedList<String>()
        let observer = ObserverRecorder { queue, transaction in
            guard transaction.transactionState == .restored else { return }
            let number = originals.append(transaction.original?.transactionIdentifier ?? "none")
            if number % StoreLimits.page == 1 {
                busy.append(DispatchSemaphore(value: 0))
                engine.payments.happened { _ in [.forget([])] }
            }
            queue.finishTransaction(transaction)
            if number % StoreLimits.page == 0 { busy.all.last?.signal() }
        }
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(isOver)
        try await until { queue.transactions.isEmpty }
        #expect(device.store.finished.count == 1_000)
        #expect(originals.all.count == 1_000 && Set(originals.all).count == 1_000)
        #expect(observer.history.filter { $0.hasPrefix("updated") }.count == 5)
        // Finishing two hundred in a callback is not two hundred writes.
        #expect(saves.all.count < 50 && saves.all.reduce(0, +) == 2_000)
    }

    @Test func `all calls come on the chosen queue, and none to a removed observer`() async throws {
        final class Listener: NSObject, SKPaymentTransactionObserver, SKRequestDelegate, @unchecked Sendable {
            // @unchecked: both lists have a lock of their own.
            let calls = LockedList<String>()
            let elsewhere = LockedList<String>()
            let key: DispatchSpecificKey<Bool>
            init(_ key: DispatchSpecificKey<Bool>) { self.key = key }
            private func note(_ call: String) {
                calls.append(call)
                if DispatchQueue.getSpecific(key: key) != true { elsewhere.append(call) }
            }
            func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
                note("updated \(transactions.count)")
                for transaction in transactions { queue.finishTransaction(transaction) }
            }
            func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
                for _ in transactions { note("removed") }
            }
            func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { note("finished") }
            func paymentQueue(
                _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
            ) { note("failed") }
            func requestDidFinish(_ request: SKRequest) { note("refreshed") }
        }
        device.store.own(2)
        let key = DispatchSpecificKey<Bool>()
        let configuration = device.configuration()
        configuration.callbackQueue.setSpecific(key: key, value: true)
        let engine = device.launch(configuration, timer: ImmediateTimer())
        let queue = SKPaymentQueue(engine: engine)
        let (listener, gone) = (Listener(key), Listener(key))
        queue.add(listener)
        queue.add(gone)
        queue.remove(gone)
        queue.restoreCompletedTransactions()
        try await until { listener.calls.all.count == 4 }
        device.store.failNext("restores", .refusal(404, WireError(code: .unknownApp, message: "no")))
        queue.restoreCompletedTransactions()
        let request = SKReceiptRefreshRequest(receiptProperties: nil, engine: engine)
        request.delegate = listener
        request.start()
        try await until { listener.calls.all.count == 6 }
        #expect(listener.calls.all.sorted() == ["failed", "finished", "refreshed", "removed", "removed", "updated 2"])
        #expect(listener.elsewhere.all.isEmpty && gone.calls.all.isEmpty)
    }

    @Test func `a queue without a store fails a restore`() async throws {
        var configuration = device.configuration()
        configuration.store = nil
        let queue = launch(configuration)
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.restoreCompletedTransactions()
        await observer.wait(isOver)
        #expect(observer.history == ["restore failed unknown"])
    }

    @Test func `a journal of the previous version can be read`() throws {
        let folder = try DeviceFolder(device.folder).bundleFolder(of: "a.b")
        var entry = PaymentQueueEntry(
            key: TestDevice.key(1), position: 1, payment: PaymentValues(productIdentifier: "a.b.c"), phase: .queued)
        let journal = try SQLitePaymentJournal(folder: folder, name: "j") { _ in }
        try journal.save([entry], isGate: false)
        #expect(try journal.load() == [entry])
        // Nothing new stands in an entry that no restore brought.
        let text = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
        #expect(!text.contains("isRestored"))
        entry.phase = .restored
        entry.isRestored = true
        try journal.save([entry], isGate: false)
        #expect(try journal.load() == [entry])
    }
}
