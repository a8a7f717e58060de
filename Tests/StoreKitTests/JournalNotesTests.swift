import CornerstoreSQLite
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// What is in the journal at the moment when `add` and `finishTransaction` return.
@Suite("An app's last calls before it exits", .timeLimit(.minutes(1)))
struct JournalNotesTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private func folder() throws -> URL {
        try DeviceFolder(device.folder).bundleFolder(of: BundleID(TestDevice.bundleID))
    }

    private func entry(_ number: Int, _ phase: PaymentQueueEntry.Phase) -> PaymentQueueEntry {
        PaymentQueueEntry(
            key: TestDevice.key(number), position: Int64(number),
            payment: PaymentValues(productIdentifier: "a.b.c"), phase: phase)
    }

    /// The journal as the next launch would find it if the process ended now.
    private func journalNow() throws -> [PaymentQueueEntry] {
        let copy = device.folder.appendingPathComponent("copy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        let name = "sandbox.journal"
        for suffix in ["", "-wal"] {
            let file = try folder().appendingPathComponent(name + suffix)
            // A journal that was closed has no log.
            guard FileManager.default.fileExists(atPath: file.path) else { continue }
            try FileManager.default.copyItem(at: file, to: copy.appendingPathComponent(name + suffix))
        }
        let journal = try SQLitePaymentJournal(folder: copy, name: name) { Issue.record("\($0)") }
        defer { journal.close() }
        return try journal.load()
    }

    /// The queue stands still from `isHeld` on, as when the process ends right after the call; the call returns all the
    /// same.
    private func held(
        _ isHeld: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool,
        _ body: (StoreKitEngine, SKPaymentQueue) async throws -> Void
    ) async throws {
        let gate = DispatchSemaphore(value: 0)
        let engine = device.launch(mayPerform: { action in
            if isHeld(action) {
                gate.wait()
                gate.signal()
            }
            return true
        })
        do {
            try await body(engine, SKPaymentQueue(engine: engine))
            gate.signal()
        } catch {
            gate.signal()
            throw error
        }
        await engine.stop()
    }

    @Test func `a finish is in the journal when finishTransaction returns, from inside a callback`() async throws {
        let found = Mutex<[PaymentQueueEntry.Phase]?>(nil)
        let isDone = Mutex(false)
        try await held {
            guard case .save(let entries, _) = $0 else { return false }
            return entries.contains { $0.phase == .finishing }
        } _: { _, queue in
            let observer = ObserverRecorder { queue, transaction in
                guard transaction.transactionState == .purchased else { return }
                queue.finishTransaction(transaction)
                found.withLock { $0 = (try? self.journalNow())?.map(\.phase) }
                isDone.withLock { $0 = true }
            }
            queue.add(observer)
            queue.add(payment())
            try await until { isDone.withLock { $0 } }
            #expect(found.withLock { $0 } == [.finishing])
        }
    }

    @Test func `a payment is in the journal when add returns`() async throws {
        try await held {
            guard case .save(let entries, _) = $0 else { return false }
            return entries.contains { $0.phase == .queued }
        } _: { _, queue in
            queue.add(payment(quantity: 3))
            queue.add(payment())
            let found = try journalNow()
            #expect(found.map(\.payment.quantity) == [3, 1])
            #expect(found.map(\.phase) == [.queued, .queued])
        }
    }

    @Test func `a finish before an exit reaches the store, and the transaction is not delivered again`() async throws {
        let engine = device.launch(mayPerform: { action in
            // The process ends before the queue has done anything about the finish.
            guard case .save(let entries, _) = action else { return true }
            return !entries.contains { $0.phase == .finishing }
        })
        let isFinished = Mutex(false)
        let first = ObserverRecorder { queue, transaction in
            guard transaction.transactionState == .purchased else { return }
            queue.finishTransaction(transaction)
            isFinished.withLock { $0 = true }
        }
        let queue = SKPaymentQueue(engine: engine)
        queue.add(first)
        queue.add(payment())
        try await until { isFinished.withLock { $0 } }
        await engine.stop()
        #expect(device.store.finished.isEmpty)

        let again = device.launch()
        let second = ObserverRecorder()
        SKPaymentQueue(engine: again).add(second)
        await again.payments.quiet()
        #expect(device.store.finished.count == 1)
        #expect(second.history.isEmpty && again.payments.isEmpty)
        await again.stop()
        #expect(try journalNow().isEmpty)
    }

    @Test func `the next launch applies notes, and removes them with their entries`() throws {
        let journal = try SQLitePaymentJournal(folder: folder(), name: "j") { Issue.record("\($0)") }
        let saved: [PaymentQueueEntry.Phase] = [.purchased, .restored, .failed, .queued, .purchased]
        try journal.save(saved.enumerated().map { entry($0.offset + 1, $0.element) }, isGate: true)
        for number in [1, 2, 3, 99] { try journal.note(finished: TestDevice.key(number)) }
        try journal.note(finished: TestDevice.key(1))
        try journal.note(added: entry(6, .queued))
        // A later save of the same entry, as for its content, does not undo the finish.
        try journal.save([entry(1, .purchased)], isGate: false)
        func phases() throws -> [Int64: PaymentQueueEntry.Phase] {
            Dictionary(uniqueKeysWithValues: try journal.load().map { ($0.position, $0.phase) })
        }
        let expected: [Int64: PaymentQueueEntry.Phase] = [
            1: .finishing, 2: .finishing, 4: .queued, 5: .purchased, 6: .queued,
        ]
        #expect(try phases() == expected)
        #expect(try phases() == expected)
        try journal.save([entry(1, .finishing)], isGate: false)
        try journal.forget([TestDevice.key(2)])
        // Nothing is left of either: the same keys are new ones.
        try journal.save([entry(1, .purchased), entry(2, .restored)], isGate: false)
        let again = try phases()
        #expect(again[1] == .purchased && again[2] == .restored)
        journal.close()
    }

    /// An interrupted purchase that was finished as failed and settled later comes again under its key.
    @Test func `a note does not finish a later transaction of the same key`() throws {
        let journal = try SQLitePaymentJournal(folder: folder(), name: "j") { Issue.record("\($0)") }
        // Of two threads that finish one transaction, the second comes after its entry is gone.
        try journal.save([entry(1, .failed)], isGate: true)
        try journal.note(finished: TestDevice.key(1))
        try journal.forget([TestDevice.key(1)])
        try journal.note(finished: TestDevice.key(1))
        // The entry of the second could not be removed.
        try journal.save([entry(2, .failed)], isGate: true)
        try journal.note(finished: TestDevice.key(2))
        try journal.save([entry(1, .purchased)], isGate: false)
        try journal.save([entry(2, .purchased)], isGate: true)
        #expect(try journal.load().map(\.phase) == [.purchased, .purchased])
        journal.close()
    }

    @Test func `a save waits for the disk again after a note`() throws {
        let journal = try SQLitePaymentJournal(folder: folder(), name: "j") { Issue.record("\($0)") }
        func synchronous() throws -> Int64? {
            try journal.database.withLock { connection in
                let statement = try connection.prepare("PRAGMA synchronous")
                return try statement.step() ? statement.int64(0) : nil
            }
        }
        // 2 is FULL.
        #expect(try synchronous() == 2)
        try journal.note(finished: TestDevice.key(1))
        #expect(try synchronous() == 2)
        journal.close()
    }

    @Test func `finishing an unknown or running transaction writes no note`() async throws {
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 3)
        let transaction = SKPaymentTransaction(
            key: TestDevice.key(1), payment: PaymentValues(productIdentifier: "a.b.c"),
            record: {
                var record = SKPaymentTransaction.Record()
                record.state = .purchased
                return record
            }())
        queue.finishTransaction(transaction)
        await engine.stop()
        let journal = try SQLitePaymentJournal(folder: folder(), name: "sandbox.journal") { _ in }
        let notes = try journal.database.withLock { connection in
            let statement = try connection.prepare("SELECT count(*) FROM finished")
            return try statement.step() ? statement.int64(0) : nil
        }
        #expect(notes == 0)
        journal.close()
    }
}

