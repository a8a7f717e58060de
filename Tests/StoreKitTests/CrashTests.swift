import Foundation
import StoreWire
import Synchronization
import Testing

@testable import StoreKit

@Suite("Killed at every step", .timeLimit(.minutes(1)))
struct CrashTests {
    /// What else goes wrong meanwhile.
    enum Trouble: String, CaseIterable {
        case none
        case purchaseAnswerLost
        case finishAnswerLost
        case receiptLost
    }

    @Test(arguments: Trouble.allCases)
    func `a kill before any action ends in exactly one purchase after a relaunch`(trouble: Trouble) async throws {
        var kills = 0
        for step in 1...40 {
            let device = try TestDevice()
            switch trouble {
            case .none: break
            case .purchaseAnswerLost: device.store.failNext("purchases", .lostAnswer)
            case .finishAnswerLost: device.store.failNext("finish", .lostAnswer)
            case .receiptLost: device.store.failNext("appReceipt", .lostAnswer)
            }
            let book = GrantBook()
            let (wasKilled, _) = try await run(device, book, killAt: step)
            if wasKilled {
                kills += 1
                let (again, history) = try await run(device, book, killAt: nil)
                #expect(!again)
                #expect(history.filter { $0.hasPrefix("removed purchased") }.count <= 1, "step \(step)")
            }
            #expect(device.store.purchases.count == 1, "step \(step)")
            #expect(device.store.finished.count == 1, "step \(step)")
            #expect(device.store.unfinishedCount == 0, "step \(step)")
            #expect(book.deliveries.count == 1, "step \(step)")
            let keys = device.store.change { Set($0.purchaseRequests.map(\.idempotencyKey)) }
            #expect(keys.count == 1, "step \(step)")
            if !wasKilled { break }
        }
        // The first observer's listing, then save, tell, ask, save, send, collect, save, tell, save, finish, forget,
        // tell.
        #expect(kills >= 13)
    }

    /// One launch: buys when nothing was bought or journaled yet, and goes on until the queue is empty or it was
    /// killed.
    private func run(_ device: TestDevice, _ book: GrantBook, killAt step: Int?) async throws -> (
        wasKilled: Bool, [String]
    ) {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let journaled = try entries(device)
        let isDone = !device.store.finished.isEmpty && journaled.isEmpty
        guard !isDone else { return (false, []) }
        let count = Mutex(0)
        let engine = device.launch(timer: ImmediateTimer()) { _ in
            let now = count.withLock { count in
                count += 1
                return count
            }
            if now == step { end.yield(true) }
            return now != step
        }
        let queue = SKPaymentQueue(engine: engine)
        let observer = book.observer()
        queue.add(observer)
        if journaled.isEmpty, device.store.purchases.isEmpty { queue.add(payment()) }
        let removed = Task {
            await observer.wait { history in history.contains { $0.hasPrefix("removed") } }
            end.yield(false)
        }
        // A transaction that was being finished is gone without a word to this launch's observers: its object never
        // was theirs.
        let finished = Task {
            while !Task.isCancelled {
                if journaled.contains(where: { $0.phase == .finishing }), engine.payments.isEmpty {
                    _ = end.yield(false)
                    return
                }
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        var iterator = ends.makeAsyncIterator()
        let wasKilled = await iterator.next() ?? false
        finished.cancel()
        removed.cancel()
        await engine.stop()
        return (wasKilled, observer.history)
    }

    private func entries(_ device: TestDevice) throws -> [PaymentQueueEntry] {
        let folder = try DeviceFolder(device.folder).bundleFolder(of: BundleID(TestDevice.bundleID))
        let journal = try SQLitePaymentJournal(folder: folder, name: "sandbox.journal") { _ in }
        defer { journal.close() }
        return try journal.load()
    }
}
