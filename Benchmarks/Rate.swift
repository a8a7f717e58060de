import Dispatch
import Synchronization

/// Measures rates: operations per second.
enum Rate {
    /// The operations a second of `work` on the calling thread: the median of `rounds` rounds of about `seconds` each,
    /// after one that is not counted.
    static func perSecond(seconds: Double, rounds: Int, work: () throws -> Void) rethrows -> Double {
        let count = try calibrated(seconds: seconds, work: work)
        return try median((0..<rounds).map { _ in try rate(count, work) })
    }

    /// The rates of two pieces of work, measured in turn so that a slower machine affects both.
    static func compared(
        seconds: Double, rounds: Int, _ first: () throws -> Void, _ second: () throws -> Void
    ) rethrows -> (first: Double, second: Double) {
        let counts = (try calibrated(seconds: seconds, work: first), try calibrated(seconds: seconds, work: second))
        var rates: (first: [Double], second: [Double]) = ([], [])
        for _ in 0..<rounds {
            rates.first.append(try rate(counts.0, first))
            rates.second.append(try rate(counts.1, second))
        }
        return (median(rates.first), median(rates.second))
    }

    /// The operations a second of `work` on `threads` threads together, done for about `seconds`.
    static func perSecond(threads: Int, seconds: Double, work: @Sendable () throws -> Void) -> Double {
        let total = Mutex(0.0)
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            let clock = ContinuousClock()
            let start = clock.now
            var count = 0
            var passed = Duration.zero
            while passed < .seconds(seconds) {
                for _ in 0..<32 { do { try work() } catch { return } }
                count += 32
                passed = clock.now - start
            }
            total.withLock { $0 += Double(count) / passed.seconds }
        }
        return total.withLock { $0 }
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.last else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1
            ? sorted[middle] : (sorted[middle - 1] + (sorted.count > 1 ? sorted[middle] : last)) / 2
    }

    /// The median of the ratios of values that were measured at nearly the same time, so that a temporary slowdown
    /// affects both.
    static func ratio(_ values: [Double], _ others: [Double]) -> Double {
        median(zip(values, others).map { $0 / $1 })
    }

    /// The spread of the middle half of the values.
    static func quartileRange(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.last else { return .nan }
        return (sorted.count < 4 ? last : sorted[sorted.count * 3 / 4])
            - sorted[sorted.count < 4 ? 0 : sorted.count / 4]
    }

    /// The number of operations that take about `seconds`. Counting them also warms caches.
    private static func calibrated(seconds: Double, work: () throws -> Void) rethrows -> Int {
        var count = 1
        while true {
            let rate = try rate(count, work)
            let passed = Double(count) / rate
            if passed > seconds / 4 { return max(1, Int(rate * seconds)) }
            count *= passed > seconds / 40 ? 4 : 10
        }
    }

    private static func rate(_ count: Int, _ work: () throws -> Void) rethrows -> Double {
        let time = try ContinuousClock().measure { for _ in 0..<count { try work() } }
        return Double(count) / max(time.seconds, 1e-9)
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
    var microseconds: Double { seconds * 1_000_000 }
}