/// A journal whose first page is good and whose contents are not.
@Suite("A damaged journal", .timeLimit(.minutes(1)))
struct DamagedJournalTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    enum Damage: String, CaseIterable {
        case pages, body
    }

    @Test(arguments: Damage.allCases)
    func `a journal that is damaged behind its header is set aside, and the app can buy`(_ damage: Damage) async throws
    {
        let folder = try DeviceFolder(device.folder).bundleFolder(of: BundleID(TestDevice.bundleID))
        let file = folder.appendingPathComponent("sandbox.journal")
        let journal = try SQLitePaymentJournal(folder: folder, name: "sandbox.journal") { _ in }
        for number in 1...50 {
            var entry = PaymentQueueEntry(
                key: TestDevice.key(1000 + number), position: Int64(number),
                payment: PaymentValues(productIdentifier: "a.b.c"), phase: .purchased)
            entry.transactionReceipt = Data(repeating: 7, count: 3000)
            try journal.save([entry], isGate: false)
        }
        if damage == .body {
            try journal.database.withLock { try $0.run("UPDATE entry SET body = x'7b' WHERE position = 7") }
        }
        journal.close()
        if damage == .pages {
            var bytes = try Data(contentsOf: file)
            #expect(bytes.count > 20_000)
            bytes.replaceSubrange(4096..., with: Data(repeating: 0x41, count: bytes.count - 4096))
            try bytes.write(to: file)
        }

        let said = LockedList<String>()
        var configuration = device.configuration()
        configuration.diagnostics = { said.append($0) }
        let engine = device.launch(configuration)
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 3)
        #expect(observer.history.last == "removed purchased 2000000000000001 credits5")
        #expect(said.all.filter { $0.contains("is damaged") }.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).contains { $0.contains("damaged") })
        await engine.stop()
    }
}
