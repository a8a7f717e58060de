import Foundation
import StoreWire
import Testing

@testable import Store

/// A folder with the files that the documented items name.
struct ItemFolder {
    let url: URL
    var catalog: String { url.appendingPathComponent("catalog.yaml").path }

    static func with(_ body: (ItemFolder) throws -> Void) throws {
        let folder = ItemFolder(
            url: FileManager.default.temporaryDirectory.appendingPathComponent("items-\(UUID().uuidString)"))
        defer { try? FileManager.default.removeItem(at: folder.url) }
        try folder.write("pictures/icon.png", png(512, 512))
        try folder.write("pictures/screen.jpg", jpeg(640, 1136))
        try folder.write("media/first-branch.wav", [1, 2, 3, 4])
        try folder.write("media/first-branch-preview.wav", [1, 2])
        try body(folder)
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        let file = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    /// The beginning of a PNG.
    static func png(_ width: UInt32, _ height: UInt32) -> [UInt8] {
        func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52] + big(width)
            + big(height) + [8, 2, 0, 0, 0]
    }

    /// The beginning of a JPEG: a comment, fill bytes, then the frame.
    static func jpeg(_ width: UInt16, _ height: UInt16, marker: UInt8 = 0xC2) -> [UInt8] {
        func big(_ number: UInt16) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }
        return [0xFF, 0xD8, 0xFF, 0xFE, 0, 4, 65, 66, 0xFF, 0xFF, marker, 0, 17, 8] + big(height) + big(width) + [3]
    }
}

