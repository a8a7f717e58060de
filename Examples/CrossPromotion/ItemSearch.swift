import AsyncHTTPClient
import Foundation

/// The store's search API, which finds items and their numbers. On Apple's systems its base is
/// `https://itunes.apple.com`, and `URLSession` sends the requests.
public struct ItemSearch: Sendable {
    /// An error that the app shows.
    public struct Failure: Error, Equatable {
        /// The message.
        public var text: String
    }

    private struct Answer: Decodable {
        /// An album or an artist has no `trackId`, and is left out.
        struct Result: Decodable {
            var item: FoundItem?
            init(from decoder: any Decoder) { item = try? FoundItem(from: decoder) }
        }
        var results: [Result]
    }

    /// A client that fails at once when no server listens. The default client tries again for ten seconds.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private let base: String

    /// Creates a search from the base URL of the storefront.
    public init(base: URL) {
        self.base = base.absoluteString.hasSuffix("/") ? String(base.absoluteString.dropLast()) : base.absoluteString
    }

    /// Finds items by words.
    /// - Parameter entity: The kind of item, such as `song` or `movie`; nil for all kinds.
    public func items(matching words: String, entity: String? = nil) async throws -> [FoundItem] {
        try await results("/search", ["term": words, "entity": entity, "limit": "10"])
    }

    /// Looks an item up by its number.
    public func item(_ number: Int64) async throws -> FoundItem {
        guard let item = try await results("/lookup", ["id": String(number)]).first else {
            throw Failure(text: "The store has no item \(number).")
        }
        return item
    }

    /// Reads the item's number out of a link to its page: the digits after `/id`. Nil when there are none.
    public static func number(inLink link: String) -> Int64? {
        link.firstMatch(of: /\/id(\d+)/).flatMap { Int64($0.1) }
    }

    private func results(_ path: String, _ parameters: [String: String?]) async throws -> [FoundItem] {
        var query = URLComponents()
        query.queryItems = parameters.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
        // A plus stands for a space in this API.
        let text = (query.percentEncodedQuery ?? "").replacing("+", with: "%2B")
        do {
            let response = try await Self.client.execute(
                HTTPClientRequest(url: "\(base)\(path)?\(text)"), timeout: .seconds(15))
            let body = try await response.body.collect(upTo: 1 << 20)
            guard response.status == .ok else { throw Failure(text: "The store answers \(response.status.code).") }
            return try JSONDecoder().decode(Answer.self, from: Data(body.readableBytesView)).results.compactMap(\.item)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(text: "The store cannot be searched right now. Try again later.")
        }
    }
}
