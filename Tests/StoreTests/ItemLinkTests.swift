import Foundation
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ItemLinkTests {
    @Test(
        arguments: [
            ("https://apps.apple.com/us/app/photo-filters/id1234567890", 1_234_567_890, "US"),
            ("https://apps.apple.com/app/id1234567890", 1_234_567_890, nil),
            ("http://itunes.apple.com/de/app/caf%C3%A9/id42?mt=8&uo=4", 42, "DE"),
            ("https://itunes.apple.com/app/apple-store/id42?pt=1&ct=two&mt=8", 42, nil),
            ("itms-apps://itunes.apple.com/app/id42", 42, nil),
            ("macappstore://itunes.apple.com/us/app/x/id42?mt=12", 42, "US"),
            ("https://music.apple.com/us/album/a-song/77?i=78&uo=4", 78, "US"),
            ("https://music.apple.com/us/album/an-album/77", 77, "US"),
            ("https://music.apple.com/us/song/a-song/78", 78, "US"),
            ("https://itunes.apple.com/us/tv-season/an-episode/id55?i=56", 56, "US"),
            ("https://books.apple.com/gb/book/a-book/id9?at=1000l", 9, "GB"),
            ("https://geo.itunes.apple.com/us/movie/a-film/id8#top", 8, "US"),
            ("http://itunes.apple.com/WebObjects/MZStore.woa/wa/viewAlbum?i=78&id=77&s=143441", 78, nil),
            ("http://itunes.apple.com/WebObjects/MZStore.woa/wa/viewAlbum?id=77", 77, nil),
            ("http://127.0.0.1:8403/us/app/id5/id42/", 42, "US"),
            ("http://127.0.0.1:8403/us/album/id2/1400000002", 1_400_000_002, "US"),
            ("http://[::1]:8403/app/id42", 42, nil), ("https://apps.apple.com/us/app/x/id42/reviews", 42, "US"),
            ("apps.apple.com/us/app/id42", 42, "US"),
            ("  id42 ", 42, nil),
            ("42", 42, nil),
            ("9223372036854775807", .max, nil),
        ] as [(String, Int64, String?)])
    func aLinkNamesAnItem(_ text: String, _ number: Int64, _ country: String?) {
        let link = ItemLink(text)
        #expect(link?.number == number)
        #expect(link?.country == country)
        #expect(link?.target == .item)
    }

    @Test(arguments: [
        "https://apps.apple.com/us/developer/example/id7?uo=4", "https://music.apple.com/us/artist/example/7",
        "https://books.apple.com/us/author/example/id7", "https://itunes.apple.com/us/tv-show/example/id7",
        "http://itunes.apple.com/WebObjects/MZStore.woa/wa/viewArtist?id=7",
    ])
    func aLinkNamesACreator(_ text: String) {
        #expect(ItemLink(text)?.number == 7)
        #expect(ItemLink(text)?.target == .creator)
    }

    @Test(arguments: [
        "", "id", "0", "-1", "abc", "9223372036854775808", "99999999999999999999999", "id0",
        "https://apps.apple.com/us/app/photo-filters", "https://apps.apple.com/us/app/id99999999999999999999",
        "https://example.com/us/app/id42", "https://apps.apple.com.example.com/us/app/id42",
        "https://apple.com@example.com/app/id42", "javascript://apps.apple.com/app/id42",
        "itms-services://?action=purchaseIntent&bundleId=a&productIdentifier=b", "4 2", "٤٢",
    ])
    func otherTextsAreNoLinks(_ text: String) {
        #expect(ItemLink(text) == nil)
    }

    @Test func aLongTextIsNoLink() {
        #expect(ItemLink("https://apps.apple.com/app/" + String(repeating: "x", count: 5_000) + "/id42") == nil)
    }

    @Test func aStorefrontsOwnHostCanBeNamed() {
        #expect(ItemLink("https://store.example.com/us/app/id42", hosts: ["store.example.com"])?.number == 42)
    }

    @Test func noTextTrapsTheReader() {
        var generator = SeededGenerator(seed: 20)
        let pieces = [
            "https://", "apps.apple.com", "/", "id", "7", "?", "i=", "&", "#", ":", "[", "]", "@", "%", "é", "\0", "us",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...12, using: &generator))
                .compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            if let link = ItemLink(text) { #expect(link.number > 0) }
        }
    }

    // MARK: Making links

    @Test func everyKindHasItsForm() throws {
        let base = "http://127.0.0.1:8403"
        let expected: [ItemKind: String] = [
            .app: "/us/app/the-name/id7", .song: "/us/album/the-name/70?i=7", .album: "/us/album/the-name/7",
            .film: "/us/movie/the-name/id7", .episode: "/us/tv-season/the-name/id70?i=7",
            .season: "/us/tv-season/the-name/id7", .book: "/us/book/the-name/id7",
        ]
        for kind in ItemKind.allCases {
            var item = ItemSamples.item(7, kind, "The Name")
            if kind == .song || kind == .episode { item.place = ItemPlace(collection: 70, track: 1) }
            let link = ItemLink.link(to: item, base: base, country: "US")
            #expect(link == base + (try #require(expected[kind])))
            #expect(ItemLink(link)?.number == 7)
            #expect(ItemLink(ItemLink.link(to: item, base: base, country: nil))?.number == 7)
            let creator = ItemLink.link(to: item.creator, of: kind, base: base, country: "US")
            #expect(ItemLink(creator)?.number == item.creator.number)
            #expect(ItemLink(creator)?.target == .creator)
        }
    }

    @Test(arguments: [
        ("You're the One!", "youre-the-one"), ("  A  &  B  ", "a-b"), ("Café", "caf%C3%A9"),
        ("音楽", "%E9%9F%B3%E6%A5%BD"), ("a/../b?i=9#c", "a-b-i-9-c"), ("x\0y", "x-y"),
        (String(repeating: "word ", count: 30), "word-word-word-word-word-word-word-word-word-word-word-word"),
    ])
    func aSlugIsReadable(_ name: String, _ slug: String) {
        let link = ItemLink.link(to: ItemSamples.item(7, .app, name), base: "http://h", country: "US")
        #expect(link == "http://h/us/app/\(slug)/id7")
    }

    @Test(arguments: ["", "!!!", "🎉"])
    func aNameWithoutLettersHasNoSlug(_ name: String) {
        let link = ItemLink.link(to: ItemSamples.item(7, .app, name), base: "http://h", country: "US")
        #expect(link == "http://h/us/app/id7")
    }

    // MARK: Pictures

    @Test func aPicturesAddressIsReadBack() {
        var item = ItemSamples.item(7, .app, "The Name")
        item.artwork = ItemPicture(path: "/pictures/icon.png", width: 512, height: 512, modified: 7)
        item.screenshots = [
            ItemScreenshot(
                platform: .iPad, picture: ItemPicture(path: "/pictures/a.png", width: 20, height: 10, modified: 7)),
            ItemScreenshot(
                platform: .iPhone, picture: ItemPicture(path: "/pictures/b.png", width: 10, height: 20, modified: 7)),
        ]
        let artwork = item.artworkAddress(100)
        #expect(artwork?.path.hasSuffix("/100x100bb.jpg") == true)
        #expect(artwork.flatMap { ItemImageAddress(path: $0.path) } == artwork)
        let screenshots = item.screenshotAddresses(.iPhone)
        #expect(screenshots.map(\.picture) == [.screenshot(1)])
        #expect(screenshots.first.flatMap { ItemImageAddress(path: $0.path) } == screenshots.first)
        #expect(item.picture(.screenshot(1))?.path == "/pictures/b.png")
        #expect(item.picture(.screenshot(2)) == nil)
        #expect(item.picture(.artwork)?.digest != item.picture(.screenshot(0))?.digest)
    }

    @Test(
        arguments: [
            ("1000x1000bb.jpg", 1000, 1000, nil), ("170x170.jpg", 170, 170, nil), ("600x900bb-85.png", 600, 900, 85),
            ("100000x100000-999.jpg", 100_000, 100_000, 100), ("268x0w.jpg", 268, nil, nil),
        ] as [(String, Int, Int?, Int?)])
    func clientsChangeTheSize(_ name: String, _ width: Int, _ height: Int?, _ quality: Int?) {
        let address = ItemImageAddress(path: "/image/thumb/7/artwork-0-0123abcd/\(name)")
        #expect(address?.width == width)
        #expect(address?.height == height)
        #expect(address?.quality == quality)
    }

    @Test(arguments: [
        "/image/thumb/7/artwork-0-0123abcd/0x0bb.jpg", "/image/thumb/7/artwork-0-0123abcd/100x100bb.gif",
        "/image/thumb/0/artwork-0-0123abcd/1x1bb.jpg", "/image/thumb/7/artwork-1-0123abcd/1x1bb.jpg",
        "/image/thumb/7/artwork-0-0123ABCD/1x1bb.jpg", "/image/thumb/7/other-0-0123abcd/1x1bb.jpg",
        "/image/thumb/99999999999999999999/artwork-0-0123abcd/1x1bb.jpg", "/image/thumb/7/artwork-0-0123abcd/1x1bb",
        "/image/thumb/7/artwork-0-0123abcd/9999999x1bb.jpg", "/image/thumb/7/artwork-0-0123abcd/1x1-0.jpg",
        "/image/thumb/7/artwork-0-0123abcd/", "/image/thumb/7", "", "/image/thumb/7/artwork-0-0123abcd/1x1bb.jpg/",
    ])
    func otherPathsAreNoPictures(_ path: String) {
        #expect(ItemImageAddress(path: path) == nil)
    }
}
