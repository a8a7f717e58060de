import Foundation

/// An item of the store, as the search API describes it.
public struct FoundItem: Sendable, Equatable {
    /// The number that a product page needs.
    public var number: Int64
    /// The item's name.
    public var name: String
    /// The developer, artist or director.
    public var creator: String
    /// The link to the item's page.
    public var link: String
    /// The average of the ratings, from 1 to 5; nil when there are none, or the search API does not give them.
    public var stars: Double?
    /// The number of ratings.
    public var ratings: Int?
}

extension FoundItem: Decodable {
    // Apps, songs, films and books are "tracks" to the search API.
    private enum CodingKeys: String, CodingKey {
        case number = "trackId"
        case name = "trackName"
        case creator = "artistName"
        case link = "trackViewUrl"
        case stars = "averageUserRating"
        case ratings = "userRatingCount"
    }
}

extension FoundItem: CustomStringConvertible {
    /// The line that the app shows.
    public var description: String {
        let rating = stars.flatMap { stars in ratings.map { "  \(stars) of 5 stars (\($0))" } }
        return "\(number)  \(name), by \(creator)" + ((ratings ?? 0) > 0 ? rating ?? "" : "")
    }
}
