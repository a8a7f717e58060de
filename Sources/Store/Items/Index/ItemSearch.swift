/// A search for items.
public struct ItemSearch: Sendable, Hashable {
    /// The texts that the term's words are looked up in.
    public enum Field: Sendable, Hashable, CaseIterable {
        /// All texts of an item: the names first, then its creator and collection, then the rest.
        case all
        /// The names.
        case name
        /// The creator and the seller.
        case creator
        /// The album or season. For an album or a season, its own names.
        case collection
        /// The year of the release.
        case releaseYear
        /// The numbers of the genres.
        case genre
        /// The age rating.
        case contentRating
    }

    /// The words to find, in any language. At most ``mostWords`` words count.
    public var term: String
    /// The storefront, which must show the item.
    public var storefront: Storefront
    /// The kinds of items.
    public var kinds: Set<ItemKind>
    /// The systems that an app must run on one of; nil for any. Items of other kinds are found in any case.
    public var platforms: Set<ItemPlatform>?
    /// The texts to search.
    public var field: Field
    /// Whether explicit items are found.
    public var includesExplicit: Bool
    /// The number of results to leave out, for further pages. Results after ``deepest`` are never found.
    public var offset: Int
    /// The most results.
    public var limit: Int

    /// The most words of a term that count.
    public static let mostWords = 24
    /// The number of results that can be paged through.
    public static let deepest = 10_000

    /// Creates a search.
    public init(
        term: String, storefront: Storefront, kinds: Set<ItemKind>, platforms: Set<ItemPlatform>? = nil,
        field: Field = .all, includesExplicit: Bool = true, offset: Int = 0, limit: Int = 50
    ) {
        self.term = term
        self.storefront = storefront
        self.kinds = kinds
        self.platforms = platforms
        self.field = field
        self.includesExplicit = includesExplicit
        self.offset = offset
        self.limit = limit
    }
}
