/// A column of a feed's table.
public struct FeedColumn: Sendable, Hashable {
    /// The name, such as `application_id`.
    public var name: String
    /// The type in MySQL's words, such as `VARCHAR(1000)`.
    public var type: String

    /// The most characters of a `VARCHAR`; nil for other types.
    var limit: Int? { type.hasPrefix("VARCHAR(") ? Int(type.dropFirst(8).dropLast()) : nil }
}

/// The groups of tables. A group's name begins the name of its folder and archive: `itunes20260107`.
public enum FeedGroup: String, Sendable, CaseIterable {
    /// Items, creators and genres.
    case itunes
    /// Ranks by sales.
    case popularity
    /// Prices by storefront.
    case pricing
}

/// Whether a feed has everything, or what changed since the last full one.
public enum FeedMode: String, Sendable, Codable, CaseIterable {
    case full
    case incremental

    /// The word in `#exportMode`.
    var word: String { rawValue.uppercased() }
}

/// A table of the feed. `Documentation/PartnerFeed.md` has the sources of names, columns and types.
public struct FeedTable: Sendable, Hashable {
    /// The name, in lower-case letters and `_`, without a dot.
    public var name: String
    /// The group.
    public var group: FeedGroup
    /// The names of the columns that make up the primary key.
    public var key: [String]
    /// The columns, `export_date` first.
    public var columns: [FeedColumn]
    /// Whether an incremental feed has the whole table, because rows disappear from it: `#exportMode:FULL`.
    var isWhole: Bool { group == .popularity }

    /// - Parameters:
    ///   - key: the names of the key's columns.
    ///   - columns: `name TYPE` for each column after `export_date`.
    init(_ group: FeedGroup, _ name: String, key: String, _ columns: String) {
        (self.group, self.name) = (group, name)
        self.key = key.split(separator: " ").map(String.init)
        self.columns =
            [FeedColumn(name: "export_date", type: "BIGINT")]
            + columns.split(whereSeparator: \.isNewline).joined(separator: ",").split(separator: ",").compactMap {
                let words = $0.split(separator: " ").map(String.init)
                // A decimal's scale stands after a period here, because a comma separates columns.
                return words.count == 2
                    ? FeedColumn(name: words[0], type: words[1].replacing(".", with: ",")) : nil
            }
    }

    // MARK: Apps

    static let application = FeedTable(
        .itunes, "application", key: "application_id",
        """
        application_id BIGINT, title VARCHAR(1000), recommended_age VARCHAR(20), artist_name VARCHAR(1000)
        seller_name VARCHAR(1000), company_url VARCHAR(1000), support_url VARCHAR(1000), view_url VARCHAR(1000)
        artwork_url_large VARCHAR(1000), artwork_url_small VARCHAR(1000), itunes_release_date DATETIME
        copyright VARCHAR(4000), description LONGTEXT, version VARCHAR(100), itunes_version VARCHAR(100)
        download_size BIGINT
        """)
    static let applicationDetail = FeedTable(
        .itunes, "application_detail", key: "application_id language_code",
        """
        application_id BIGINT, language_code VARCHAR(20), title VARCHAR(1000), description LONGTEXT
        release_notes LONGTEXT, company_url VARCHAR(1000), support_url VARCHAR(1000)
        screenshot_url_1 VARCHAR(1000), screenshot_url_2 VARCHAR(1000), screenshot_url_3 VARCHAR(1000)
        screenshot_url_4 VARCHAR(1000), screenshot_width_height_1 VARCHAR(20), screenshot_width_height_2 VARCHAR(20)
        screenshot_width_height_3 VARCHAR(20), screenshot_width_height_4 VARCHAR(20)
        ipad_screenshot_url_1 VARCHAR(1000), ipad_screenshot_url_2 VARCHAR(1000), ipad_screenshot_url_3 VARCHAR(1000)
        ipad_screenshot_url_4 VARCHAR(1000), ipad_screenshot_width_height_1 VARCHAR(20)
        ipad_screenshot_width_height_2 VARCHAR(20), ipad_screenshot_width_height_3 VARCHAR(20)
        ipad_screenshot_width_height_4 VARCHAR(20)
        """)
    static let applicationDeviceType = FeedTable(
        .itunes, "application_device_type", key: "application_id device_type_id",
        "application_id BIGINT, device_type_id INTEGER")
    static let artistApplication = FeedTable(
        .itunes, "artist_application", key: "artist_id application_id", "artist_id BIGINT, application_id BIGINT")
    static let genreApplication = FeedTable(
        .itunes, "genre_application", key: "genre_id application_id",
        "genre_id BIGINT, application_id BIGINT, is_primary BOOLEAN")
    static let applicationPrice = FeedTable(
        .pricing, "application_price", key: "application_id storefront_id",
        """
        application_id BIGINT, retail_price DECIMAL(9.3), currency_code VARCHAR(20), storefront_id INTEGER
        """)

