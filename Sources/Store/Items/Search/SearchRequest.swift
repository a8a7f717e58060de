import CornerstoreEncoding
import StoreWire

/// The parameters that searches and lookups share, checked.
struct SearchRequest: Sendable {
    var storefront: Storefront
    /// The languages for texts, the preferred first.
    var languages: [String]
    /// The kinds of results. Several stand for a list, as some clients send.
    var entities: [SearchEntity]
    /// Whether the request names the entities.
    var namesEntities: Bool
    /// The field to search; nil for data that items do not have.
    var field: ItemSearch.Field?
    var limit: Int
    var offset: Int
    var includesExplicit: Bool

    /// The parameters that have invalid values, by their internal names.
    struct Invalid: Error, Equatable {
        var keys: [String]
    }

    /// Reads the parameters; unknown ones are ignored.
    /// - Parameter country: the country in the path, which precedes the parameter.
    /// - Throws: ``Invalid`` with all invalid keys, in alphabetical order.
    init(_ parameters: QueryParameters, country: String?) throws(Invalid) {
        var invalid: Set<String> = []
        let code = country ?? parameters["country"].flatMap { $0.isEmpty ? nil : $0 }
        storefront = .unitedStates
        if let code {
            if let named = Storefront.withRegion(code.uppercased()) {
                storefront = named
            } else {
                invalid.insert("country")
            }
        }
        let own = "\(storefront.language)_\(storefront.regionCode)"
        languages = [own]
        if let language = parameters["lang"], !language.isEmpty {
            if LanguageTag(language) == nil { invalid.insert("language") } else { languages = [language, own] }
        }
        var media = SearchMedia.named["all"]
        if let name = parameters["media"], !name.isEmpty {
            media = SearchMedia.named[name]
            if media == nil { invalid.insert("mediaType") }
        }
        entities = media.map { [$0.standard] } ?? []
        namesEntities = false
        var names: [String] = []
        if let list = parameters["entity"], !list.isEmpty, let media {
            names = list.split(separator: ",").prefix(20).map { String($0.filter { $0 != " " }) }
            let found = names.compactMap { media.entities[$0] }
            if found.count < names.count || found.isEmpty { invalid.insert("resultEntity") }
            entities = found
            namesEntities = true
        }
        field = .all
        if let attribute = parameters["attribute"], !attribute.isEmpty, let media {
            // An entity without a media type brings the attributes of its own.
            let allowed = SearchMedia.named.values.filter {
                !names.isEmpty && names.contains(where: $0.entities.keys.contains)
            }
            .reduce(media.attributes) { $0.union($1.attributes) }
            if allowed.contains(attribute) {
                field = SearchMedia.field(attribute)
            } else {
                invalid.insert("attributeType")
            }
        }
        limit = parameters["limit"].flatMap { Int($0) }.map { min(max($0, 1), Self.mostResults) } ?? 50
        offset = parameters["offset"].flatMap { Int($0) }.map { max($0, 0) } ?? 0
        includesExplicit = parameters["explicit"]?.lowercased() != "no"
        guard invalid.isEmpty else { throw Invalid(keys: invalid.sorted()) }
    }

    /// The most results of a search, and of a lookup's children.
    static let mostResults = 200

    /// All kinds of the wanted items.
    var kinds: Set<ItemKind> { entities.reduce(into: []) { $0.formUnion($1.kinds) } }

    /// The systems for apps; nil when some entity takes any app.
    var platforms: Set<ItemPlatform>? {
        let apps = entities.filter { $0.kinds.contains(.app) }
        guard !apps.isEmpty, apps.allSatisfy({ $0.platforms != nil }) else { return nil }
        return apps.reduce(into: []) { $0.formUnion($1.platforms ?? []) }
    }
}
