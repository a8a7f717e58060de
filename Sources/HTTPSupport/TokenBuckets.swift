/// How many may come at once, and how fast their places come back.
public struct TokenRate: Sendable, Equatable {
    /// Tokens in a full bucket.
    public var burst: Double
    /// Tokens that a second brings back.
    public var perSecond: Double

    public init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }
}

private struct Bucket: Sendable {
    var tokens: Double
    /// Seconds.
    var at: Double
}

extension TokenRate {
    fileprivate func take(from bucket: inout Bucket, at seconds: Double) -> Double? {
        bucket.tokens = min(burst, bucket.tokens + max(0, seconds - bucket.at) * perSecond)
        // What comes a little out of order is nothing; a clock that was put back goes on from there.
        bucket.at = seconds < bucket.at - 1 ? seconds : max(bucket.at, seconds)
        guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / perSecond + (bucket.at - seconds) }
        bucket.tokens -= 1
        return nil
    }
}

/// How often each of many may come: a token bucket for each key, in a bounded table (a "leaky bucket as a meter").
///
/// A bucket that has filled up again is forgotten, since it says no more than a missing one. While the table is full of others, newcomers share one
/// bucket: a flood of keys that are seen once does not make the table forget whom it held back.
public struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    public let rate: TokenRate
    private let capacity: Int
    private var buckets: [Key: Bucket] = [:]
    private var shared: Bucket?
    /// When full buckets were last looked for; that goes through the whole table.
    private var sweptAt = -Double.infinity

    /// - Parameters:
    ///   - rate: both numbers over 0.
    ///   - capacity: keys at most.
    public init(_ rate: TokenRate, capacity: Int) {
        self.rate = rate
        self.capacity = max(1, capacity)
    }

    /// How many keys have a bucket.
    public var count: Int { buckets.count }

    /// Takes a token from the key's bucket.
    /// - Parameter seconds: now, on any clock. One that is put back brings no tokens by that.
    /// - Returns: nil when there was one, else in how many seconds there will be.
    public mutating func take(_ key: Key, at seconds: Double) -> Double? {
        // In its place: the key is hashed once.
        if let index = buckets.index(forKey: key) {
            return rate.take(from: &buckets.values[index], at: seconds)
        }
        if buckets.count >= capacity { sweep(at: seconds) }
        var bucket = Bucket(tokens: rate.burst, at: seconds)
        guard buckets.count < capacity else {
            var common = shared ?? bucket
            let wait = rate.take(from: &common, at: seconds)
            shared = common
            return wait
        }
        let wait = rate.take(from: &bucket, at: seconds)
        buckets[key] = bucket
        return wait
    }

    /// Gives back a token that was taken for what is counted again. One of the shared bucket is gone.
    public mutating func giveBack(_ key: Key) {
        guard var bucket = buckets[key] else { return }
        bucket.tokens = min(rate.burst, bucket.tokens + 1)
        buckets[key] = bucket
    }

    /// Forgets who would have a full bucket by now; at most once a second.
    private mutating func sweep(at seconds: Double) {
        guard seconds - sweptAt >= 1 || seconds < sweptAt else { return }
        sweptAt = seconds
        let rate = rate
        buckets = buckets.filter { $0.value.tokens + max(0, seconds - $0.value.at) * rate.perSecond < rate.burst }
    }
}
