import Database
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct FaultsTests {
    @Test(arguments: Backend.available)
    func anOrderedFaultFailsTheGivenNumberOfRequests(_ backend: Backend) async throws {
        try await backend.withFaults { faults async throws in
            try await faults.order(.init(operation: .products, status: 503, remaining: 2))
            #expect(try await faults.next(.purchases) == nil)
            #expect(try await faults.next(.products)?.status == 503)
            #expect(try await faults.ordered == [.init(operation: .products, status: 503, remaining: 1)])
            #expect(faults.isOrdered(.products))
            #expect(try await faults.next(.products)?.status == 503)
            #expect(!faults.isOrdered(.products))
            #expect(try await faults.next(.products) == nil)
            #expect(try await faults.ordered.isEmpty)
            try await faults.order(.init(operation: .products, status: 500, remaining: 9))
            try await faults.order(.init(operation: .products, status: 599, remaining: 1))
            #expect(try await faults.next(.products)?.status == 599)
            #expect(try await faults.next(.products) == nil)
            try await faults.order(.init(operation: .finish, status: 500, remaining: 1_000_000))
            try await faults.clear()
            #expect(try await faults.next(.finish) == nil)
        }
    }

    @Test(
        arguments: [
            (.verifyReceipt, 0, 1), (.verifyReceipt, 21000, 1), (.verifyReceipt, 21010, 1), (.verifyReceipt, 21099, 1),
            (.verifyReceipt, 21200, 1), (.verifyReceipt, 503, 1), (.products, 200, 1), (.products, 499, 1),
            (.products, 600, 1),
            (.signIn, 21005, 1), (.signIn, 503, 0), (.signIn, 503, -1), (.signIn, 503, 1_000_001), (.signIn, .min, 1),
        ] as [(Faults.Operation, Int, Int)])
    func whatCannotBeOrderedIsRefused(_ operation: Faults.Operation, _ status: Int, _ count: Int) async throws {
        try await Backend.sqlite.withFaults { faults async throws in
            await #expect(throws: StoreError.self) {
                try await faults.order(.init(operation: operation, status: status, remaining: count))
            }
            #expect(try await faults.ordered.isEmpty)
        }
    }

    @Test(arguments: Backend.available)
    func requestsAtTheSameMomentShareOneCount(_ backend: Backend) async throws {
        try await backend.withFaults { faults async throws in
            try await faults.order(.init(operation: .receipts, status: 500, remaining: 100))
            #expect(try await Self.failures(of: 150, at: [faults]) == 100)
        }
    }

    @Test(arguments: Backend.available) func aFaultHoldsAfterARestart(_ backend: Backend) async throws {
        let error = try #require(OrderedError(name: "paymentNotAllowed"))
        let faults = [
            Faults.Fault(wrongContent: .digest, remaining: 4), Faults.Fault(cutAfter: 1 << 40, remaining: 3),
            Faults.Fault(operation: .purchases, error: error, remaining: 2),
            Faults.Fault(operation: .verifyReceipt, status: 21005, remaining: 1),
        ]
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let before = try await Faults.open(database)
            for fault in faults { try await before.order(fault) }
            let after = try await Faults.open(database)
            #expect(try await after.ordered == faults)
            for fault in faults {
                let met = try await after.next(fault.operation)
                #expect(
                    met?.remaining == fault.remaining - 1 && met?.wrongContent == fault.wrongContent
                        && met?.error == fault.error)
            }
            #expect(try await after.hits.count == faults.count)
        }
    }

    // MARK: Two processes

    @Test(arguments: Backend.available)
    func twoProcessesCountAFaultTogether(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let (one, two) = (try await Faults.open(database), try await Faults.open(database))
            try await one.order(.init(operation: .receipts, status: 500, remaining: 60))
            #expect(!two.isOrdered(.receipts))
            try await two.reload()
            #expect(two.isOrdered(.receipts))
            #expect(try await Self.failures(of: 60, at: [one, two]) == 60)
            // The one that did not meet the last fault finds that it is used up.
            for faults in [one, two] {
                #expect(try await faults.next(.receipts) == nil)
                #expect(!faults.isOrdered(.receipts))
                #expect(try await faults.counts == [.receipts: 60])
                #expect(try await faults.hits.count == 60)
            }
            try await one.order(.init(operation: .receipts, status: 500, remaining: 1))
            try await two.reload()
            #expect(try await two.remove(.receipts))
            #expect(try await one.next(.receipts) == nil)
        }
    }

    /// How many of the requests that each process gets at the same moment fail.
    private static func failures(of requests: Int, at processes: [Faults]) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for faults in processes {
                for _ in 0..<requests {
                    group.addTask { try await faults.next(.receipts) == nil ? 0 : 1 }
                }
            }
            return try await group.reduce(0, +)
        }
    }
}

extension Faults {
    /// Opens the faults of a database, with a clock that stands still.
    static func open(_ database: Database, now: Int64 = 0) async throws -> Faults {
        try await open(database, now: { now }, changed: {})
    }
}

extension Backend {
    /// Runs a test with the faults of an empty database.
    func withFaults(now: Int64 = 0, _ body: (Faults) async throws -> Void) async throws {
        try await withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            try await body(try await Faults.open(database, now: now))
        }
    }
}
