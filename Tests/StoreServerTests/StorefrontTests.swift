import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ServerSupport
import Store
import TestSupport
import Testing

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

    private func answer(_ url: String, _ method: HTTPMethod = .GET, form: String? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
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
            // The pages run the same search. Without a term, they list what is new.
            for (path, status) in [("/find?term=x", 403), ("/us/find?term=x", 403), ("/us/find", 200), ("/", 200)] {
                let page = try await answer(server.addresses.storefront + path)
                #expect(page.status == status && page.headers.first(name: "Retry-After") == nil, "\(path)")
                #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8", "\(path)")
            }
            // They do not fill the operator's list of refused requests.
            let log = try await server.control("GET", "/control/v1/requests")
            #expect(log.status == 200 && !log.text.contains("find"), "\(log.text)")
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
