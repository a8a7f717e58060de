import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import ServerSupport
import Store
import TestSupport
import Testing

@testable import HTTPSupport
@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct StorefrontTests {
    static let items = """

        items:
          - number: 1000
            kind: book
            creator: {number: 900, name: Ann Author}
            genres: [{number: 38, name: Books}]
            texts: [{locale: en_US, name: The Example}]
            releaseDate: "2020-01-01"
            displayPrice: 4.99
        """

    private struct Answer {
        var status: UInt
        var headers: HTTPHeaders
        var body: String
    }

    private func answer(
        _ url: String, _ method: HTTPMethod = .GET, form: String? = nil, headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        if let form {
            request.body = .bytes(ByteBuffer(string: form))
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        return Answer(status: response.status.code, headers: response.headers, body: String(buffer: body))
    }

    private func with(
        _ change: @escaping (inout StoreServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningServer) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url, change, body)
        }
    }

    /// `Connection: keep-alive`, which changes nothing else, sends a request to the router.
    @Test func lookupsAreAnsweredTheSameBothWays() async throws {
        try await with { server in
            let store = server.addresses.storefront
            let answers = DirectStorefrontAnswers(finder: server.application.finder)
            func fields(_ answer: Answer) -> [String] {
                answer.headers.map { $0.name.lowercased() == "date" ? "date" : "\($0.name.lowercased()): \($0.value)" }
                    .sorted()
            }
            for (query, status, results) in [
                ("id=1000", 200, 1), ("id=1000%2C1000&country=de&x=1", 200, 1), ("id=1000&callback=f", 200, 1),
                ("id=900&entity=ebook", 200, 2), ("bundleId=com.example.none", 200, 0), ("id=1", 200, 0), ("", 200, 0),
                ("id=x", 400, nil), ("id=1000&country=zz", 400, nil), ("id=\(UInt64.max)", 400, nil),
            ] as [(String, UInt, Int?)] {
                let id = [("X-Request-Id", "one")]
                let direct = try await answer("\(store)/lookup?\(query)", headers: HTTPHeaders(id))
                let routed = try await answer(
                    "\(store)/lookup?\(query)", headers: HTTPHeaders(id + [("Connection", "keep-alive")]))
                #expect(direct.status == status && routed.status == status, "\(query)")
                #expect(fields(direct) == fields(routed), "\(query)")
                #expect(direct.body == routed.body, "\(query)")
                if let results { #expect(direct.body.contains("\"resultCount\":\(results),"), "\(query)") }
                guard case .answer(let answer) = try Self.direct(answers, "/lookup?\(query)") else {
                    #expect(status == 400, "\(query)")
                    continue
                }
                #expect(String(buffer: answer.body) == routed.body, "\(query)")
            }
            for (method, path) in [
                (.POST, "/lookup?id=1000"), (.GET, "/lookup?id=1000#x"), (.GET, "/lookup"), (.GET, "/lookups?id=1000"),
                (.GET, "/us/lookup?id=1000"),
            ] as [(HTTPMethod, String)] {
                #expect(try answers.bodyLimit(of: Self.request(path, method)) == nil, "\(path)")
            }
        }
    }

    private static func request(_ path: String, _ method: HTTPMethod = .GET) throws -> DirectRequest {
        try #require(
            DirectRequest(HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: ["Host": "localhost"]))
        )
    }

    private static func direct(_ answers: DirectStorefrontAnswers, _ path: String) throws -> DirectOutcome {
        let request = try request(path)
        #expect(answers.bodyLimit(of: request) == 0)
        return answers.answer(
            request, body: ByteBuffer(), from: nil, on: MultiThreadedEventLoopGroup.singleton.next())
    }

    @Test func searchAndLookupAnswerAsApplesDo() async throws {
        try await with { server in
            let store = server.addresses.storefront
            for path in [
                "/lookup?id=1000", "/us/lookup?id=1000", "/search?term=example&entity=ebook",
                "/GB/search?term=example&entity=ebook",
            ] {
                let response = try await answer(store + path)
                #expect(response.status == 200)
                #expect(
                    response.body.hasPrefix("\n\n\n{\n \"resultCount\":1,\n")
                        && response.body.contains("\"trackId\":1000"), "\(path)")
                #expect(response.body.contains("\"trackViewUrl\":\"\(store)/"), "\(response.body)")
                #expect(response.headers.first(name: "Content-Type") == "text/javascript; charset=utf-8")
                #expect(response.headers.first(name: "Content-Disposition") == "attachment; filename=1.txt")
                #expect(response.headers.first(name: "Vary") == "Accept-Encoding")
            }
            #expect(
                try await answer("\(store)/search?country=us", .POST, form: "term=example&entity=ebook").body.contains(
                    "1000"))
            #expect(try await answer("\(store)/lookup/bundleId=x").body.contains("\"resultCount\":0"))
            let response = try await answer("\(store)/zz/lookup?id=1000")
            #expect(response.status == 400 && response.body.contains("[country]"))
            #expect(
                try await answer("\(store)/search?term=\(String(repeating: "x", count: 10_000))").status == 200)
        }
    }

    @Test func aboveTheRateTheAnswerIsEmpty() async throws {
        try await with {
            $0.searchRate = TokenRate(burst: 2, perSecond: 0.001)
        } _: { server in
            let url = "\(server.addresses.storefront)/lookup?id=1000"
            for _ in 1...2 { #expect(try await answer(url).status == 200) }
            let response = try await answer(url)
            #expect(response.status == 403 && response.body.isEmpty)
            #expect(response.headers.first(name: "Content-Length") == "0")
            #expect(response.headers.first(name: "Cache-Control") == "max-age=0, no-cache, no-store")
            #expect(response.headers.first(name: "Access-Control-Allow-Origin") == "*")
            #expect(response.headers.first(name: "Retry-After") == nil)
        }
    }

    @Test func aChangedCatalogIsFoundAndLinksHaveTheGivenBase() async throws {
        try await with {
            $0.storefrontURL = "https://books.example"
        } _: { server in
            let url = "\(server.addresses.storefront)/lookup?id=1000"
            #expect(try await answer(url).body.contains("\"https://books.example/us/book/the-example/id1000?uo=4\""))
            let file = server.application.configuration.catalogFiles[0].path
            let text = RunningServer.catalogText + Self.items.replacing("The Example", with: "Another Example")
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            var reload = server.application.catalogReload
            await reload.look()
            #expect(try await answer(url).body.contains("\"trackName\":\"Another Example\""))
        }
    }
}
