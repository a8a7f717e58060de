import ContentDownloads
import Testing

@Suite("The rate of a transfer", .timeLimit(.minutes(1)))
struct TransferRateTests {
    @Test func `the remaining time is unknown at first`() {
        var rate = TransferRate(total: 1000, done: 0, at: 10)
        #expect(rate.timeRemaining == nil && rate.bytesPerSecond == nil)
        // Too soon to say.
        rate.advance(to: 100, at: 10.1)
        #expect(rate.timeRemaining == nil)
        #expect(rate.progress == 0.1)
    }

    @Test func `a steady speed gives the remaining time`() throws {
        var rate = TransferRate(total: 1000, done: 0, at: 0)
        for second in 1...5 { rate.advance(to: Int64(second) * 100, at: Double(second)) }
        let (speed, time) = (try #require(rate.bytesPerSecond), try #require(rate.timeRemaining))
        #expect(abs(speed - 100) < 0.001)
        #expect(abs(time - 5) < 0.001)
    }

    @Test func `earlier bytes do not count for the speed`() throws {
        var rate = TransferRate(total: 1000, done: 900, at: 0)
        rate.advance(to: 910, at: 1)
        let (speed, time) = (try #require(rate.bytesPerSecond), try #require(rate.timeRemaining))
        #expect(abs(speed - 10) < 0.001)
        #expect(abs(time - 9) < 0.001)
    }

    @Test func `a standstill raises the remaining time until it is unknown`() throws {
        var rate = TransferRate(total: 1000, done: 0, at: 0)
        rate.advance(to: 500, at: 1)
        var last = try #require(rate.timeRemaining)
        for second in 2...10 {
            rate.advance(to: 500, at: Double(second))
            let now = try #require(rate.timeRemaining)
            #expect(now > last)
            last = now
        }
        rate.advance(to: 500, at: 1000)
        #expect(rate.timeRemaining == nil)
    }

    @Test func `the remaining time is zero at the end`() {
        var rate = TransferRate(total: 1000, done: 0, at: 0)
        rate.advance(to: 1000, at: 1)
        #expect(rate.timeRemaining == 0)
        #expect(rate.progress == 1)
        #expect(TransferRate(total: 0, done: 0, at: 0).progress == 1)
    }
}
