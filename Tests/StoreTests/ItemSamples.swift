import Store

/// Items for tests.
enum ItemSamples {
    /// An item with only the fields that every kind has.
    static func item(_ number: Int64, _ kind: ItemKind, _ name: String) -> CatalogItem {
        CatalogItem(
            number: number, kind: kind, creator: ItemCreator(number: 900, name: "Example Works"),
            genres: [ItemGenre(number: 6014, name: "Games")], texts: [ItemText(locale: "en", name: name)],
            releaseDate: 1_600_000_000_000)
    }
}
