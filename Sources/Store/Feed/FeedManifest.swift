import Foundation

/// The manifest of a feed, `feed.json` in its folder. It is the last file of a build.
struct FeedManifest: Codable, Sendable, Equatable {
    /// A file that partners download.
    struct File: Codable, Sendable, Equatable {
        /// The path in the feed's folder, such as `v5/itunes20260107/application.tbz`.
        var path: String
        /// The length in bytes.
        var length: Int64
        /// The entity tag, without quotation marks: an archive's MD5, with `-md5` appended for its checksum file.
        var tag: String
    }

    /// The version of this format and of the files beside it.
    var version = Self.currentVersion
    var mode: FeedMode
    /// The feed's day, in days since 1970.
    var day: Int
    /// The folder of the full feed that this incremental feed is based on; nil for a full feed.
    var base: String?
    /// The storefront's base URL in the links.
    var storefront: String
    /// The number of items.
    var items: Int
    /// The number of prices left out, because `DECIMAL(9,3)` cannot hold them.
    var pricesLeftOut: Int
    var files: [File]

    static let currentVersion = 1
    static let fileName = "feed.json"
    static let digestsName = "digests"

    var feedDay: FeedDay { FeedDay(days: day) }
}

/// A feed that is complete.
public struct FeedBuild: Sendable, Equatable {
    /// The name of its folder.
    var name: String
    var manifest: FeedManifest

    /// Whether the feed is full or incremental.
    public var mode: FeedMode { manifest.mode }
    /// The day.
    public var day: FeedDay { manifest.feedDay }
    /// The number of items.
    public var items: Int { manifest.items }
    /// The number of prices that are not in the feed, because `DECIMAL(9,3)` holds no price of a million or more.
    public var pricesLeftOut: Int { manifest.pricesLeftOut }
    /// The number of archives. Each has a checksum file (`.md5`) beside it.
    public var archives: Int { manifest.files.count / 2 }
    /// The bytes of all files.
    public var bytes: Int64 { manifest.files.reduce(0) { $0 + $1.length } }
}
