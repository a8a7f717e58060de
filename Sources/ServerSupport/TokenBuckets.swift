/// The rate of a token bucket: how many requests may come at once, and how fast the bucket refills.
public struct TokenRate: Sendable, Equatable {
    /// The number of tokens in a full bucket.
    public var burst: Double
    /// The number of tokens that the bucket regains each second.
    public var perSecond: Double

    /// Creates a rate.
    public init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }
}

private struct Bucket: Sendable {
    var tokens: Double
    /// The time of the last change, in seconds.
    var at: Double
}

extension TokenRate {
    fileprivate func take(from bucket: inout Bucket, at seconds: Double) -> Double? {
        bucket.tokens = min(burst, bucket.tokens + max(0, seconds - bucket.at) * perSecond)
        // A time that is up to a second earlier counts as the same time. A clock that was set back further starts again
        // from its new time.
        bucket.at = seconds < bucket.at - 1 ? seconds : max(bucket.at, seconds)
        guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / perSecond + (bucket.at - seconds) }
        bucket.tokens -= 1
        return nil
    }
}

/// Limits the rate of each of many keys: a token bucket for each key, in a bounded table (a "leaky bucket as a meter").
///
/// The table forgets a bucket that is full again, since it means no more than a missing one. While the table is full of
/// other buckets, new keys share one bucket: a flood of keys that are seen once does not make the table forget the keys
/// that it limits.
public struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    /// The rate of each key.
    public let rate: TokenRate
    private let capacity: Int
    private var buckets: [Key: Bucket] = [:]
    private var shared: Bucket?
    /// When the table was last searched for full buckets, in seconds.
    private var sweptAt = -Double.infinity

    /// Creates an empty table.
    /// - Parameters:
    ///   - rate: the rate of each key; both numbers must be above 0.
    ///   - capacity: the largest number of keys.
    public init(_ rate: TokenRate, capacity: Int) {
        self.rate = rate
        self.capacity = max(1, capacity)
    }

    /// The number of keys that have a bucket.
    public var count: Int { buckets.count }

    /// Takes a token from the key's bucket.
    /// - Parameter seconds: the current time, on any clock. A clock that is set back adds no tokens.
    /// - Returns: nil when the bucket had a token; otherwise the seconds until it has one.
    public mutating func take(_ key: Key, at seconds: Double) -> Double? {
        // Change the bucket in place, so that the key is hashed once.
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

    /// Returns a token, for a request that is counted again. A token of the shared bucket is not returned.
    public mutating func giveBack(_ key: Key) {
        guard var bucket = buckets[key] else { return }
        bucket.tokens = min(rate.burst, bucket.tokens + 1)
        buckets[key] = bucket
    }

    /// Removes the buckets that are full by now; at most once a second.
    private mutating func sweep(at seconds: Double) {
        guard seconds - sweptAt >= 1 || seconds < sweptAt else { return }
        sweptAt = seconds
        let rate = rate
        buckets = buckets.filter { $0.value.tokens + max(0, seconds - $0.value.at) * rate.perSecond < rate.burst }
    }
}