/// Items in our own catalog format.
@Suite(.timeLimit(.minutes(1))) struct CatalogItemTests {
    private func read(_ text: String, _ folder: ItemFolder) throws -> [CatalogItem] {
        try CornerstoreCatalogFile.read(Array(text.utf8), file: folder.catalog).items
    }

    @Test func theDocumentedItemsAreReadCorrectly() throws {
        try ItemFolder.with { folder in
            let items = try read(try CatalogFixtures.documentedItemsYAML(), folder)
            #expect(items.map(\.kind) == [.app, .album, .song])
            let (app, song) = (try #require(items.first), try #require(items.last))
            #expect(app.number == 1_400_000_001 && app.bundleID == "com.example.monkeys")
            #expect(app.text(for: ["de"]).name == "Affenglück")
            #expect(app.versions.map(\.version) == ["1.1", "1.0"])
            #expect(app.versions.last?.releaseDate == 1_768_464_000_000)
            #expect(app.releaseDate == 1_768_435_200_000)
            #expect(app.artwork?.width == 512 && app.artwork?.path.hasSuffix("/pictures/icon.png") == true)
            #expect(app.screenshots.first?.picture.width == 640 && app.screenshots.first?.picture.height == 1136)
            let japan = try #require(Storefront.named("JPN"))
            #expect(app.price(in: japan) == Money(milliunits: 150_000, currency: "JPY"))
            #expect(app.price(in: try #require(Storefront.named("CHN"))) == nil)
            #expect(song.place == ItemPlace(collection: 1_400_000_002, disc: 2, track: 1))
            #expect(song.file?.length == 4 && song.preview?.mediaType == "audio/wav")
            #expect(song.explicitness == .cleaned && song.duration == 181_000)
        }
    }

    @Test func everyKeyHasAnEffect() throws {
        try ItemFolder.with { folder in
            let text = try CatalogFixtures.documentedItemsYAML()
            let items = try read(text, folder)
            let document = try YAMLParser.parse(Array(text.utf8), file: "a").value
            for (path, variant) in document.withoutEachKey(path: "") {
                #expect((try? read(YAMLText.text(of: variant, order: []), folder)) != items, "\(path)")
            }
        }
    }

    @Test(arguments: [
        ("kind: song", "kind: opera", "is not known"), ("kind: song", "kind: film", "only a song or an episode"),
        ("number: 1400000003", "number: 1400000002", "appears twice"),
        ("number: 1400000001", "number: 12345678901234567", "is not a number"),
        ("number: 1400000001", "number: -1", "is not a number"),
        ("platforms: [iphone, ipad]", "platforms: [phone]", "is not known"),
        ("name: Example Games}", "name: \" \"}", "is empty"),
        ("{number: 1300000002, name: The Gibbons}", "{number: 1300000002, name: Gibbons}", "is also"),
        ("https://example.com/help", "javascript:alert(1)", "is not an address"),
        ("releaseDate: 2026-05-31", "releaseDate: 2026-02-30", "is not a date"),
        ("releaseDate: 2026-05-31", "releaseDate: 2025-05-31", "the newest first"),
        ("pictures/icon.png", "pictures/missing.png", "does not exist"),
        ("pictures/icon.png", "../outside.png", "leads out"), ("pictures/icon.png", "/etc/passwd", "relative"),
        ("pictures/icon.png", "media/first-branch.wav", "not a PNG or JPEG"),
        ("pictures/icon.png", "pictures", "is not a file"),
        ("pictures/icon.png", "pictures/bomb.png", "100000 × 100000"),
        ("pictures/icon.png", "pictures/link.png", "leads out"),
        ("media/first-branch.wav", "pictures/screen.jpg", "an unknown extension"),
        ("media/first-branch.wav", "media/empty.wav", "is empty"),
        ("collection: 1400000002", "collection: 1400000001", "is not the number of an album"),
        ("explicitness: cleaned", "explicitness: clean", "is not known"),
        ("languages: [EN, DE]", "tongues: [EN, DE]", "is not a key"),
        ("relatedItems: [1400000003]", "relatedItems: [x]", "is not an item"),
    ])
    func mistakesAreExplained(old: String, new: String, words: String) throws {
        try ItemFolder.with { folder in
            try folder.write("pictures/bomb.png", ItemFolder.png(100_000, 100_000))
            try folder.write("media/empty.wav", [])
            try FileManager.default.createSymbolicLink(
                atPath: folder.url.appendingPathComponent("pictures/link.png").path, withDestinationPath: "/etc/passwd")
            let text = try CatalogFixtures.documentedItemsYAML()
            let range = try #require(text.firstRange(of: old))
            let line = text[..<range.lowerBound].count { $0 == "\n" } + 1
            let error = #expect(throws: CatalogError.self) {
                _ = try read(text.replacingCharacters(in: range, with: new), folder)
            }
            let problem = try #require(error?.problems.first { $0.message.contains(words) }, "\(error as Any)")
            #expect(problem.keyPath.hasPrefix("items["))
            #expect(problem.line != nil && (words == "is also" || abs((problem.line ?? 0) - line) <= 16), "\(problem)")
        }
    }

    @Test func aPictureThatIsCutAnywhereIsRefused() throws {
        for whole in [ItemFolder.png(3, 4), ItemFolder.jpeg(3, 4)] {
            #expect(throws: Never.self) { try PictureHeader(whole) }
            for count in 0..<(whole.count - 5) {
                #expect(throws: PictureHeader.Unreadable.self) { try PictureHeader(Array(whole.prefix(count))) }
            }
        }
        for marker: UInt8 in [0xC4, 0xD9, 0x01] {
            #expect(throws: PictureHeader.Unreadable.self) { try PictureHeader(ItemFolder.jpeg(3, 4, marker: marker)) }
        }
        #expect(throws: PictureHeader.Unreadable.self) { try PictureHeader(ItemFolder.png(0, 4)) }
    }

    @Test func anAppsItemAndTheAppHaveOneNumber() throws {
        try ItemFolder.with { folder in
            let items = try read(try CatalogFixtures.documentedItemsYAML(), folder)
            func app(_ bundleID: BundleID, number: String? = nil) -> CatalogApp {
                CatalogApp(
                    bundleID: bundleID, name: nil, products: [], groups: [],
                    settings: CatalogSettings(
                        identifier: nil, version: .usual, storefront: nil, locale: nil, applicationInternalID: number,
                        unknown: [:]), unknown: [:])
            }
            let catalog = try Catalog(apps: [app("com.example.monkeys"), app("com.example.other")], items: items)
            #expect(catalog.app("com.example.monkeys")?.itemID == 1_400_000_001)
            #expect(catalog.storeItem(bundleID: "com.example.monkeys")?.number == 1_400_000_001)
            #expect(catalog.storeItem(bundleID: "com.example.other") == nil)
            #expect(catalog.storeItem(1_400_000_003)?.kind == .song && catalog.storeItem(7) == nil)
            #expect(catalog.items.map(\.number) == [1_400_000_001, 1_400_000_002, 1_400_000_003])
            let wrong = [[], [app("com.example.monkeys", number: "1400000009")]]
            for apps in wrong {
                let error = #expect(throws: CatalogError.self) { _ = try Catalog(apps: apps, items: items) }
                #expect(error?.problems.count == 1 && error?.detail.contains("1400000001") == true)
            }
            #expect(throws: CatalogError.self) {
                _ = try Catalog(apps: [app("com.example.monkeys")], items: items + [items[1]])
            }
        }
    }
}