    // MARK: Songs, albums, films and television

    static let song = FeedTable(
        .itunes, "song", key: "song_id",
        """
        song_id BIGINT, name VARCHAR(1000), title_version VARCHAR(1000), search_terms VARCHAR(1000)
        parental_advisory_id INTEGER, artist_display_name VARCHAR(1000), collection_display_name VARCHAR(1000)
        view_url VARCHAR(1000), original_release_date DATETIME, itunes_release_date DATETIME, track_length BIGINT
        copyright VARCHAR(4000), p_line VARCHAR(4000), preview_url VARCHAR(1000), preview_length BIGINT
        """)
    static let collection = FeedTable(
        .itunes, "collection", key: "collection_id",
        """
        collection_id BIGINT, name VARCHAR(1000), title_version VARCHAR(1000), search_terms VARCHAR(1000)
        parental_advisory_id INTEGER, artist_display_name VARCHAR(1000), view_url VARCHAR(1000)
        artwork_url VARCHAR(1000), original_release_date DATETIME, itunes_release_date DATETIME
        label_studio VARCHAR(1000), content_provider_name VARCHAR(1000), copyright VARCHAR(4000), p_line VARCHAR(4000)
        media_type_id INTEGER, is_compilation BOOLEAN, collection_type_id INTEGER
        """)
    static let video = FeedTable(
        .itunes, "video", key: "video_id",
        """
        video_id BIGINT, name VARCHAR(1000), title_version VARCHAR(1000), search_terms VARCHAR(1000)
        parental_advisory_id INTEGER, artist_display_name VARCHAR(1000), collection_display_name VARCHAR(1000)
        media_type_id INTEGER, view_url VARCHAR(1000), artwork_url VARCHAR(1000), original_release_date DATETIME
        itunes_release_date DATETIME, studio_name VARCHAR(1000), network_name VARCHAR(1000)
        content_provider_name VARCHAR(1000), track_length BIGINT, copyright VARCHAR(4000), p_line VARCHAR(4000)
        short_description VARCHAR(1000), long_description VARCHAR(1000), episode_production_number VARCHAR(200)
        """)
    static let collectionSong = FeedTable(
        .itunes, "collection_song", key: "collection_id song_id",
        """
        collection_id BIGINT, song_id BIGINT, is_primary_collection BOOLEAN, track_number BIGINT, volume_number BIGINT
        preorder_only BOOLEAN
        """)
    static let collectionVideo = FeedTable(
        .itunes, "collection_video", key: "collection_id video_id",
        """
        collection_id BIGINT, video_id BIGINT, track_number BIGINT, volume_number BIGINT, preorder_only BOOLEAN
        """)
    static let artistSong = FeedTable(
        .itunes, "artist_song", key: "artist_id song_id", "artist_id BIGINT, song_id BIGINT")
    static let artistCollection = FeedTable(
        .itunes, "artist_collection", key: "artist_id collection_id role_id",
        "artist_id BIGINT, collection_id BIGINT, is_primary_artist BOOLEAN, role_id INTEGER")
    static let artistVideo = FeedTable(
        .itunes, "artist_video", key: "artist_id video_id",
        "artist_id BIGINT, video_id BIGINT, is_primary_artist BOOLEAN, role_id INTEGER")
    static let genreCollection = FeedTable(
        .itunes, "genre_collection", key: "genre_id collection_id",
        "genre_id BIGINT, collection_id BIGINT, is_primary BOOLEAN")
    static let genreVideo = FeedTable(
        .itunes, "genre_video", key: "genre_id video_id",
        "genre_id BIGINT, video_id BIGINT, is_primary BOOLEAN")
    static let songPrice = FeedTable(
        .pricing, "song_price", key: "song_id storefront_id",
        """
        song_id BIGINT, retail_price DECIMAL(9.3), currency_code VARCHAR(20), storefront_id INTEGER
        availability_date DATETIME, hq_price DECIMAL(9.3)
        """)
    static let collectionPrice = FeedTable(
        .pricing, "collection_price", key: "collection_id storefront_id",
        """
        collection_id BIGINT, retail_price DECIMAL(9.3), currency_code VARCHAR(20), storefront_id INTEGER
        availability_date DATETIME, hq_price DECIMAL(9.3), preorder_price DECIMAL(9.3)
        """)
    static let videoPrice = FeedTable(
        .pricing, "video_price", key: "video_id storefront_id",
        """
        video_id BIGINT, retail_price DECIMAL(9.3), currency_code VARCHAR(20), storefront_id INTEGER
        availability_date DATETIME, sd_price DECIMAL(9.3), hq_price DECIMAL(9.3), lc_rental_price DECIMAL(9.3)
        sd_rental_price DECIMAL(9.3), hd_rental_price DECIMAL(9.3), hd_price DECIMAL(9.3)
        """)

