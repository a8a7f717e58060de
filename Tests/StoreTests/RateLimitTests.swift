import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Rate limits of the App Store Server API", .timeLimit(.minutes(1))) struct RateLimitTests {
    private static let app = TestStore.bundleID

    @Test(
        arguments: [
            (.transaction, 50), (.history, 50), (.statuses, 50), (.consumption, 50), (.notificationHistory, 50),
            (.extend, 20), (.order, 10), (.refunds, 10), (.extendAll, 1), (.testNotification, 1), (.testStatus, 1),
        ] as [(RateClass, Int64)])
    func applesNumbersAreOfAnHour(rateClass: RateClass, perSecond: Int64) {
        #expect(rateClass.applesLimit(in: .production) == perSecond * 3_600)
        #expect(rateClass.applesLimit(in: .sandbox) == perSecond * 360)
    }

    /// Each step is a moment in seconds, and the end of the hour for a request that is refused.
    @Test(
        arguments: [
            ([(0, nil), (1, nil), (2, nil), (3, 3_600), (3_599.9, 3_600)]),
            // The hour begins with the first request, and the next one with the first after its end.
            ([(10, nil), (3_609, nil), (3_609.5, nil), (3_609.9, 3_610), (3_700, nil), (7_299, nil), (7_300, nil)]),
            // A clock that was set back begins anew.
            ([(5_000, nil), (5_000, nil), (5_000, nil), (5_000, 8_600), (4_000, nil), (4_001, nil)]),
        ] as [[(Double, Double?)]])
    func anHourHasItsNumber(steps: [(Double, Double?)]) async throws {
        try await Backend.sqlite.withStore { test async throws in
            _ = try await test.store.setRateLimits([.history: 3], of: Self.app)
            for (date, end) in steps {
                #expect(try await test.store.rateLimits.take(.history, of: Self.app, at: date) == end, "\(date)")
            }
        }
    }

    @Test(arguments: Backend.available)
    func aRuleIsKeptForItsAppAndClasses(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let test = try await TestStore.open(database, apps: apps, clock: clock)
            #expect(test.store.rateLimitsOfApps.isEmpty)
            for _ in 0..<3 {
                #expect(try await test.store.rateLimits.take(.extendAll, of: Self.app, at: 0) == nil)
            }
            #expect(try await test.store.setRateLimits([.order: 1, .history: 2], of: Self.app).count == 2)
            #expect(
                try await test.store.setRateLimits([.order: 5], of: Self.app) == [.order: 5, .history: 2])
            _ = try await test.store.setRateLimits([.order: 7], of: "com.example.other")
            let limits = test.store.rateLimits
            for end in [nil, nil, 3_600] as [Double?] {
                #expect(try await limits.take(.history, of: Self.app, at: 0) == end)
            }
            // Other classes and apps count by themselves.
            #expect(try await limits.take(.order, of: Self.app, at: 0) == nil)
            #expect(try await limits.take(.history, of: "com.example.other", at: 0) == nil)
            #expect(try await limits.take(.extend, of: Self.app, at: 0) == nil)
            for (wrong, app, code) in [
                ([:], Self.app, .invalidRequest), ([.order: 0], Self.app, .invalidRequest),
                ([.order: APIRateLimits.most + 1], Self.app, .invalidRequest),
                ([.order: 1], "com.example.none", .unknownApp),
            ] as [([RateClass: Int64], BundleID, WireError.Code)] {
                #expect(try await refusal { try await test.store.setRateLimits(wrong, of: app) } == code)
            }
            let again = try await TestStore.open(database, apps: apps, clock: clock).store
            // A new number begins anew. A store of one process writes nothing when it counts.
            _ = try await test.store.setRateLimits([.history: 2], of: Self.app)
            #expect(try await limits.take(.history, of: Self.app, at: 0) == nil)
            #expect(try await test.count("rate_windows") == 0)
            #expect(again.rateLimitsOfApps == [Self.app: [.order: 5, .history: 2], "com.example.other": [.order: 7]])
            try await again.removeRateLimits(of: Self.app)
            #expect(again.rateLimitsOfApps == ["com.example.other": [.order: 7]])
            #expect(try await TestStore.open(database, apps: apps, clock: clock).store.rateLimitsOfApps.count == 1)
            #expect(
                try await refusal {
                    try await again.removeRateLimits(of: "com.example.none")
                    return true
                } == .unknownApp)
        }
    }

    @Test(arguments: Backend.available) func twoProcessesCountTogether(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let processes = try await Self.processes(database)
            try await processes[0].set([.history: 30], of: Self.app)
            #expect(try await processes[1].take(.history, of: Self.app, at: 0) == nil)
            try await processes[1].reload()
            let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                for limits in processes {
                    for _ in 0..<20 {
                        group.addTask { try await limits.take(.history, of: Self.app, at: 0) == 3_600 }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(refused == 10)
            // A process that starts again goes on counting.
            #expect(
                try await APIRateLimits.open(database, isShared: true).take(.history, of: Self.app, at: 0) == 3_600)
            #expect(try await processes[0].take(.history, of: Self.app, at: 0) == 3_600)
            try await processes[1].set([.history: 1], of: Self.app)
            try await processes[0].reload()
            #expect(try await processes[0].take(.history, of: Self.app, at: 1) == nil)
            #expect(try await processes[1].take(.history, of: Self.app, at: 1) == 3_601)
            try await processes[1].remove(of: Self.app)
            try await processes[0].reload()
            #expect(processes[0].all.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aProcessReservesABlock(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let processes = try await Self.processes(database)
            try await processes[0].set([.history: 300], of: Self.app)
            try await processes[1].reload()
            func reserved() async throws -> Int? {
                try await database.read { try $0.queryOne("SELECT requests FROM rate_windows")?.int(0) }
            }
            for count in 1...4 {
                #expect(try await processes[0].take(.history, of: Self.app, at: 0) == nil)
                #expect(try await reserved() == (count < 4 ? 3 : 6))
            }
            // What it has reserved stays while its hour does.
            try await processes[0].reload()
            #expect(try await processes[0].take(.history, of: Self.app, at: 0) == nil)
            #expect(try await reserved() == 6)
            #expect(try await processes[1].take(.history, of: Self.app, at: 0) == nil)
            #expect(try await reserved() == 9)
        }
    }

    @Test(arguments: Backend.available) func theClocksOfTwoMachinesDiffer(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let processes = try await Self.processes(database)
            try await processes[0].set([.history: 2], of: Self.app)
            try await processes[1].reload()
            #expect(try await processes[0].take(.history, of: Self.app, at: 1_004) == nil)
            #expect(try await processes[1].take(.history, of: Self.app, at: 1_000) == nil)
            #expect(try await processes[0].take(.history, of: Self.app, at: 1_004) == 4_604)
            #expect(try await processes[1].take(.history, of: Self.app, at: 1_000) == 4_604)
            #expect(try await processes[1].take(.history, of: Self.app, at: 999.9) == nil)
        }
    }

    /// Two processes over one database.
    private static func processes(_ database: Database) async throws -> [APIRateLimits] {
        [
            try await APIRateLimits.open(database, isShared: true),
            try await APIRateLimits.open(database, isShared: true),
        ]
    }
}
