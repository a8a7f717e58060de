import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct PasswordWorkTests {
    /// Password work whose only worker is busy until ``finish()`` is called.
    private final class Busy: Sendable {
        let work = PasswordWork(workers: 1, waiting: 8)
        let done = Mutex<[String]>([])
        private let gate = DispatchSemaphore(value: 0)

        /// Begins a job that ends with ``finish()``.
        func begin() async throws -> Task<Void, any Error> {
            let task = Task { [work, gate] in try await work.run(for: .operation) { gate.wait() } }
            try await until { work.begun == 1 }
            return task
        }

        func finish() { gate.signal() }

        /// Waits in line with a job.
        func join(_ name: String, from source: String) async throws -> Task<Void, any Error> {
            let before = work.waiting
            let task = Task {
                try await work.run(for: .client(source)) { self.done.withLock { $0.append(name) } }
            }
            try await until { work.waiting > before || before == 8 }
            return task
        }
    }

    /// Counts what runs at the same time.
    private final class Running: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var now: Int { counts.withLock { $0.now } }
        var most: Int { counts.withLock { $0.most } }

        func begin() {
            counts.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
        }

        func end() { counts.withLock { $0.now -= 1 } }
    }

    @Test func aFloodIsRefusedAndDelaysOthersByOneTurn() async throws {
        let busy = Busy()
        let first = try await busy.begin()
        var flood: [Task<Void, any Error>] = []
        for number in 0..<8 { flood.append(try await busy.join("flood \(number)", from: "flood")) }
        let honest = Task {
            try await busy.work.run(for: .client("honest")) { busy.done.withLock { $0.append("honest") } }
        }
        // The oldest of the flood gives way.
        let refused = await flood[0].result
        #expect(throws: StoreError.self) { try refused.get() }
        busy.finish()
        try await first.value
        try await honest.value
        for task in flood.dropFirst() { try await task.value }
        #expect(busy.done.withLock { $0.firstIndex(of: "honest") } == 1)
        #expect(busy.done.withLock { $0.count } == 8 && busy.work.begun == 9)
    }

    @Test func aCancelledWaitingJobDoesNotRun() async throws {
        let busy = Busy()
        let first = try await busy.begin()
        let (left, stays) = (try await busy.join("left", from: "a"), try await busy.join("stays", from: "a"))
        left.cancel()
        let result = await left.result
        #expect(throws: CancellationError.self) { try result.get() }
        // One that was cancelled before it came does not come.
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await busy.work.run(for: .client("b")) { busy.done.withLock { $0.append("early") } }
        }
        let earlyResult = await early.result
        #expect(throws: CancellationError.self) { try earlyResult.get() }
        busy.finish()
        try await first.value
        try await stays.value
        #expect(busy.done.withLock { $0 } == ["stays"] && busy.work.waiting == 0)
    }

    @Test func asManyJobsRunAsThereAreWorkers() async throws {
        let work = PasswordWork(workers: 2, waiting: 100)
        let running = Running()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await work.run(for: .client("\(number % 3)")) {
                        running.begin()
                        running.end()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(running.most <= 2 && work.begun == 50 && work.waiting == 0)
    }

    /// The whole of it: 500 at once of accounts that do not exist, and one customer.
    @Test(arguments: [false, true])
    func fiveHundredUnknownAddressesDoNotKeepACustomerOut(_ fromTheSameAddress: Bool) async throws {
        try await Backend.sqlite.withStore { test async throws in
            let work = PasswordWork(workers: 1, waiting: 128)
            let accounts = Accounts(database: test.database, work: work)
            _ = try await accounts.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "DEU"), at: 5)
            let served = work.begun
            let refused = Running()
            let flood = (0..<500).map { number in
                Task {
                    let request = SignInRequest(email: "no\(number)@example.com", password: "x", deviceID: UUID())
                    do {
                        _ = try await accounts.signIn(request, from: .client("flood"), at: 6)
                    } catch {
                        // One whose password is wrong has had its turn.
                        if (error as? StoreError)?.code != .wrongPassword { refused.begin() }
                    }
                }
            }
            // All have come, however many have had their turn meanwhile.
            try await until { refused.now + (work.begun - served) + work.waiting >= 500 }
            #expect(work.waiting <= 128)
            let before = work.begun
            let request = SignInRequest(email: "ape@example.com", password: "banana", deviceID: UUID())
            _ = try await accounts.signIn(
                request, from: .client(fromTheSameAddress ? "flood" : "honest"), at: 6)
            // Others begin while the customer's answer is written down; most of the line still waits.
            #expect(work.begun - before <= 64)
            for task in flood { task.cancel() }
            for task in flood { await task.value }
            #expect(work.waiting == 0)
        }
    }
}
