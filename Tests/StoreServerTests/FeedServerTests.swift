import Crypto
import Database
import Foundation
import ServerSupport
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("The partner feed over HTTP", .timeLimit(.minutes(1)))
struct FeedServerTests {
    private static let head = """

        items:
        """

    private static func book(_ number: Int, _ name: String, price: String = "4.99") -> String {
        """

          - number: \(number)
            kind: film
            creator: {number: 900, name: Ann Director}
            genres: [{number: 33, name: Movies}]
            texts: [{locale: en_US, name: \(name)}]
            releaseDate: "2020-01-01"
            displayPrice: \(price)
        """
    }

    private static func write(_ folder: URL, _ items: String) throws {
        try Data((RunningServer.catalogText + head + items).utf8).write(
            to: folder.appendingPathComponent("catalog.yaml"))
    }

    /// Runs a server with items, and a feed of 7 January 2026 unless the test builds one.
    private func with(
        _ backend: Backend = .sqlite, buildsFeed: Bool = true, clock: MachineClock? = nil,
        _ change: @escaping @Sendable (inout StoreServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningServer, URL) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try Self.write(directory.url, Self.book(4_000, "The Example") + Self.book(4_001, "Another"))
            try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
                try await RunningServer.with(
                    directory.url, clock: clock,
                    { configuration in
                        (configuration.databaseURL, configuration.schemaPrefix) = (url, prefix)
                        change(&configuration)
                    }
                ) { server in
                    if buildsFeed { try await Self.build(server, #"{"mode": "full", "day": "2026-01-07"}"#) }
                    try await body(server, directory.url)
                }
            }
        }
    }

    /// Builds a feed through the control port.
    private static func build(_ server: RunningServer, _ order: String) async throws {
        let begun = try await server.control("POST", "/control/v1/feeds", order)
        #expect(begun.status == 202, "\(begun.text)")
        var state = begun.json
        while state["isBuilding"] as? Bool == true {
            state = try await server.control("GET", "/control/v1/feeds").json
        }
        #expect(state["failure"] == nil, "\(state)")
    }

    private static func partner(_ server: RunningServer, _ name: String = "example") async throws -> Partner {
        let added = try await server.control("POST", "/control/v1/partners", #"{"name": "\#(name)"}"#)
        let password = try #require(added.json["password"] as? String)
        #expect(added.status == 200 && password.count == 32)
        return Partner(server: server, credentials: "\(name):\(password)")
    }

    /// A partner's program.
    private struct Partner: Sendable {
        let server: RunningServer
        let credentials: String

        func send(_ method: String, _ path: String, _ headers: [(String, String)] = []) async throws
            -> RunningServer.Reply
        {
            let basic = Data(credentials.utf8).base64EncodedString()
            return try await server.send(
                method, server.addresses.storefront + path, headers: [("Authorization", "Basic \(basic)")] + headers)
        }

        /// The links of an index page, without those that sort it.
        func links(_ path: String) async throws -> [String] {
            let page = try await send("GET", path)
            #expect(page.status == 200, "\(path)")
            return page.text.matches(of: /<tr><td valign="top"><img [^>]*><\/td><td><a href="([^"]+)">/).map {
                String($0.1)
            }
        }

