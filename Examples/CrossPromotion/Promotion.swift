/// An item that the app promotes, and how the app finds the item's number.
public struct Promotion: Sendable, Equatable {
    /// A way to find the number.
    public enum Source: Sendable, Equatable {
        /// In the link to the item's page.
        case link(String)
        /// By words, among items of a kind. The item has the promotion's name.
        case search(String, entity: String)
    }

    /// The item's name.
    public var name: String
    /// The source of its number.
    public var source: Source

    /// The developer's other app.
    public static let otherApp = Promotion(
        name: "Photo Filters", source: .link("https://apps.apple.com/us/app/photo-filters/id1400000002?mt=8"))

    /// A film.
    public static let film = Promotion(name: "The Keeper", source: .search("keeper", entity: "movie"))

    /// The songs that the app plays.
    public static let playlist = ["First Branch", "Swing Low Leaf", "Night over the Canopy"].map {
        Promotion(name: $0, source: .search("\($0) Gibbons", entity: "song"))
    }

    /// Finds the item's number.
    public func number(_ search: ItemSearch) async throws -> Int64 {
        switch source {
        case .link(let link):
            guard let number = ItemSearch.number(inLink: link) else {
                throw ItemSearch.Failure(text: "The link \(link) has no number.")
            }
            return number
        case .search(let words, let entity):
            let found = try await search.items(matching: words, entity: entity)
            guard let item = found.first(where: { $0.name == name }) else {
                throw ItemSearch.Failure(text: "The store has no \(entity) with the name \(name).")
            }
            return item.number
        }
    }
}
