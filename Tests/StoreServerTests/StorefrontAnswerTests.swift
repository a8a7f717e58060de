import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// What all answers of the storefront's port have in common, whatever they are about.
@Suite("Answers of the storefront", .timeLimit(.minutes(1)))
struct StorefrontAnswerTests {
    private struct Answer {
        var status: UInt
        var headers: HTTPHeaders
        var bytes: [UInt8]
        var text: String { String(decoding: bytes, as: UTF8.self) }

        func field(_ name: String) -> String? { headers.first(name: name) }
    }

    private static func answer(
        _ url: String, _ method: HTTPMethod = .GET, accept: String? = nil, encoding: String? = nil,
        by client: HTTPClient = .shared
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        if let accept { request.headers.add(name: "Accept", value: accept) }
        if let encoding { request.headers.add(name: "Accept-Encoding", value: encoding) }
        let response = try await client.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        return Answer(status: response.status.code, headers: response.headers, bytes: Array(body.readableBytesView))
    }

    private func with(_ body: @escaping @Sendable (RunningServer) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + StorefrontPageTests.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url) { try await body($0) }
        }
    }

    @Test func textsAreCompressedForClientsThatAcceptIt() async throws {
        var configuration = HTTPClient.Configuration()
        configuration.decompression = .disabled
        let raw = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        configuration.decompression = .enabled(limit: .ratio(100))
        let reader = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        try await with { server in
            let store = server.addresses.storefront
            let page = try await Self.answer(store + "/us", by: raw).text
            let style = try #require(page.firstMatch(of: /href="(\/assets\/[^"]+)"/)?.1)
            for path in [
                "/lookup?id=1000", "/us/search?term=branch", "/us", "/us/app/id1000", "/us/app/id5", "/find?term=x",
                String(style),
            ] {
                let plain = try await Self.answer(store + path, by: raw)
                #expect(plain.field("Content-Encoding") == nil && plain.field("Vary") == "Accept-Encoding", "\(path)")
                #expect(plain.field("Content-Length") == String(plain.bytes.count), "\(path)")
                let packed = try await Self.answer(store + path, encoding: "gzip, deflate", by: raw)
                #expect(packed.field("Content-Encoding") == "gzip" && packed.field("Vary") == "Accept-Encoding")
                #expect(packed.field("Content-Length") == String(packed.bytes.count), "\(path)")
                #expect(packed.bytes.starts(with: [0x1F, 0x8B]) && packed.bytes.count < plain.bytes.count, "\(path)")
                let read = try await Self.answer(store + path, encoding: "gzip", by: reader)
                #expect(read.bytes == plain.bytes && read.status == plain.status, "\(path)")
                for encoding in ["deflate", "identity", "gzip;q=0"] {
                    #expect(try await Self.answer(store + path, encoding: encoding, by: raw).bytes == plain.bytes)
                }
            }
            // Pictures are compressed already, and a visit's page has a secret beside other people's words.
            let token = try await server.signIn().token
            let visit = try await server.device(.openVisit, token: token, body: VisitRequest(item: 1000))
                .decoded(VisitDescription.self)
            for url in [store + "/image/thumb/1000/artwork-0-00000000/100x100bb.png", visit.url] {
                let answer = try await Self.answer(url, encoding: "gzip", by: raw)
                #expect(answer.status == 200 && answer.field("Content-Encoding") == nil, "\(url)")
            }
        }
        try await raw.shutdown()
        try await reader.shutdown()
    }

    @Test func headAnswersWithTheFieldsOfGet() async throws {
        // A client that decompresses expects a body.
        var configuration = HTTPClient.Configuration()
        configuration.decompression = .disabled
        let raw = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        try await with { server in
            let store = server.addresses.storefront
            for path in [
                "/", "/us", "/us/app/id1000", "/us/app/id5", "/find?term=x", "/lookup?id=1000", "/visit/0",
                "/image/thumb/5/x/y",
            ] {
                let get = try await Self.answer(store + path, accept: "text/html", encoding: "gzip", by: raw)
                let head = try await Self.answer(
                    store + path, .HEAD, accept: "text/html", encoding: "gzip", by: raw)
                #expect(head.status == get.status && head.bytes.isEmpty, "\(path)")
                for name in [
                    "Content-Type", "Content-Length", "Content-Encoding", "Cache-Control", "Content-Security-Policy",
                ] {
                    #expect(head.field(name) == get.field(name), "\(path) \(name)")
                }
            }
        }
        try await raw.shutdown()
    }

    @Test func aBrowserGetsAPageAboutAnyProblem() async throws {
        try await with { server in
            let store = server.addresses.storefront
            let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
            for path in [
                "/image/x", "/image/thumb/5/artwork-0-00000000/100x100bb.jpg", "/preview/1000/x.wav", "/preview/a/b/c",
                "/visit/", "/visit/a/b/c", "/visit/a/review", "/assets/style-0.css",
            ] {
                let page = try await Self.answer(store + path, accept: browser)
                #expect(page.status == 404 && page.text.contains("<h1>Not found</h1>"), "\(path) \(page.text)")
                #expect(page.field("Content-Type") == "text/html; charset=utf-8", "\(path)")
                #expect(page.field("Content-Security-Policy")?.hasPrefix("default-src 'none'") == true, "\(path)")
            }
            let program = try await Self.answer(store + "/image/x", accept: "*/*")
            #expect(program.status == 404 && program.field("Content-Type") == "application/json")
            #expect(program.text.contains("\"code\":\"not_found\""))
        }
    }

    private static let hostileTerms = [
        "%00", "%FF%FE", "%22%20OR%20%22", "NEAR(a%20b)", "name:*", "((((((", "%27;--", "%E2%80%AE%F0%9F%90%92",
        "%E7%8C%BF%E6%9C%88", "%D9%82%D8%B1%D8%AF", "%3Cscript%3E", String(repeating: "a", count: 10_000),
        String(repeating: "%22", count: 2_000),
    ]

    @Test func hostileTermsFindNothingOnAPage() async throws {
        try await with { server in
            let store = server.addresses.storefront
            for term in Self.hostileTerms {
                for path in ["/find?term=\(term)", "/us/find?term=\(term)&offset=99999999999999999999"] {
                    let page = try await Self.answer(store + path)
                    #expect(page.status == 200 && page.text.contains("No item of this storefront"), "\(page.text)")
                    #expect(!page.text.contains("<script"))
                }
            }
        }
    }
}
