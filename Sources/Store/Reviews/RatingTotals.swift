import Synchronization

/// The ratings of all items in all storefronts, counted in memory. They are loaded when the store starts, and follow
/// each committed change of a review. When several processes write reviews, an item's ratings are counted again after
/// each change. Hidden reviews do not count.
public final class RatingTotals: Sendable {
    /// The ratings of an item in a storefront, by the version that was rated. The numbers are for one to five stars.
    typealias Histograms = [String?: [Int]]

    struct Place: Hashable {
        var item: Int64
        var storefront: String
    }

    private let totals: Mutex<[Place: Histograms]>

    init(_ totals: [Place: Histograms] = [:]) { self.totals = Mutex(totals) }

    /// The ratings of an item in a storefront, as search, lookup and pages show them. The current version is the item's
    /// newest.
    public func rating(of item: CatalogItem, in storefront: Storefront) -> ItemRating {
        rating(of: item.number, in: storefront, version: item.versions.first?.version)
    }

    /// The ratings of an item in a storefront.
    /// - Parameter version: the current version; nil for an item without versions, whose ratings all count as current.
    public func rating(of number: Int64, in storefront: Storefront, version: String?) -> ItemRating {
        let place = Place(item: number, storefront: storefront.countryCode)
        guard let histograms = totals.withLock({ $0[place] }) else { return .none }
        let all = histograms.values.reduce(into: ItemRating.none.histogram) { sum, histogram in
            for (index, count) in histogram.enumerated() { sum[index] += count }
        }
        guard let version else { return ItemRating(histogram: all, currentHistogram: all) }
        return ItemRating(
            histogram: all, currentHistogram: histograms[version] ?? ItemRating.none.currentHistogram)
    }

    /// All counts, to compare with the database.
    var all: [Place: Histograms] { totals.withLock { $0 } }

    /// Replaces all counts with those of the database.
    func replace(with new: [Place: Histograms]) { totals.withLock { $0 = new } }

    /// Replaces an item's counts with those of the database.
    func replace(_ item: Int64, with new: [Place: Histograms]) {
        totals.withLock { totals in
            for storefront in Storefront.all {
                let place = Place(item: item, storefront: storefront.countryCode)
                totals[place] = new[place]
            }
        }
    }

    /// Follows a committed change of one review.
    func follow(from before: Review?, to after: Review?) {
        totals.withLock { totals in
            if let before { Self.add(-1, before, &totals) }
            if let after { Self.add(1, after, &totals) }
        }
    }

    private static func add(_ count: Int, _ review: Review, _ totals: inout [Place: Histograms]) {
        guard review.hiding == nil else { return }
        let place = Place(item: review.item, storefront: review.storefront)
        var histograms = totals[place] ?? [:]
        var histogram = histograms[review.version] ?? ItemRating.none.histogram
        histogram[review.stars - 1] += count
        histograms[review.version] = histogram.contains { $0 != 0 } ? histogram : nil
        totals[place] = histograms.isEmpty ? nil : histograms
    }
}
