import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct StoreClockTests {
    @Test func theClockIsSetAdvancedFrozenAndResumed() throws {
        let real = TestClock()
        let clock = StoreClock(.running(offset: 0), realTime: real.now)
        #expect(clock.milliseconds == TestClock.start)
        try clock.advance(by: 86_400_000)
        real.milliseconds += 1000
        #expect(clock.milliseconds == TestClock.start + 86_401_000)
        clock.freeze()
        real.milliseconds += 5000
        #expect(clock.milliseconds == TestClock.start + 86_401_000)
        try clock.advance(by: -1000)
        #expect(clock.milliseconds == TestClock.start + 86_400_000)
        try clock.set(to: 1_500_000_000_000)
        real.milliseconds += 5000
        #expect(clock.milliseconds == 1_500_000_000_000)
        clock.resume()
        real.milliseconds += 7
        #expect(clock.milliseconds == 1_500_000_000_007)
        clock.reset()
        #expect(clock.milliseconds == real.milliseconds && clock.current == .running(offset: 0))
    }

    @Test(arguments: [978_307_199_999, 4_102_444_800_001, .min, .max, 0]) func theClockIsNotSetOutOfItsRange(
        _ instant: Int64
    ) {
        let clock = StoreClock(.running(offset: 0), realTime: TestClock().now)
        #expect(throws: StoreError.self) { try clock.set(to: instant) }
        #expect(clock.milliseconds == TestClock.start)
    }

    @Test(arguments: [Int64.min, .max, -4_000_000_000_000, 4_000_000_000_000]) func theClockIsNotAdvancedOutOfItsRange(
        _ step: Int64
    ) {
        for setting in [StoreClock.Setting.running(offset: 5), .frozen(at: 1_600_000_000_000)] {
            let clock = StoreClock(setting, realTime: TestClock().now)
            #expect(throws: StoreError.self) { try clock.advance(by: step) }
            #expect(clock.current == setting)
        }
    }

    @Test func aClockAtItsEndStaysThere() throws {
        let real = TestClock()
        let clock = StoreClock(.running(offset: 0), realTime: real.now)
        try clock.set(to: StoreClock.range.upperBound)
        real.milliseconds += 1_000_000
        #expect(clock.milliseconds == StoreClock.range.upperBound)
    }

    @Test(arguments: Backend.available) func theSettingHoldsAfterARestart(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            func open() async throws -> Store { try await TestStore.open(database, apps: apps, clock: clock).store }
            try await open().changeClock { try $0.advance(by: 1_000_000) }
            clock.milliseconds += 10
            #expect(try await open().clock.milliseconds == TestClock.start + 1_000_010)
            try await open().changeClock { $0.freeze() }
            clock.milliseconds += 10
            let frozen = try await open()
            #expect(frozen.clock.current == .frozen(at: TestClock.start + 1_000_010))
            // A change that fails half-way is none, neither here nor after a restart.
            await #expect(throws: StoreError.self) {
                try await frozen.changeClock {
                    $0.reset()
                    try $0.set(to: 5)
                }
            }
            #expect(frozen.clock.current == .frozen(at: TestClock.start + 1_000_010))
            #expect(try await open().clock.current == frozen.clock.current)
            try await frozen.changeClock { $0.reset() }
            #expect(try await open().clock.milliseconds == clock.milliseconds)
        }
    }
}
