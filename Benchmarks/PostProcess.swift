import CornerstoreHTTPClient
import Foundation

/// Posts a body without end, with the HTTP client that sends notifications: this program with other arguments, in a
/// process of its own so that it can have the store's core.
enum PostProcess {
    static let subcommand = "post"
    /// As many as the store sends of one app at the same time.
    private static let places = 8

    /// The arguments of a run: the URL, and the file with the body. It ends with standard input.
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 2 else {
            throw BenchmarkError("the client that posts needs a URL and a file as arguments")
        }
        let (url, body) = (arguments[0], try Data(contentsOf: URL(filePath: arguments[1])))
        BareServer.endWithStandardInput()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<places {
                group.addTask { while true { try await post(body, to: url) } }
            }
            try await group.waitForAll()
        }
    }

    /// Posts as the store does, on a connection of its own.
    private static func post(_ body: Data, to url: String) async throws {
        let limit = Duration.seconds(15)
        var request = HTTPRequest(
            "POST", url, limits: HTTPLimits(connect: .seconds(5), silence: limit, head: limit, whole: limit))
        request.add("Content-Type", "application/json")
        request.add("User-Agent", "cornerstore")
        request.add("Connection", "close")
        request.body = body
        let response = try await HTTPClient.shared.send(request)
        while try await response.next() != nil {}
        guard response.status == 200 else { throw BenchmarkError("the receiver answered \(response.status)") }
    }
}
