import CornerstoreEncoding
import CornerstoreSQLite
import Foundation
import StoreWire

/// Answers searches and lookups with the bodies of Apple's search API.
public struct ItemFinder: Sendable {
    private let index: CurrentItemIndex
    private let base: @Sendable () -> String
    private let prices: ItemPriceText
    private let rating: @Sendable (CatalogItem, Storefront) -> ItemRating

    /// Creates a finder.
    /// - Parameters:
    ///   - base: the storefront's base URL, without a trailing slash. All links and pictures begin with it.
    ///   - rating: the ratings of an item in a storefront.
    public init(
        index: CurrentItemIndex, base: @escaping @Sendable () -> String, prices: ItemPriceText = ItemPriceText(),
        rating: @escaping @Sendable (CatalogItem, Storefront) -> ItemRating
    ) {
        self.index = index
        self.base = base
        self.prices = prices
        self.rating = rating
    }

    /// Answers `/search`.
    /// - Parameter country: the country in the path; nil for none.
    /// - Throws: `SQLiteError` when the index cannot be read.
    public func search(_ parameters: QueryParameters, country: String?) throws -> SearchAnswer {
        try answer(parameters, country) { request, describer, index in
            guard let term = parameters["term"], !term.isEmpty, let field = request.field else { return [] }
            let creators = request.entities.filter(\.isCreators)
            if !creators.isEmpty { return try self.creators(term, request, describer, index) }
            let search = ItemSearch(
                term: term, storefront: request.storefront, kinds: request.kinds, platforms: request.platforms,
                field: field, includesExplicit: request.includesExplicit, offset: request.offset, limit: request.limit)
            return try index.items(search).map { try describer.object($0) }
        }
    }

    /// Answers `/lookup`: the items with the numbers or bundle identifiers asked for, each followed by its songs,
    /// episodes or works when an entity is named.
    /// - Parameter country: the country in the path; nil for none.
    /// - Throws: `SQLiteError` when the index cannot be read.
    public func lookup(_ parameters: QueryParameters, country: String?) throws -> SearchAnswer {
        guard let numbers = Self.numbers(parameters["id"] ?? "") else {
            return SearchAnswer(SearchRequest.Invalid(keys: ["itunesId"]), callback: SearchAnswer.callback(parameters))
        }
        let bundles = (parameters["bundleId"] ?? "").split(separator: ",").prefix(Self.mostNumbers)
        let newestFirst = parameters["sort"] == "recent"
        return try answer(parameters, country) { request, describer, index in
            var objects: [SearchObject] = []
            var room = mostContents
            for number in numbers {
                let found = try self.objects(number, request, newestFirst, upTo: room, &describer, index)
                room -= max(found.count - 1, 0)
                objects += found
            }
            for bundle in bundles {
                guard let item = try index.item(bundleID: BundleID(String(bundle))),
                    item.availability.includes(request.storefront), !numbers.contains(item.number)
                else { continue }
                objects.append(try describer.object(item))
            }
            return objects
        }
    }

    /// The answer to a path that is neither, such as `/lookup/id=1`.
    public static let nothing = SearchAnswer([], callback: nil)

    /// The most items that one lookup asks for. Further ones are left out.
    public static let mostNumbers = 200

    /// The most songs, episodes and works in the answer to one lookup. Further ones are left out.
    var mostContents = 2_000

    private func answer(
        _ parameters: QueryParameters, _ country: String?,
        _ find: (SearchRequest, inout ItemDescriber, ItemIndex) throws -> [SearchObject]
    ) throws -> SearchAnswer {
        let callback = SearchAnswer.callback(parameters)
        let request: SearchRequest
        do { request = try SearchRequest(parameters, country: country) } catch {
            return SearchAnswer(error, callback: callback)
        }
        let index = index.value
        var describer = ItemDescriber(request, base: base(), prices: prices, index: index, rating: rating)
        return SearchAnswer(try find(request, &describer, index), callback: callback)
    }

    /// The numbers in a comma list; empty for no number and for zeros. Nil when one is not a number of at most 63 bits.
    private static func numbers(_ list: String) -> [Int64]? {
        var numbers: [Int64] = []
        for part in list.split(separator: ",") {
            let digits = part.filter { $0 != " " }
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits)
            else { return nil }
            if number > 0, !numbers.contains(number) { numbers.append(number) }
            if numbers.count == mostNumbers { break }
        }
        return numbers
    }

    /// The object with a number, followed by those of its songs, episodes or works, at most `room`.
    private func objects(
        _ number: Int64, _ request: SearchRequest, _ newestFirst: Bool, upTo room: Int,
        _ describer: inout ItemDescriber, _ index: ItemIndex
    ) throws -> [SearchObject] {
        let storefront = request.storefront
        let most = min(request.limit, room)
        if let item = try index.item(number) {
            guard item.availability.includes(storefront) else { return [] }
            var objects = [try describer.object(item)]
            guard item.kind.isCollection, request.namesEntities, most > 0 else { return objects }
            for child in try index.contents(of: number).lazy.filter({ child in
                child.availability.includes(storefront) && request.entities.contains { $0.includes(child) }
            }).prefix(most) {
                objects.append(try describer.object(child))
            }
            return objects
        }
        guard let (creator, sample) = try index.creator(number) else { return [] }
        var objects = [describer.object(creator, of: sample)]
        guard request.namesEntities, most > 0 else { return objects }
        let works = try index.items(
            of: number, kinds: request.kinds, in: storefront, newestFirst: newestFirst, limit: Self.mostNumbers)
        for item in works.lazy.filter({ item in request.entities.contains { $0.includes(item) } }).prefix(most) {
            objects.append(try describer.object(item))
        }
        return objects
    }

    /// The creators whose names have all words of a term, in the order of their best items.
    private func creators(
        _ term: String, _ request: SearchRequest, _ describer: ItemDescriber, _ index: ItemIndex
    ) throws -> [SearchObject] {
        let search = ItemSearch(
            term: term, storefront: request.storefront, kinds: request.kinds, field: .creator,
            includesExplicit: request.includesExplicit, limit: 1_000)
        var known: Set<Int64> = []
        let found = try index.items(search).filter { known.insert($0.creator.number).inserted }
        return found.dropFirst(request.offset).prefix(request.limit).map { describer.object($0.creator, of: $0) }
    }
}