    // MARK: Creators, genres and fixed tables

    static let artist = FeedTable(
        .itunes, "artist", key: "artist_id",
        """
        artist_id BIGINT, name VARCHAR(1000), is_actual_artist BOOLEAN, view_url VARCHAR(1000), artist_type_id INTEGER
        """)
    static let genreArtist = FeedTable(
        .itunes, "genre_artist", key: "genre_id artist_id", "genre_id BIGINT, artist_id BIGINT, is_primary BOOLEAN")
    static let genre = FeedTable(
        .itunes, "genre", key: "genre_id", "genre_id INTEGER, parent_id INTEGER, name VARCHAR(200)")
    static let artistType = FeedTable(
        .itunes, "artist_type", key: "artist_type_id",
        "artist_type_id INTEGER, name VARCHAR(200), primary_media_type_id INTEGER")
    static let storefront = FeedTable(
        .itunes, "storefront", key: "storefront_id",
        "storefront_id INTEGER, country_code VARCHAR(10), name VARCHAR(200)")
    static let deviceType = named("device_type")
    static let mediaType = named("media_type")
    static let collectionType = named("collection_type")
    static let parentalAdvisory = named("parental_advisory")
    static let role = named("role")

    private static func named(_ name: String) -> FeedTable {
        FeedTable(.itunes, name, key: "\(name)_id", "\(name)_id INTEGER, name VARCHAR(200)")
    }

    // MARK: Ranks

    /// The ranks of apps that cost nothing, or something, on phones and computers or on tablets.
    static let freeApps = ranks("free_application_popularity_per_genre", "application")
    static let paidApps = ranks("paid_application_popularity_per_genre", "application")
    static let freeTabletApps = ranks("free_ipad_application_popularity_per_genre", "application")
    static let paidTabletApps = ranks("paid_ipad_application_popularity_per_genre", "application")
    /// The ranks of all apps, which version 3 has.
    static let allApps = ranks("application_popularity_per_genre", "application")
    static let songRanks = ranks("song_popularity_per_genre", "song")
    static let albumRanks = ranks("album_popularity_per_genre", "album")

    private static func ranks(_ name: String, _ item: String) -> FeedTable {
        FeedTable(
            .popularity, name, key: "storefront_id genre_id \(item)_id",
            "storefront_id INTEGER, genre_id INTEGER, \(item)_id BIGINT, \(item)_rank INTEGER")
    }

    /// The tables of the versions 4 and 5, in the order of their names.
    public static let all: [FeedTable] = [
        albumRanks, application, applicationDetail, applicationDeviceType, applicationPrice, artist, artistApplication,
        artistCollection, artistSong, artistType, artistVideo, collection, collectionPrice, collectionSong,
        collectionType, collectionVideo, deviceType, freeApps, freeTabletApps, genre, genreApplication, genreArtist,
        genreCollection, genreVideo, mediaType, paidApps, paidTabletApps, parentalAdvisory, role, song, songPrice,
        songRanks, storefront, video, videoPrice,
    ].sorted { $0.name < $1.name }

    /// The tables of version 3.
    public static let version3: [FeedTable] =
        (all.filter {
            ![freeApps, paidApps, freeTabletApps, paidTabletApps].contains($0)
        } + [allApps]).sorted { $0.name < $1.name }
}
