/// The ratings of an item in a storefront.
public struct ItemRating: Sendable, Hashable {
    /// The number of ratings with one to five stars, in this order.
    public var histogram: [Int]
    /// The same for the current version only. Items without versions have the same numbers in both.
    public var currentHistogram: [Int]

    /// An item without ratings.
    public static let none = ItemRating(histogram: [0, 0, 0, 0, 0], currentHistogram: [0, 0, 0, 0, 0])

    /// Creates ratings from two histograms of five numbers.
    public init(histogram: [Int], currentHistogram: [Int]) {
        self.histogram = histogram
        self.currentHistogram = currentHistogram
    }

    /// The number of ratings.
    public var count: Int { histogram.reduce(0, +) }
    /// The number of ratings of the current version.
    public var currentCount: Int { currentHistogram.reduce(0, +) }
    /// The average of all ratings, 1 to 5; 0 without ratings.
    public var average: Double { Self.average(histogram) }
    /// The average of the current version's ratings, 1 to 5; 0 without ratings.
    public var currentAverage: Double { Self.average(currentHistogram) }

    private static func average(_ histogram: [Int]) -> Double {
        let count = histogram.reduce(0, +)
        guard count > 0 else { return 0 }
        let stars = histogram.enumerated().reduce(0) { $0 + ($1.offset + 1) * $1.element }
        return Double(stars) / Double(count)
    }
}
