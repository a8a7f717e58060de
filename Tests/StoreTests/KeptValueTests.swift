import Synchronization
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct KeptValueTests {
    @Test func aReadDuringWhichTheValueChangedIsRepeated() async throws {
        let kept = KeptValue(0)
        let reads = Mutex(0)
        try await kept.reload {
            let count = reads.withLock { count in
                count += 1
                return count
            }
            guard count == 1 else { return 8 }
            kept.change { $0 = 7 }
            return 1
        }
        #expect(kept.value == 8)
        #expect(reads.withLock { $0 } == 2)
    }

    @Test func aFailedReadLeavesTheValue() async throws {
        let kept = KeptValue(5)
        await #expect(throws: CancellationError.self) { try await kept.reload { throw CancellationError() } }
        #expect(kept.read { $0 + 1 } == 6)
    }
}
