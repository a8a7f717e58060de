import ServerSupport
import TestSupport
import Testing

@Suite("Rate limits", .timeLimit(.minutes(1)))
struct TokenBucketsTests {
    @Test func aBurstPassesAndThenTheRate() throws {
        var buckets = TokenBuckets<String>(.init(burst: 3, perSecond: 2), capacity: 10)
        for _ in 0..<3 { #expect(buckets.take("a", at: 100) == nil) }
        #expect(buckets.take("a", at: 100) == 0.5)
        #expect(buckets.take("b", at: 100) == nil)
        #expect(buckets.take("a", at: 100.5) == nil)
        #expect(buckets.take("a", at: 100.5) == 0.5)
        // It never holds more than the burst.
        for _ in 0..<3 { #expect(buckets.take("a", at: 1_000) == nil) }
        #expect(buckets.take("a", at: 1_000) == 0.5)
    }

    @Test func whatIsGivenBackIsThereOnce() {
        var buckets = TokenBuckets<String>(.init(burst: 2, perSecond: 1), capacity: 1)
        buckets.giveBack("a")
        #expect(buckets.take("a", at: 100) == nil)
        buckets.giveBack("a")
        buckets.giveBack("a")
        for _ in 0..<2 { #expect(buckets.take("a", at: 100) == nil) }
        #expect(buckets.take("a", at: 100) == 1)
        // One of the bucket that newcomers share is nobody's.
        #expect(buckets.take("b", at: 100) == nil)
        buckets.giveBack("b")
        #expect(buckets.take("c", at: 100) == nil)
        #expect(buckets.take("d", at: 100) == 1)
    }

    @Test func aClockThatGoesBackBringsNothingAndBreaksNothing() throws {
        var buckets = TokenBuckets<String>(.init(burst: 1, perSecond: 1), capacity: 10)
        #expect(buckets.take("a", at: 100) == nil)
        let wait = buckets.take("a", at: 50)
        #expect(wait.map { $0 > 0 } == true)
        #expect(buckets.take("a", at: 101) == nil)
    }

    @Test func nobodyPassesMoreOftenThanTheRate() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<50 {
            let rate = TokenRate(
                burst: Double(Int.random(in: 1...20, using: &generator)),
                perSecond: Double.random(in: 0.1...50, using: &generator))
            var buckets = TokenBuckets<Int>(rate, capacity: 8)
            var passed: [Int: Int] = [:]
            var now = 0.0
            for _ in 0..<500 {
                now += Double.random(in: 0...0.2, using: &generator)
                // Twice as many keys as places: some share.
                let key = Int.random(in: 0..<16, using: &generator)
                let wait = buckets.take(key, at: now)
                if wait == nil { passed[key, default: 0] += 1 } else { #expect((wait ?? 0) > 0) }
                #expect(buckets.count <= 8)
            }
            for (_, count) in passed { #expect(Double(count) <= 2 * rate.burst + now * rate.perSecond * 2 + 1) }
        }
    }

    @Test func aClockThatIsPutBackHoldsNobodyBack() {
        var buckets = TokenBuckets<Int>(.init(burst: 2, perSecond: 1), capacity: 4)
        for _ in 0..<2 { #expect(buckets.take(1, at: 7_200) == nil) }
        // It brings no tokens, and they come back from then on.
        #expect(buckets.take(1, at: 0) == 1)
        #expect(buckets.take(1, at: 1) == nil)
        #expect(buckets.take(1, at: 1) == 1)
    }

    @Test func aFloodDoesNotMakeTheTableForget() {
        var buckets = TokenBuckets<Int>(.init(burst: 1, perSecond: 0.01), capacity: 4)
        for key in 0..<4 { #expect(buckets.take(key, at: 0) == nil) }
        // The newcomers share one bucket.
        #expect(buckets.take(100, at: 0) == nil)
        for key in 101..<1_000 { #expect(buckets.take(key, at: 1) != nil) }
        #expect(buckets.take(0, at: 2) != nil)
        #expect(buckets.count == 4)
        // Full again, they are forgotten, and there is room.
        #expect(buckets.take(500, at: 200) == nil)
        #expect(buckets.take(501, at: 200) == nil)
    }
}
