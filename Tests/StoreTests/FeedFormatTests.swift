import Foundation
import TestSupport
import Testing

@testable import Store

/// Each rule of `Documentation/PartnerFeed.md` about files that partners' programs cannot read.
@Suite("What readers of partner feeds choke on", .timeLimit(.minutes(1)))
struct FeedFormatTests {
    private static let day = FeedDay(days: 20_460)

    /// Builds a feed of the samples, and gives the tables of a version with the entries of their archives.
    private func with(
        _ path: String,
        _ body: @escaping @Sendable ([(name: String, header: [UInt8], table: FeedReader)]) throws -> Void
    ) async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            try await scene.desk.build(.full, day: Self.day)
            let files = scene.desk.shelf.all.filter { $0.key.hasPrefix(path) && $0.key.hasSuffix(".tbz") }
            #expect(!files.isEmpty)
            try body(
                try files.sorted { $0.key < $1.key }.flatMap {
                    try FeedReader.entries(ofArchive: [UInt8](Data(contentsOf: $0.value.url)))
                }.map { ($0.name, $0.header, try FeedReader(name: $0.name, relational: $0.bytes)) })
        }
    }

    private static let versions = ["/feeds/epf/v5/current/", "/feeds/epf/v3/full/current/"]

    @Test(arguments: versions) func elevenRecordsComeBeforeTheRows(_ path: String) async throws {
        try await with(path) { tables in
            for (name, _, table) in tables {
                #expect(table.legal >= 10, "\(name)")
                // Columns first; then at least six comments, which readers count.
                #expect(table.rows.isEmpty || table.headers >= 11, "\(name)")
                #expect(table.bytes.starts(with: "#export_date\u{1}".utf8), "\(name)")
            }
        }
    }

    @Test(arguments: versions) func theLastFortyBytesAreASCII(_ path: String) async throws {
        try await with(path) { tables in
            for (name, _, table) in tables {
                #expect(table.bytes.count >= 40 && table.bytes.suffix(40).allSatisfy { $0 < 0x80 }, "\(name)")
            }
        }
    }

    @Test(arguments: versions) func noRowIsAComment(_ path: String) async throws {
        try await with(path) { tables in
            for (name, _, table) in tables {
                #expect(table.rows.allSatisfy { $0[0] == "1767744000000" }, "\(name)")
            }
            // A name that begins so is still there.
            let apps = try #require(tables.first { $0.name.hasSuffix("/application") })
            #expect(apps.table.rows.contains { $0.contains("#hash") })
        }
    }

    @Test(arguments: versions) func everyRowHasAFieldForEachColumn(_ path: String) async throws {
        try await with(path) { tables in
            for (name, _, table) in tables {
                #expect(table.rows.allSatisfy { $0.count == table.columns.count }, "\(name)")
                #expect(table.types.count == table.columns.count && Set(table.columns).isSuperset(of: table.key))
                // No field of a key is NULL, and no two rows have one key.
                let keys = table.rows.map { row in table.key.compactMap { row[table.columns.firstIndex(of: $0) ?? 0] } }
                #expect(keys.allSatisfy { $0.count == table.key.count } && Set(keys).count == keys.count, "\(name)")
            }
        }
    }

    @Test(arguments: versions) func theFirstEntryIsATable(_ path: String) async throws {
        try await with(path) { tables in
            for (name, header, _) in tables {
                #expect(name.wholeMatch(of: /([a-z]+)(\d{4})(\d\d)(\d\d)\/([a-z_]+)/) != nil, "\(name)")
                // POSIX ustar: a regular file, with the sum of the header's bytes.
                #expect(header[156] == UInt8(ascii: "0") && header[257..<265].elementsEqual(Array("ustar\u{0}00".utf8)))
                var blank = header
                blank.replaceSubrange(148..<156, with: [UInt8](repeating: 0x20, count: 8))
                let sum = blank.reduce(0) { $0 + Int($1) }
                #expect(Int(String(decoding: header[148..<154], as: UTF8.self), radix: 8) == sum)
                #expect(
                    String(decoding: header[136..<147], as: UTF8.self)
                        == String(Self.day.milliseconds / 1000, radix: 8).leftPadded(11))
            }
        }
    }

    /// The columns that importers' databases have had since 2012; the file has them all.
    private static let oldColumns: [String: String] = [
        "application": """
        application_id title recommended_age artist_name seller_name company_url support_url view_url
        artwork_url_large artwork_url_small itunes_release_date copyright description version itunes_version
        download_size
        """,
        "application_detail": """
        application_id language_code title description release_notes company_url support_url screenshot_url_1
        screenshot_url_4 screenshot_width_height_1 screenshot_width_height_4 ipad_screenshot_url_1
        ipad_screenshot_url_4 ipad_screenshot_width_height_1 ipad_screenshot_width_height_4
        """,
        "application_price": "application_id retail_price currency_code storefront_id",
        "artist": "artist_id name is_actual_artist view_url artist_type_id",
        "artist_application": "artist_id application_id",
        "artist_type": "artist_type_id name primary_media_type_id",
        "genre": "genre_id parent_id name", "genre_application": "genre_id application_id is_primary",
        "storefront": "storefront_id country_code name", "device_type": "device_type_id name",
        "application_device_type": "application_id device_type_id", "media_type": "media_type_id name",
    ]

    @Test(arguments: versions) func tablesKeepTheirOldColumnsAndNames(_ path: String) async throws {
        try await with(path) { tables in
            for (name, columns) in Self.oldColumns {
                let table = try #require(tables.first { $0.name.hasSuffix("/\(name)") }, "\(name)").table
                #expect(
                    Set(table.columns).isSuperset(of: columns.split(whereSeparator: \.isWhitespace).map(String.init)))
            }
            #expect(tables.allSatisfy { !$0.name.contains(".") })
            let storefronts = try #require(tables.first { $0.name.hasSuffix("/storefront") }).table.rows
            #expect(storefronts.contains { $0[1...] == ["143441", "USA", "United States"] })
            let genres = try #require(tables.first { $0.name.hasSuffix("/genre") }).table.rows
            #expect(genres.contains { $0[1...] == ["6014", "36", "Games"] })
            #expect(genres.contains { $0[1...] == ["36", nil, "App Store"] })
        }
    }

    @Test func noByteOfATextEndsAFieldOrARecord() async throws {
        try await with(Self.versions[0]) { tables in
            let table = try #require(tables.first { $0.name.hasSuffix("/application") }).table
            let text = try #require(table.columns.firstIndex(of: "description"))
            // A line feed alone stays, before a # as well.
            #expect(table.rows.contains { $0[text] == "First\n#second\nthird" })
        }
    }

    // MARK: Single files

    /// Writes rows of genres with these names into one table.
    private func genres(_ names: [String]) async throws -> FeedReader {
        try await TemporaryDirectory.with { directory in
            let rows = try FeedRows(.genre, .relational, day: Self.day, at: directory.path("genre"), bufferSize: 64)
            for (number, name) in names.enumerated() {
                rows.add(number)
                rows.addNull()
                rows.add(name)
                try rows.end()
            }
            let file = FeedTableFile(.genre, .relational, .full, [try rows.finish()])
            var bytes: [UInt8] = []
            try file.read { bytes.append(contentsOf: $0) }
            #expect(file.length == Int64(bytes.count) && file.rows == names.count)
            return try FeedReader(name: "genre", relational: bytes)
        }
    }

    /// One of them has an end within ASCII, or none has.
    @Test(arguments: [
        [], ["é"], ["ééééééééééééééééééééé"], ["A", "ééééééééééééééééééééé"],
        ["猿", "a name of more than forty letters, for sure", "猿"],
        ["猿猿猿猿猿猿猿猿猿猿猿猿猿猿a", "猿猿猿猿猿猿猿猿猿猿猿猿猿"],
    ])
    func anyNamesLeaveAFooterOfASCII(_ names: [String]) async throws {
        let table = try await genres(names)
        #expect(table.bytes.suffix(40).allSatisfy { $0 < 0x80 })
        #expect(table.rows.compactMap { $0[3] }.sorted() == names.sorted())
    }

    @Test func aTextIsCutAtACharacterOfItsColumn() async throws {
        let long = String(repeating: "é", count: 250)
        #expect(try await genres([long]).rows[0][3] == String(repeating: "é", count: 200))
        let short = String(repeating: "é", count: 200)
        #expect(try await genres([short]).rows[0][3] == short)
    }

    @Test func aRowWithTooFewFieldsIsRefused() async throws {
        try await TemporaryDirectory.with { directory in
            let rows = try FeedRows(.genre, .relational, day: Self.day, at: directory.path("genre"))
            rows.add(1)
            #expect(throws: StoreError.self) { try rows.end() }
        }
    }

    @Test func aTableOfMoreThanEightGibibytesHasItsLength() {
        let header = FeedArchive.header("itunes20260107/application", length: 1 << 33 | 5, Self.day)
        #expect(header[124..<136].elementsEqual([0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5]))
        #expect(FeedArchive.header("a", length: 1 << 33 - 1, Self.day)[124..<135].elementsEqual("77777777777".utf8))
    }
}

extension String {
    fileprivate func leftPadded(_ count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.count)) + self
    }
}
