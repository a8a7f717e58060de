import Foundation
import NIOHTTP1
import Store
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct StorefrontPictureTests {
    private static let items = """

        items:
          - number: 1000
            kind: app
            bundleID: com.example.monkeys
            platforms: [iphone]
            creator: {number: 900, name: Example Games}
            genres: [{number: 6014, name: Games}]
            texts: [{locale: en_US, name: Monkeys}]
            versions: [{version: "1.0", releaseDate: "2026-01-01"}]
            artwork: icon.png
            screenshots: [{platform: iphone, picture: screen.jpg}]
          - number: 1001
            kind: song
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: First Branch}]
            releaseDate: "2026-01-01"
            preview: clip one.wav
            file: song.wav
        """

    /// 1,000 bytes that are all different from their neighbours.
    private static let clip = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    private func with(_ body: @escaping @Sendable (RunningServer, URL) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            func write(_ bytes: [UInt8], _ name: String) throws {
                try Data(bytes).write(to: directory.url.appendingPathComponent(name))
            }
            try write(DrawingTests.halves(400, 400, .png), "icon.png")
            try write(DrawingTests.halves(300, 600, .jpg), "screen.jpg")
            try write(Self.clip, "clip one.wav")
            try write(Array("RIFF secret".utf8), "song.wav")
            try write(Array((RunningServer.catalogText + Self.items).utf8), "catalog.yaml")
            let folder = directory.url
            try await RunningServer.with(folder) { try await body($0, folder) }
        }
    }

    private func item(_ number: Int64, _ server: RunningServer) throws -> CatalogItem {
        try #require(try server.application.items.value.item(number))
    }

    private func addresses(_ server: RunningServer) throws -> (artwork: String, screenshot: String) {
        let app = try item(1000, server)
        let screenshot = try #require(app.screenshotAddresses(.iPhone).first)
        return (
            "\(server.addresses.storefront)/image/thumb/1000/artwork-0-\(try #require(app.artwork).digest)/",
            "\(server.addresses.storefront)/image/thumb/1000/screenshot-0-\(screenshot.digest)/"
        )
    }

    @Test func picturesAreScaledToTheSizeInTheirAddress() async throws {
        try await with { server, _ in
            let (artwork, screenshot) = try addresses(server)
            for (url, width, height, type) in [
                (artwork + "100x100bb.jpg", 100, 100, "image/jpeg"), (artwork + "60x60bb.png", 60, 60, "image/png"),
                (artwork + "100000x100000bb.jpg", 400, 400, "image/jpeg"),
                (artwork + "100x100bb-10.jpg", 100, 100, "image/jpeg"),
                (screenshot + "268x0w.jpg", 268, 536, "image/jpeg"),
                (screenshot + "100x100bb.png", 50, 100, "image/png"),
            ] {
                let reply = try await server.send("GET", url)
                #expect(reply.status == 200, "\(url) \(reply.text)")
                let header = try PictureHeader(reply.body)
                #expect(header.width == width && header.height == height, "\(url)")
                #expect(header.isPNG == (type == "image/png"))
                #expect(reply.headers.first(name: "Content-Type") == type)
                #expect(reply.headers.first(name: "Cache-Control") == "public, max-age=31536000, immutable")
                #expect(reply.headers.first(name: "X-Content-Type-Options") == "nosniff")
                let tag = try #require(reply.headers.first(name: "ETag"))
                let again = try await server.send("GET", url, headers: [("If-None-Match", tag)])
                #expect(again.status == 304 && again.body.isEmpty && again.headers.first(name: "ETag") == tag)
                let head = try await server.send("HEAD", url)
                #expect(head.status == 200 && head.body.isEmpty)
                #expect(head.headers.first(name: "Content-Length") == "\(reply.body.count)")
            }
            let best = try await server.send("GET", artwork + "300x300bb-999.jpg")
            let least = try await server.send("GET", artwork + "300x300bb-1.jpg")
            #expect(least.body.count < best.body.count)
        }
    }

    @Test func anAddressOfAnotherFileIsNotForGood() async throws {
        try await with { server, folder in
            let url = "\(server.addresses.storefront)/image/thumb/1000/artwork-0-0badcafe/100x100bb.jpg"
            let reply = try await server.send("GET", url)
            #expect(reply.status == 200)
            #expect(reply.headers.first(name: "Cache-Control") == "public, max-age=60")
            // A file that has changed since the catalog was read gets no address of its own before the next reading.
            let icon = folder.appendingPathComponent("icon.png")
            try Data(DrawingTests.halves(200, 100, .png)).write(to: icon)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: icon.path)
            let changed = try await server.send("GET", try addresses(server).artwork + "50x50bb.jpg")
            let header = try PictureHeader(changed.body)
            #expect(header.width == 50 && header.height == 25)
            #expect(changed.headers.first(name: "Cache-Control") == "public, max-age=60")
        }
    }

    @Test func anItemWithoutArtworkHasASquareOfItsColour() async throws {
        try await with { server, _ in
            let address = try item(1001, server).anyArtworkAddress(100)
            let reply = try await server.send("GET", server.addresses.storefront + address.path)
            #expect(reply.status == 200)
            #expect(reply.headers.first(name: "Cache-Control") == "public, max-age=31536000, immutable")
            let png = try await server.send(
                "GET", "\(server.addresses.storefront)/image/thumb/1001/artwork-0-00000000/999999x20bb.png")
            let header = try PictureHeader(png.body)
            #expect(header.width == 20 && header.height == 20)
            #expect(try Drawing(decoding: png.body, header).pixel(7, 7) == ItemPictures.color(of: 1001))
            let large = try await server.send(
                "GET", "\(server.addresses.storefront)/image/thumb/1001/artwork-0-00000000/999999x0w.png")
            #expect(try PictureHeader(large.body).width == ItemPictures.largestPlaceholder)
            #expect(Set((1000...1007).map { ItemPictures.color(of: $0) }).count > 4)
        }
    }

    @Test func unknownPicturesAreNotFound() async throws {
        try await with { server, folder in
            let good = try addresses(server).artwork
            for path in [
                "/image/thumb/9999/artwork-0-00000000/100x100bb.jpg",
                "/image/thumb/1000/screenshot-1-00000000/100x100bb.jpg",
                "/image/thumb/1001/screenshot-0-00000000/100x100bb.jpg",
                "/image/thumb/1000/file-0-00000000/100x100bb.jpg", "/image/thumb/1000/artwork-0-00000000/0x0bb.jpg",
                "/image/thumb/1000/artwork-0-00000000/100x100bb.gif",
                "/image/thumb/99999999999999999999/artwork-0-00000000/100x100bb.jpg",
                "/image/thumb/1000/artwork-0-00000000/..%2F..%2Fsong.wav", "/image/thumb/", "/song.wav",
            ] {
                let reply = try await server.send("GET", server.addresses.storefront + path)
                #expect(reply.status == 404, "\(path)")
            }
            let icon = folder.appendingPathComponent("icon.png")
            var bomb = try DrawingTests.halves(4, 4, .png)
            bomb[18] = 0x4E
            // A picture of 20,000 pixels a side, no picture, a part of one, a folder, a link out, nothing.
            for bytes in [
                bomb, Array("not a picture".utf8), Array(try DrawingTests.halves(90, 9, .png).prefix(60)), [],
            ] {
                try Data(bytes).write(to: icon)
                #expect(try await server.send("GET", good + "90x90bb.jpg").status == 404, "\(bytes.count)")
                #expect(try await server.send("GET", good + "91x91bb.jpg").status == 404)
            }
            try FileManager.default.removeItem(at: icon)
            #expect(try await server.send("GET", good + "90x90bb.jpg").status == 404)
            try FileManager.default.createSymbolicLink(
                at: icon, withDestinationURL: folder.appendingPathComponent("screen.jpg"))
            #expect(try await server.send("GET", good + "90x90bb.jpg").status == 404)
            try FileManager.default.removeItem(at: icon)
            #expect(mkfifo(icon.path, 0o600) == 0)
            #expect(try await server.send("GET", good + "90x90bb.jpg").status == 404)
            #expect(try await server.send("GET", try addresses(server).screenshot + "90x90bb.jpg").status == 200)
        }
    }

    @Test func aDamagedFileIsDecodedOnce() async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appendingPathComponent("icon.png")
            try Data(DrawingTests.halves(90, 9, .png).prefix(60)).write(to: file)
            var item = CatalogItem(
                number: 1, kind: .book, creator: ItemCreator(number: 9, name: "Ann"),
                genres: [ItemGenre(number: 38, name: "Books")], texts: [ItemText(locale: "en", name: "A")],
                releaseDate: 0)
            item.artwork = ItemPicture(path: file.path, width: 90, height: 9, modified: 0)
            let (pictures, damaged) = (ItemPictures(), item)
            for size in 1...20 {
                let address = try #require(damaged.artworkAddress(size))
                await #expect(throws: ItemPictures.Unusable.self) {
                    try await pictures.picture(address, of: damaged)
                }
            }
            #expect(pictures.decoded == 1)
            let full = ItemPictures(mostWaiting: 0)
            await #expect(throws: StoreError.self) {
                try await full.picture(try #require(damaged.artworkAddress(5)), of: damaged)
            }
        }
    }

    @Test func aPreviewIsSentInRanges() async throws {
        try await with { server, folder in
            let path = try #require(ItemPreviewAddress.path(of: try item(1001, server)))
            #expect(path == "/preview/1001/clip%20one.wav")
            let url = server.addresses.storefront + path
            let whole = try await server.send("GET", url)
            #expect(whole.status == 200 && whole.body == Self.clip)
            #expect(whole.headers.first(name: "Content-Type") == "audio/wav")
            #expect(whole.headers.first(name: "Accept-Ranges") == "bytes")
            let tag = try #require(whole.headers.first(name: "ETag"))
            for (range, bytes) in [
                ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=990-", 990..<1_000),
                ("bytes=-5", 995..<1_000), ("bytes=999-5000", 999..<1_000),
            ] as [(String, Range<Int>)] {
                let part = try await server.send("GET", url, headers: [("Range", range)])
                #expect(part.status == 206 && part.body == Array(Self.clip[bytes]), "\(range)")
                #expect(
                    part.headers.first(name: "Content-Range")
                        == "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/1000")
            }
            let beyond = try await server.send("GET", url, headers: [("Range", "bytes=1000-")])
            #expect(beyond.status == 416 && beyond.headers.first(name: "Content-Range") == "bytes */1000")
            #expect(try await server.send("GET", url, headers: [("If-None-Match", tag)]).status == 304)
            let head = try await server.send("HEAD", url)
            #expect(head.body.isEmpty && head.headers.first(name: "Content-Length") == "1000")
            for other in [
                "/preview/1001/song.wav", "/preview/1001/..%2Fsong.wav", "/preview/1000/clip%20one.wav",
                "/preview/9/clip%20one.wav", "/preview/1001/", "/preview/x/clip%20one.wav",
            ] {
                let reply = try await server.send("GET", server.addresses.storefront + other)
                #expect(reply.status == 404 && !reply.text.contains("secret"), "\(other)")
            }
            try FileManager.default.removeItem(at: folder.appendingPathComponent("clip one.wav"))
            #expect(try await server.send("GET", url).status == 404)
        }
    }
}
