import CornerstoreEncoding
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ItemFinderTests {
    private static let base = "http://store.test"

    /// Builds an index of items and runs `body` with a finder that reads it.
    private func with(
        _ items: [CatalogItem], rating: ItemRating = .none, _ body: (ItemFinder) throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appendingPathComponent("index")
            try ItemIndex.build(items.sorted { $0.number < $1.number }, at: file)
            let index = CurrentItemIndex(try ItemIndex.open(at: file))
            try body(ItemFinder(index: index, base: { Self.base }, rating: { _, _ in rating }))
        }
    }

    private static let app = {
        var item = ItemSamples.item(1_000, .app, "Monkey \"Photo\" </b>")
        item.bundleID = "com.example.photo"
        item.platforms = [.iPhone, .iPad]
        item.texts[0].description = "Line one\nLine two"
        item.texts.append(ItemText(locale: "de", name: "Affenfoto"))
        item.versions = [
            ItemVersion(
                version: "1.1", releaseDate: 1_700_000_000_000,
                notes: [ItemNote(locale: "en", text: "Faster."), ItemNote(locale: "de", text: "Schneller.")]),
            ItemVersion(version: "1.0", releaseDate: 1_600_000_000_000),
        ]
        item.artwork = ItemPicture(path: "/icon.png", width: 512, height: 512, modified: 1)
        item.prices = CatalogPrices(amount: 990, byStorefront: ["JPN": 120_000], byCurrency: [:])
        item.availability = .except(["FRA"])
        item.file = ItemFile(path: "/photo.zip", mediaType: "application/zip", length: 1_234)
        item.minimumSystemVersion = "13.0"
        item.languages = ["EN", "DE"]
        return item
    }()

    private static let album = {
        var item = ItemSamples.item(2_000, .album, "Songs of the Forest")
        item.creator = ItemCreator(number: 901, name: "The Gibbons")
        item.genres = [ItemGenre(number: 11, name: "Jazz")]
        item.copyright = "℗ 2020 Example"
        return item
    }()

    private static func song(_ number: Int64, _ name: String, track: Int, disc: Int = 1) -> CatalogItem {
        var item = ItemSamples.item(number, .song, name)
        item.creator = album.creator
        item.genres = album.genres
        item.place = ItemPlace(collection: album.number, disc: disc, track: track)
        item.prices = CatalogPrices(amount: 1_290, byStorefront: [:], byCurrency: [:])
        item.duration = 181_000
        return item
    }

    private func text(_ answer: SearchAnswer) -> String { String(decoding: answer.body, as: UTF8.self) }

    private func numbers(_ answer: SearchAnswer) throws -> [Int64] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let results = try #require(object["results"] as? [[String: Any]])
        #expect(object["resultCount"] as? Int == results.count)
        return results.compactMap {
            let number =
                $0["wrapperType"] as? String == "artist"
                ? $0["artistId"] : $0["wrapperType"] as? String == "collection" ? $0["collectionId"] : $0["trackId"]
            return (number as? NSNumber)?.int64Value
        }
    }

    @Test func anAppIsAnsweredToTheByte() async throws {
        let rating = ItemRating(histogram: [1, 0, 0, 0, 2], currentHistogram: [0, 0, 0, 0, 2])
        try await with([Self.app], rating: rating) { finder throws in
            let digest = try #require(Self.app.artwork?.digest)
            let picture = "http://store.test/image/thumb/1000/artwork-0-\(digest)"
            let devices = String(decoding: SupportedDevices.json(for: [.iPhone, .iPad]), as: UTF8.self)
            #expect(devices.hasPrefix(#"["iPhone5s-iPhone5s", "#) && devices.hasSuffix(#", "iPadMini6-iPadMini6"]"#))
            let expected = """
                \n\n\n{
                 "resultCount":1,
                 "results": [
                {"screenshotUrls":[], "ipadScreenshotUrls":[], "appletvScreenshotUrls":[], \
                "artworkUrl60":"\(picture)/60x60bb.jpg", "artworkUrl512":"\(picture)/512x512bb.jpg", \
                "artworkUrl100":"\(picture)/100x100bb.jpg", \
                "artistViewUrl":"http://store.test/us/developer/example-works/id900?uo=4", "isGameCenterEnabled":false, \

                "supportedDevices":\(devices), "features":["iosUniversal"], "advisories":[], "kind":"software", \
                "currency":"USD", "minimumOsVersion":"13.0", "trackCensoredName":"Monkey \\"Photo\\" <\\/b>", \
                "languageCodesISO2A":["EN", "DE"], "fileSizeBytes":"1234", "formattedPrice":"$0.99", \
                "contentAdvisoryRating":"4+", "averageUserRatingForCurrentVersion":5, \
                "userRatingCountForCurrentVersion":2, "averageUserRating":3.666669999999999873807610129006206989288330078125, \
                "trackViewUrl":"http://store.test/us/app/monkey-photo-b/id1000?uo=4", "trackContentRating":"4+", \
                "currentVersionReleaseDate":"2023-11-14T22:13:20Z", "releaseNotes":"Faster.", "artistId":900, \
                "artistName":"Example Works", "genres":["Games"], "price":0.99, "releaseDate":"2020-09-13T12:26:40Z", \
                "trackId":1000, "trackName":"Monkey \\"Photo\\" <\\/b>", "description":"Line one\\nLine two", \
                "bundleId":"com.example.photo", "sellerName":"Example Works", "primaryGenreName":"Games", \
                "primaryGenreId":6014, "genreIds":["6014"], "isVppDeviceBasedLicensingEnabled":true, "version":"1.1", \
                "wrapperType":"software", "userRatingCount":3}]
                }\n\n\n
                """
            let found = text(try finder.lookup(QueryParameters(query: "id=1000"), country: nil))
            let start = found.commonPrefix(with: expected)
            #expect(
                found == expected, "different after: \(start.suffix(80)) … \(found.dropFirst(start.count).prefix(80))")
        }
    }

    @Test func aSongCarriesItsAlbum() async throws {
        var second = Self.song(2_003, "Third Branch", track: 1, disc: 2)
        second.creator = ItemCreator(number: 902, name: "A Guest")
        let songs = [Self.song(2_001, "First Branch", track: 1), Self.song(2_002, "Second Branch", track: 2), second]
        try await with([Self.album] + songs) { finder throws in
            let answer = try finder.lookup(QueryParameters(query: "id=2000&entity=song"), country: "de")
            #expect(try numbers(answer) == [2_000, 2_001, 2_002, 2_003])
            let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
            let results = try #require(object["results"] as? [[String: Any]])
            #expect(results[0]["collectionPrice"] as? Double == -1 && results[0]["trackCount"] as? Int == 3)
            #expect(results[0]["country"] as? String == "DEU" && results[0]["currency"] as? String == "EUR")
            #expect(results[1]["trackCount"] as? Int == 2 && results[1]["discCount"] as? Int == 2)
            #expect(results[1]["collectionArtistName"] == nil)
            #expect(results[3]["collectionArtistId"] as? Int == 901 && results[3]["discNumber"] as? Int == 2)
            let link = "http://store.test/de/album/first-branch/2000?i=2001&uo=4"
            #expect(results[1]["trackViewUrl"] as? String == link && results[1]["collectionViewUrl"] as? String == link)
            #expect(text(answer).contains("\"collectionPrice\":-1.00, \"trackPrice\":1.29, "))
        }
    }

    @Test func aLookupHasABoundForAllItsNumbersTogether() async throws {
        let songs = (1...4).map { Self.song(2_000 + Int64($0), "Branch \($0)", track: $0) }
        try await with([Self.app, Self.album] + songs) { finder throws in
            var finder = finder
            finder.mostContents = 5
            let query = QueryParameters(query: "id=2000,901,900,1000&entity=song&limit=200")
            // All numbers that are asked for are found, whether or not there is room for what belongs to them.
            #expect(
                try numbers(try finder.lookup(query, country: nil)) == [
                    2_000, 2_001, 2_002, 2_003, 2_004, 901, 2_001, 900, 1_000,
                ])
            let one = QueryParameters(query: "id=2000,901&entity=song&limit=1")
            #expect(try numbers(try finder.lookup(one, country: nil)) == [2_000, 2_001, 901, 2_001])
        }
    }

    @Test func `a price of -1.00 is for one that is sold another way`() async throws {
        var (sold, single, unsold) = (Self.album, Self.song(2_001, "First Branch", track: 1), Self.album)
        sold.prices = CatalogPrices(amount: 9_990, byStorefront: [:], byCurrency: [:])
        single.prices = nil
        unsold.number = 2_100
        var streamed = single
        (streamed.number, streamed.place) = (2_101, ItemPlace(collection: 2_100, disc: 1, track: 1))
        let (items, album) = ([sold, single, unsold, streamed], "\"collectionPrice\":9.99, ")
        try await with(items) { finder throws in
            func look(_ query: String) throws -> String {
                text(try finder.lookup(QueryParameters(query: query), country: nil))
            }
            #expect(try look("id=2001").contains(album + "\"trackPrice\":-1.00, "))
            #expect(try look("id=2000").contains(album) && !look("id=2000").contains("trackPrice"))
            for number in [2_100, 2_101] { #expect(try !look("id=\(number)").contains("Price"), "\(number)") }
        }
    }

    @Test(arguments: [
        (ItemRating(histogram: [0, 0, 0, 2, 0], currentHistogram: [0, 0, 0, 2, 0]), "4.0"),
        (ItemRating(histogram: [0, 0, 0, 1, 1], currentHistogram: [0, 0, 0, 1, 1]), "4.5"),
    ])
    func `a book's rating is in half steps with a decimal`(_ rating: ItemRating, _ average: String) async throws {
        try await with([ItemSamples.item(3_000, .book, "Branch")], rating: rating) { finder throws in
            let answer = text(try finder.lookup(QueryParameters(query: "id=3000"), country: nil))
            #expect(answer.contains("\"averageUserRating\":\(average), "))
        }
    }

    @Test func anEmptyAnswerAndAFunctionHaveTheirBytes() async throws {
        try await with([Self.app]) { finder throws in
            let empty = "{\n \"resultCount\":0,\n \"results\": []\n}"
            #expect(text(try finder.search(QueryParameters(query: ""), country: nil)) == "\n\n\n\(empty)\n\n\n")
            let script = try finder.search(QueryParameters(query: "term=zzz&callback=my.f_1$"), country: nil)
            #expect(text(script) == "\n\n\nmy.f_1$(\(empty));\n\n\n")
            let hostile = try finder.search(QueryParameters(query: "term=zzz&callback=alert(1)//"), country: nil)
            #expect(text(hostile) == "\n\n\n\(empty)\n\n\n")
        }
    }

    @Test(arguments: [
        ("media=softwares", "mediaType"), ("entity=apps", "resultEntity"),
        ("media=music&entity=software", "resultEntity"),
        ("attribute=colour", "attributeType"), ("country=XX", "country"), ("country=usa", "country"),
        ("lang=%20", "language"), ("media=music&entity=x&attribute=y", "attributeType, resultEntity"),
        ("media=all&attribute=softwareDeveloper", "attributeType"), ("entity=,", "resultEntity"),
    ])
    func wrongValuesAreNamed(_ query: String, _ keys: String) async throws {
        try await with([Self.app]) { finder throws in
            for answer in [
                try finder.search(QueryParameters(query: "term=x&" + query), country: nil),
                try finder.lookup(QueryParameters(query: "id=1&" + query), country: nil),
            ] {
                #expect(!answer.isValid)
                #expect(text(answer).hasPrefix("\n\n\n{\"errorMessage\":\"Invalid value(s) for key(s): [\(keys)]\", "))
                #expect(try JSONSerialization.jsonObject(with: Data(answer.body)) is [String: Any])
            }
        }
    }

    @Test(arguments: ["abc", "1,x", "99999999999999999999", "-1", "1.5", "0x10", "%00"])
    func numbersThatAreNoneAreRefused(_ id: String) async throws {
        try await with([Self.app]) { finder throws in
            let answer = try finder.lookup(QueryParameters(query: "id=" + id), country: nil)
            #expect(!answer.isValid && text(answer).contains("[itunesId]"))
        }
    }

    @Test func lookupsFindByNumberBundleCreatorAndCountry() async throws {
        var other = Self.app
        other.number = 1_001
        other.bundleID = "com.example.other"
        other.releaseDate += 1
        var mac = ItemSamples.item(1_002, .app, "Desk")
        mac.platforms = [.mac]
        try await with([Self.app, other, mac, Self.album]) { finder throws in
            func find(_ query: String, _ country: String? = nil) throws -> [Int64] {
                try numbers(try finder.lookup(QueryParameters(query: query), country: country))
            }
            #expect(try find("id=1001,5,1000,1001") == [1_001, 1_000])
            #expect(try find("id=") == [])
            #expect(try find("id=0") == [])
            #expect(try find("") == [])
            #expect(try find("upc=123") == [])
            #expect(try find("bundleId=com.example.photo") == [1_000])
            #expect(try find("bundleId=com.example.Photo") == [])
            #expect(try find("id=1000&bundleId=com.example.other") == [1_000, 1_001])
            #expect(try find("id=1000", "fr") == [])
            #expect(try find("id=1000&country=FR") == [])
            #expect(try find("id=1000", "gb") == [1_000])
            #expect(try find("id=900") == [900])
            #expect(try find("id=900&entity=software") == [900, 1_000, 1_001])
            #expect(try find("id=900&entity=software&limit=1") == [900, 1_000])
            #expect(try find("id=900&entity=software&sort=recent") == [900, 1_001, 1_000])
            #expect(try find("id=900&entity=macSoftware") == [900, 1_002])
            #expect(try find("id=901&entity=album") == [901, 2_000])
            let many = (1...300).map(String.init).joined(separator: ",") + ",1000"
            #expect(try find("id=\(many)") == [])
        }
    }

    @Test func searchesKeepMediaEntityAttributeAndPagesApart() async throws {
        let songs = (1...5).map { Self.song(2_000 + Int64($0), "Branch \($0)", track: $0) }
        var book = ItemSamples.item(3_000, .book, "Branch")
        book.creator = ItemCreator(number: 903, name: "Ann Branch")
        try await with([Self.app, Self.album, book] + songs) { finder throws in
            func find(_ query: String) throws -> [Int64] {
                try numbers(try finder.search(QueryParameters(query: query), country: nil))
            }
            let all = (2_001...2_005).map(Int64.init)
            #expect(try find("term=branch") == all)
            #expect(try find("term=branch&media=music&limit=2&offset=1") == [2_002, 2_003])
            #expect(try find("term=branch&entity=ebook") == [3_000])
            #expect(try find("term=branch&media=ebook&attribute=authorTerm") == [3_000])
            #expect(try find("term=branch+forest&media=music&attribute=songTerm") == [])
            #expect(try find("term=forest&media=music&attribute=albumTerm") == all)
            #expect(try find("term=gibbons&entity=musicArtist") == [901])
            #expect(try find("term=branch&entity=song,ebook") == [3_000] + all)
            #expect(try find("term=photo") == [])
            #expect(try find("term=photo&media=software") == [1_000])
            #expect(try find("term=branch&entity=software,song,ebook") == [3_000] + all)
            #expect(try find("term=photo&entity=macSoftware,song") == [])
            #expect(try find("term=photo&entity=macSoftware") == [])
            #expect(try find("term=photo&entity=iPadSoftware") == [1_000])
            #expect(try find("term=affenfoto&media=software&country=de&ts=1&_cb=2") == [1_000])
            #expect(try find("term=branch&media=podcast") == [])
            #expect(try find("term=branch&attribute=composerTerm") == [])
            #expect(try find("term=branch&limit=x&offset=-5") == all)
        }
    }

    @Test(arguments: [
        "\" OR \"", "NEAR(a b)", "a* AND b", "name:monkey", "\0", "%FF%FE", "((((((",
        String(repeating: "ab ", count: 5_000),
        "日本語", "עברית", "👩‍👩‍👧‍👦", "' ; DROP TABLE items", "{x}", "-monkey", "^monkey",
    ])
    func hostileTermsAreOnlyWords(_ term: String) async throws {
        try await with([Self.app]) { finder throws in
            let query = "media=software&term=" + (term.hasPrefix("%") ? term : term.percentEncodedForTests)
            let answer = try finder.search(QueryParameters(query: query), country: nil)
            #expect(answer.isValid)
        }
    }

    @Test(arguments: [
        ("a=b+c&d=%C3%A9", ["a": "b c", "d": "é"]),
        ("a=%&b=%4&c=%zz&d=%+1", ["a": "%", "b": "%4", "c": "%zz", "d": "% 1"]),
        ("a=1&a=2&&=x&b", ["a": "1", "b": "", "": "x"]), ("a=%%41", ["a": "%A"]), ("a==b=", ["a": "=b="]),
    ])
    func parametersAreDecoded(_ query: String, _ expected: [String: String]) {
        let parameters = QueryParameters(query: query)
        for (name, value) in expected { #expect(parameters[name] == value, "\(name)") }
    }

    @Test(arguments: [(4.5, "4.5"), (4, "4"), (0, "0"), (4.13507, "4.1350699999999998")])
    func ratingsArePrintedExactly(_ rating: Double, _ start: String) throws {
        let text = SearchObject.expansion(rating)
        #expect(text.hasPrefix(start) && Double(text) == rating && text.count <= 54)
    }

    @Test(arguments: [
        (990, "0.99"), (120_000, "120.00"), (0, "0.00"), (1_235, "1.235"), (1_005, "1.005"), (50, "0.05"),
        (7_000_000, "7000.00"),
    ])
    func pricesHaveTwoDecimals(_ milliunits: Int64, _ text: String) {
        var bytes: [UInt8] = []
        SearchObject.append(decimal: milliunits, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test(arguments: [0, 7, 10, 1_400_000_004, Int64.max, Int64.min, -1])
    func numbersAreWrittenInDecimals(_ number: Int64) {
        var bytes: [UInt8] = [0x5B]
        SearchObject.append(number, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "[\(number)")
    }

    @Test(arguments: [
        ("", ""), ("/a</b></", "/a<\\/b><\\/"), ("\"\\\n\r\t", #"\"\\\n\r\t"#),
        ("\u{0}\u{1F}\u{7F}é😀", "\\u0000\\u001f\u{7F}é😀"),
        ("a\nb\"c", #"a\nb\"c"#), ("<", "<"),
    ])
    func textsAreEscaped(_ text: String, _ escaped: String) {
        var bytes: [UInt8] = []
        SearchObject.append(text, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "\"\(escaped)\"")
    }

    @Test(arguments: [
        ("USA", 990, "$0.99"), ("USA", 0, "Free"), ("CHN", 0, "免费"), ("JPN", 120_000, "￥120"),
        ("DEU", 1_290, "1,29\u{A0}€"),
        ("GBR", 790, "£0.79"),
    ])
    func pricesReadAsCustomersExpect(_ country: String, _ milliunits: Int64, _ text: String) throws {
        let storefront = try #require(Storefront.named(country))
        let prices = ItemPriceText()
        for _ in 1...2 {
            #expect(prices.text(Money(milliunits: milliunits, currency: storefront.currency), in: storefront) == text)
        }
    }
}

extension String {
    fileprivate var percentEncodedForTests: String {
        utf8.map { "%" + (String($0, radix: 16).count == 1 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
