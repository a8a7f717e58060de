/// A value of the parameter `media`, with the entities and attributes that it allows (`Documentation/StoreItems.md`,
/// section 6).
struct SearchMedia: Sendable {
    var entities: [String: SearchEntity]
    /// The entity of a request without one.
    var standard: SearchEntity
    var attributes: Set<String>

    /// The media types by name. Types of items that this store does not have are known, and find nothing.
    static let named: [String: SearchMedia] = {
        var table: [String: SearchMedia] = [:]
        table["movie"] = SearchMedia(
            ["movieArtist": .creators([.film]), "movie": .items([.film])], standard: .items([.film]),
            """
            genreIndex ratingIndex actorTerm artistTerm descriptionTerm directorTerm featureFilmTerm movieArtistTerm
            movieTerm producerTerm ratingTerm releaseYearTerm shortFilmTerm
            """)
        table["shortFilm"] = SearchMedia(
            ["shortFilmArtist": .nothing, "shortFilm": .nothing], standard: .nothing,
            "genreIndex ratingIndex artistTerm descriptionTerm shortFilmTerm")
        table["music"] = SearchMedia(
            [
                "musicArtist": .creators([.song, .album]), "musicTrack": .items([.song]), "album": .items([.album]),
                "musicVideo": .nothing, "mix": .nothing, "song": .items([.song]),
            ], standard: .items([.song]),
            "genreIndex ratingIndex albumTerm artistTerm composerTerm mixTerm songTerm")
        table["musicVideo"] = SearchMedia(
            ["musicArtist": .creators([.song, .album]), "musicVideo": .nothing], standard: .nothing,
            "genreIndex ratingIndex albumTerm artistTerm songTerm")
        table["audiobook"] = SearchMedia(
            ["audiobookAuthor": .nothing, "audiobook": .nothing], standard: .nothing,
            "genreIndex ratingIndex authorTerm titleTerm")
        table["ebook"] = SearchMedia(["ebook": .items([.book])], standard: .items([.book]), "authorTerm titleTerm")
        table["tvShow"] = SearchMedia(
            ["tvEpisode": .items([.episode]), "tvSeason": .items([.season])], standard: .items([.episode]),
            "genreIndex ratingIndex descriptionTerm showTerm tvEpisodeTerm tvSeasonTerm")
        table["podcast"] = SearchMedia(
            ["podcastAuthor": .nothing, "podcast": .nothing, "podcastEpisode": .nothing], standard: .nothing,
            "genreIndex ratingIndex artistTerm authorTerm descriptionTerm keywordsTerm languageTerm titleTerm")
        table["software"] = SearchMedia(
            [
                "software": .items([.app], [.iPhone, .iPad]), "iPadSoftware": .items([.app], [.iPad]),
                "macSoftware": .items([.app], [.mac]), "desktopSoftware": .items([.app], [.mac]),
                "tvSoftware": .nothing,
            ], standard: .items([.app], [.iPhone, .iPad]), "softwareDeveloper")
        let tracks: Set<ItemKind> = [.song, .film, .episode]
        table["all"] = SearchMedia(
            [
                "movie": .items([.film]), "album": .items([.album]),
                "allArtist": .creators([.song, .album, .film, .episode, .season, .book]), "podcast": .nothing,
                "musicVideo": .nothing, "mix": .nothing, "audiobook": .nothing, "tvSeason": .items([.season]),
                "allTrack": .items(tracks),
            ], standard: .items(tracks), "allArtistTerm allTrackTerm")
        // "all" allows the attributes of all media but software's. An entity without a media type may be any.
        for (name, media) in table where name != "all" {
            if name != "software" { table["all"]?.attributes.formUnion(media.attributes) }
            table["all"]?.entities.merge(media.entities) { known, _ in known }
        }
        return table
    }()

    private init(_ entities: [String: SearchEntity], standard: SearchEntity, _ attributes: String) {
        self.entities = entities
        self.standard = standard
        self.attributes = Set(attributes.split { $0 == " " || $0 == "\n" }.map(String.init))
    }

    /// The field of the index that an attribute searches; nil for the data that items do not have, such as composers.
    static func field(_ attribute: String) -> ItemSearch.Field? { fields[attribute] }

    private static let fields: [String: ItemSearch.Field] = [
        "genreIndex": .genre, "ratingIndex": .contentRating, "ratingTerm": .contentRating,
        "releaseYearTerm": .releaseYear, "artistTerm": .creator, "directorTerm": .creator, "movieArtistTerm": .creator,
        "authorTerm": .creator, "showTerm": .creator, "softwareDeveloper": .creator, "allArtistTerm": .creator,
        "albumTerm": .collection, "tvSeasonTerm": .collection, "featureFilmTerm": .name, "movieTerm": .name,
        "songTerm": .name, "titleTerm": .name, "tvEpisodeTerm": .name, "allTrackTerm": .name,
        "descriptionTerm": .all, "keywordsTerm": .all,
    ]
}

/// A value of the parameter `entity`: the kind of results.
struct SearchEntity: Sendable, Equatable {
    /// The kinds of items, or of the items that the creators made.
    var kinds: Set<ItemKind> = []
    /// The systems that an app must run on one of; nil for any.
    var platforms: Set<ItemPlatform>?
    /// Whether the results are creators instead of items.
    var isCreators = false

    static let nothing = SearchEntity()

    static func items(_ kinds: Set<ItemKind>, _ platforms: Set<ItemPlatform>? = nil) -> SearchEntity {
        SearchEntity(kinds: kinds, platforms: platforms)
    }

    static func creators(_ kinds: Set<ItemKind>) -> SearchEntity { SearchEntity(kinds: kinds, isCreators: true) }

    func includes(_ item: CatalogItem) -> Bool {
        guard kinds.contains(item.kind) else { return false }
        guard let platforms, item.kind == .app else { return true }
        return !platforms.isDisjoint(with: item.platforms)
    }
}
