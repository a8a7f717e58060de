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
    /// The average of the ratings, from 1 to 5. Without ratings it is 0 for an app, and nil for another item.
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
    public var description: String { "\(number)  \(name), by \(creator)" + (rating.map { "  \($0)" } ?? "") }

    /// The average and the number of the ratings, such as "4.0 of 5 stars (1)"; nil without ratings.
    public var rating: String? {
        guard let stars, let ratings, ratings > 0 else { return nil }
        return "\(stars) of 5 stars (\(ratings))"
    }
}