        /// Downloads a file as downloaders do: asks for its length, then for all or for its thirds, and compares the
        /// MD5.
        func download(_ path: String, inThirds: Bool) async throws -> [UInt8] {
            let head = try await send("HEAD", path)
            let length = try #require(head.headers.first(name: "content-length").flatMap { Int($0) })
            let tag = try #require(head.headers.first(name: "etag"))
            #expect(head.status == 200 && head.headers.first(name: "accept-ranges") == "bytes" && head.body.isEmpty)
            var bytes: [UInt8] = []
            while bytes.count < length {
                let (first, last) = (bytes.count, bytes.count + (inThirds ? length / 3 : length))
                let part = try await send("GET", path, [("Range", "bytes=\(first)-\(last)"), ("If-Range", tag)])
                try #require(part.status == 206 && part.headers.first(name: "etag") == tag)
                #expect(
                    part.headers.first(name: "content-range") == "bytes \(first)-\(min(last, length - 1))/\(length)")
                bytes += part.body
            }
            let sum = Insecure.MD5.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
            let name = path.split(separator: "/").last ?? ""
            #expect(try await send("GET", path + ".md5").text == "MD5 (\(name)) = \(sum)\n" && tag == "\"\(sum)\"")
            return bytes
        }

        /// Finds 35 tables in a folder through its index pages, and downloads these, the first one in thirds.
        func tables(_ names: Set<String>, in path: String) async throws -> [FeedReader] {
            let found = try await files(path)
            #expect(found.count == 35)
            var archives: [[UInt8]] = []
            for file in found where names.contains(file.split(separator: "/").last.map(String.init) ?? "") {
                archives.append(try await download(file, inThirds: archives.isEmpty))
            }
            #expect(archives.count == names.count)
            return try FeedReader.entries(ofArchives: archives).map {
                try FeedReader(name: $0.name, relational: $0.bytes)
            }
        }

        private func files(_ path: String) async throws -> [String] {
            var files: [String] = []
            for link in try await links(path) where link != "incremental/" {
                if link.hasSuffix("/") {
                    files += try await self.files(path + link)
                } else if link.hasSuffix(".tbz") {
                    files.append(path + link)
                }
            }
            return files
        }
    }

    @Test(arguments: Backend.available)
    func aPartnerFollowsTheCatalog(_ backend: Backend) async throws {
        try await with(backend) { server, folder in
            let partner = try await Self.partner(server)
            try await backend.withDatabase { database, _ in
                /// What the partner's tables say, in the order of the numbers.
                func found() async throws -> [[String]] {
                    try await database.read { connection in
                        try connection.query(
                            """
                            SELECT v.video_id, v.name, a.name, p.retail_price FROM epf_video v
                            JOIN epf_artist_video r ON r.video_id = v.video_id
                            JOIN epf_artist a ON a.artist_id = r.artist_id
                            JOIN epf_video_price p ON p.video_id = v.video_id
                            WHERE p.storefront_id = 143441 ORDER BY v.video_id
                            """, []
                        ).map { [String(try $0.int64(0)), try $0.string(1), try $0.string(2), try $0.string(3)] }
                    }
                }
                func load(_ path: String) async throws {
                    // All of them would be 300 requests more.
                    let tables = try await partner.tables(
                        ["video.tbz", "artist.tbz", "artist_video.tbz", "video_price.tbz"], in: path)
                    try await database.write { connection in for table in tables { try table.load(connection) } }
                }
                try await load("/feeds/epf/v5/current/")
                #expect(
                    try await found() == [
                        ["4000", "The Example", "Ann Director", "4.99"], ["4001", "Another", "Ann Director", "4.99"],
                    ])
                #expect(try await partner.send("GET", "/feeds/epf/v5/current/incremental/current/").status == 404)

                try Self.write(folder, Self.book(4_000, "The Example", price: "5.99") + Self.book(4_002, "A third"))
                var reload = server.application.catalogReload
                await reload.look()
                try await Self.build(server, #"{"mode": "incremental", "day": "2026-01-08"}"#)
                try await load("/feeds/epf/v5/current/incremental/current/")
                #expect(
                    try await found() == [
                        ["4000", "The Example", "Ann Director", "5.99"], ["4001", "Another", "Ann Director", "4.99"],
                        ["4002", "A third", "Ann Director", "4.99"],
                    ])
                // The links lead to the items.
                let link = try await database.read {
                    try $0.queryOne("SELECT view_url FROM epf_video WHERE video_id = 4002", [])?.string(0) ?? ""
                }
                let page = try await server.send("GET", link)
                #expect(page.status == 200 && page.text.contains("A third"))
                // The next full feed drops what left the catalog.
                try await Self.build(server, #"{"mode": "full", "day": "2026-01-14"}"#)
                try await load("/feeds/epf/v5/current/")
                #expect(try await found().map { $0[0] } == ["4000", "4002"])
            }
        }
    }

    @Test func filesTakeRangesAndConditions() async throws {
        try await with { server, _ in
            let partner = try await Self.partner(server)
            let path = "/feeds/epf/v3/full/current/pricing20260107.tbz"
            let whole = try await partner.send("GET", path)
            let tag = try #require(whole.headers.first(name: "etag"))
            #expect(whole.status == 200 && whole.body.starts(with: "BZh9".utf8))
            let end = try await partner.send("GET", path, [("Range", "bytes=-3")])
            #expect(end.status == 206 && end.body == whole.body.suffix(3))
            let beyond = try await partner.send("GET", path, [("Range", "bytes=\(whole.body.count)-")])
            #expect(
                beyond.status == 416 && beyond.headers.first(name: "content-range") == "bytes */\(whole.body.count)")
            #expect(try await partner.send("GET", path, [("If-None-Match", tag)]).status == 304)
            let other = try await partner.send("GET", path, [("Range", "bytes=0-1"), ("If-Range", "\"other\"")])
            #expect(other.status == 200 && other.body == whole.body)
            // The same bytes under another path have the same tag, so a download continues there.
            let dated = try await partner.send("HEAD", "/feeds/epf/v3/full/20260107/pricing20260107.tbz")
            #expect(dated.headers.first(name: "etag") == tag)
        }
    }

    @Test func foldersHaveApachesPages() async throws {
        try await with { server, _ in
            let partner = try await Self.partner(server)
            #expect(try await partner.links("/feeds/epf/") == ["v3/", "v4/", "v5/"])
            #expect(
                try await partner.links("/feeds/epf/v3/full/current/") == [
                    "itunes20260107.tbz", "itunes20260107.tbz.md5", "popularity20260107.tbz",
                    "popularity20260107.tbz.md5", "pricing20260107.tbz", "pricing20260107.tbz.md5",
                ])
            try await Self.build(server, #"{"mode": "incremental", "day": "2026-01-08"}"#)
            #expect(
                try await partner.links("/feeds/epf/v5/current/") == [
                    "incremental/", "itunes20260107/", "popularity20260107/", "pricing20260107/",
                ])
            let page = try await partner.send("GET", "/feeds/epf/v3/full/current/")
            #expect(page.text.contains(#"<th><a href="?C=N;O=D">Name</a></th>"#) && !page.text.contains("Parent"))
            #expect(page.text.contains(#"<a href="popularity20260107.tbz">popularity20260107.tbz</a>"#))
            #expect(page.text.contains(#"<a href="popularity20260107.tbz.md5">popularity20260107.tb..&gt;</a>"#))
            let head = try await partner.send("HEAD", "/feeds/epf/v3/full/current/")
            #expect(head.headers.first(name: "content-length") == String(page.body.count) && head.body.isEmpty)
            #expect(try await partner.links("/feeds/epf/v3/full/current/?C=S;O=A").count == 7)
            #expect(try await partner.links("/feeds/epf-flat/v1/full/usa/").count == 14)
        }
    }

    @Test func pathsOutsideTheFeedAreNotThere() async throws {
        try await with { server, _ in
            let partner = try await Self.partner(server)
            let build = try #require(server.application.feeds.builds.first)
            for path in [
                "/feeds/epf/../../../data/authority", "/feeds/epf/%2e%2e/%2e%2e/databases/apps.sqlite",
                "/feeds/epf/v5/current/..%2f..%2ffeed.json", "/feeds/\(build.day)/feed.json", "/feeds/epf//v5/current/",
                "/feeds/epf/v5/current/itunes20260107/application.tbz/", "/feeds/epf/v5/current/itunes20260107/digests",
                "/feeds/epf/v9/", "/feeds/epf/v5/current/itunes20260107/application.tbz%00",
                "/feeds/epf/v5/current/" + String(repeating: "a/", count: 500),
            ] {
                let answer = try await partner.send("GET", path)
                #expect(answer.status == 404, "\(path)")
                #expect(!answer.text.contains(server.directory.path))
            }
            // Raw, as no client library would send it.
            let raw = try RawConnection(port: server.port(server.addresses.storefront))
            _ = raw.write(
                "GET /feeds/../data/addresses.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Basic "
                    + "\(Data(partner.credentials.utf8).base64EncodedString())\r\n\r\n")
            #expect(raw.read().hasPrefix("HTTP/1.1 404"))
        }
    }

    @Test func onlyPartnersAreAnswered() async throws {
        try await with { server, _ in
            let store = server.addresses.storefront
            let partner = try await Self.partner(server)
            func status(_ authorization: String?, _ path: String = "/feeds/epf/") async throws -> Int {
                let answer = try await server.send(
                    "GET", store + path, headers: authorization.map { [("Authorization", $0)] } ?? [])
                if answer.status == 401 {
                    #expect(answer.headers.first(name: "www-authenticate")?.hasPrefix("Basic realm=") == true)
                }
                return answer.status
            }
            func basic(_ text: String) -> String { "Basic \(Data(text.utf8).base64EncodedString())" }
            for authorization in [
                nil, "", "Basic", "Basic ", "Basic %%%", basic("example"), basic("example:"), basic("example:wrong"),
                basic("nobody:x"), basic(":"), basic(partner.credentials + "0"),
                basic("EXAMPLE" + partner.credentials.dropFirst(7)),
                "Bearer \(partner.credentials)", basic("example:" + String(repeating: "x", count: 1_600)),
                "Basic " + String(repeating: "A", count: 4_000),
            ] {
                #expect(try await status(authorization) == 401, "\(authorization ?? "nil")")
            }
            // A path that does not exist tells nothing to strangers.
            #expect(try await status(nil, "/feeds/epf/v9/") == 401)
            #expect(try await status(basic(partner.credentials)) == 200)
            #expect(try await status("bAsIc " + basic(partner.credentials).dropFirst(6)) == 200)
            #expect(try await server.control("DELETE", "/control/v1/partners/example").status == 204)
            // A password that was remembered is forgotten at once.
            #expect(try await status(basic(partner.credentials)) == 401)
            #expect(try await server.control("DELETE", "/control/v1/partners/example").status == 404)
        }
    }

    @Test func wrongPasswordsAreHeldBack() async throws {
        let change: @Sendable (inout StoreServerConfiguration) -> Void = {
            $0.signInRates = SignInLimits.Rates(
                address: TokenRate(burst: 100, perSecond: 1), account: TokenRate(burst: 3, perSecond: 0.001))
        }
        try await with(buildsFeed: false, change) { server, _ in
            let partner = try await Self.partner(server)
            let other = try await Self.partner(server, "other")
            let wrong = Partner(server: server, credentials: "example:wrong")
            // A right password does not count, however often it is used.
            for _ in 0..<6 { #expect(try await partner.send("GET", "/feeds/epf/").status == 200) }
            for _ in 0..<3 { #expect(try await wrong.send("GET", "/feeds/epf/").status == 401) }
            let refused = try await wrong.send("GET", "/feeds/epf/")
            #expect(refused.status == 429 && refused.headers.first(name: "retry-after") != nil)
            // A partner who signed in recently is not held back, and neither are other partners.
            #expect(try await partner.send("GET", "/feeds/epf/").status == 200)
            #expect(try await other.send("GET", "/feeds/epf/").status == 200)
        }
    }

    @Test func badOrdersAreRefused() async throws {
        try await with(buildsFeed: false) { server, _ in
            for (body, status) in [
                (#"{"mode": "half"}"#, 400), (#"{"day": "2026-02-30"}"#, 400), (#"{"day": "1999-01-01"}"#, 400),
                ("[]", 400), (#"{"mode": "incremental"}"#, 409),
            ] {
                #expect(try await server.control("POST", "/control/v1/feeds", body).status == status, "\(body)")
            }
            for name in ["", "a:b", "a b", "é", String(repeating: "a", count: 65)] {
                let body = String(decoding: try JSONEncoder().encode(["name": name]), as: UTF8.self)
                #expect(try await server.control("POST", "/control/v1/partners", body).status == 400, "\(name)")
            }
            _ = try await Self.partner(server)
            #expect(try await server.control("POST", "/control/v1/partners", #"{"name": "example"}"#).status == 400)
            let list = try await server.control("GET", "/control/v1/partners")
            #expect(list.text.contains(#""name":"example""#) && !list.text.contains("password"))
        }
    }

    @Test func theScheduleFollowsTheStoresClock() async throws {
        let change: @Sendable (inout StoreServerConfiguration) -> Void = { $0.feed.isScheduled = true }
        // No new day begins meanwhile.
        try await with(buildsFeed: false, clock: MachineClock(), change) { server, _ in
            /// Waits for the schedule, which looks at the clock once a second.
            func wait(_ count: Int) async throws {
                while server.application.feeds.builds.count < count {
                    _ = try await server.control("GET", "/control/v1/feeds")
                }
            }
            try await wait(1)
            #expect(server.application.feeds.builds.map(\.mode) == [.full])
            #expect(
                try await server.control("PUT", "/control/v1/production/clock", #"{"advance": 86400000}"#).status == 200
            )
            try await wait(2)
            #expect(server.application.feeds.builds.last?.day.days == server.application.feeds.today.days)
        }
    }
}
