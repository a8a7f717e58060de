import Database
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("Copies of rows in memory", .timeLimit(.minutes(1))) struct DatabaseCopyTests {
    /// The number of reads of the rows, of which each gives the next number.
    private final class Reads: Sendable {
        let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test(arguments: Backend.available) func oneReadIsEnoughForAllWhoWait(_ backend: Backend) async throws {
        try await backend.withDatabase { database, _ async throws in
            let copy = DatabaseCopy(0)
            let (reads, gate) = (Reads(), DispatchSemaphore(value: 0))
            let load: @Sendable (Connection) throws -> Int = { _ in
                let number = reads.next()
                // The first read goes on when all others wait.
                if number == 1 { gate.wait() }
                return number
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { try await copy.reload(from: database, load) } }
                do {
                    defer { gate.signal() }
                    try await until { copy.waiting == 20 }
                }
                try await group.waitForAll()
            }
            // The first read can have begun before some of them asked. The second one has not.
            let count = reads.count.withLock { $0 }
            #expect((1...2).contains(count) && copy.value == count && copy.waiting == 0)
        }
    }

    @Test(arguments: Backend.available) func aWriteIsCopiedWithoutAnotherRead(_ backend: Backend) async throws {
        try await backend.withDatabase { database, _ async throws in
            let copy = DatabaseCopy(0)
            let reads = Reads()
            let result = try await copy.write(to: database, load: { _ in reads.next() }) { _ in "done" }
            #expect(result == "done" && copy.value == 1)
            // A change of the copy since the transaction began makes it read again.
            try await copy.write(to: database, load: { _ in reads.next() }) { _ in copy.update { $0 = 9 } }
            #expect(copy.value == 3)
        }
    }

    @Test(arguments: Backend.available) func aFailedReadLeavesTheCopy(_ backend: Backend) async throws {
        try await backend.withDatabase { database, _ async throws in
            let copy = DatabaseCopy(5)
            await #expect(throws: CancellationError.self) {
                try await copy.reload(from: database) { _ in throw CancellationError() }
            }
            #expect(copy.value == 5 && copy.waiting == 0)
            try await copy.reload(from: database) { _ in 6 }
            #expect(copy.value == 6)
        }
    }
}
