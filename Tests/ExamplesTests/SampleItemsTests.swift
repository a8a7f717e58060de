import Foundation
import Store
import StoreWire
import Testing

@Suite("Sample items", .timeLimit(.minutes(1)))
struct SampleItemsTests {
    private static func catalog() throws -> Catalog {
        let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Examples")
        let files: [(String, BundleID?)] = [
            ("MonkeyCredits/MonkeyCredits.storekit", "com.example.monkeys"),
            ("PhotoFilters/PhotoFilters.storekit", "com.example.photofilters"), ("Storefront/Items.yaml", nil),
        ]
        return try Catalog.load(
            files: files.map { CatalogFile(path: examples.appendingPathComponent($0).path, bundleID: $1) }
        ).catalog
    }

    @Test func `the items are those of two apps, an album, a film and a book`() throws {
        let catalog = try Self.catalog()
        #expect(catalog.items.map(\.kind) == [.app, .app, .album, .song, .song, .song, .film, .book])
        for bundleID in ["com.example.monkeys", "com.example.photofilters"] as [BundleID] {
            let item = try #require(catalog.storeItem(bundleID: bundleID))
            #expect(catalog.apps.contains { $0.bundleID == bundleID && $0.itemID == item.number })
            #expect(!item.screenshots.isEmpty)
        }
        let songs = catalog.items.filter { $0.kind == .song }
        #expect(songs.allSatisfy { $0.preview != nil && $0.file != nil && $0.duration != nil })
        #expect(songs.compactMap(\.place?.track) == [1, 2, 3])
        let locales = Set(catalog.items.flatMap { $0.texts.map(\.locale) })
        #expect(locales.isSuperset(of: ["en_US", "de_DE", "zh_Hans", "ja_JP"]))
    }

    @Test func `related items are others of the catalog`() throws {
        let catalog = try Self.catalog()
        for item in catalog.items {
            #expect(!item.relatedItems.isEmpty && !item.relatedItems.contains(item.number))
            for number in item.relatedItems { #expect(catalog.storeItem(number) != nil, "\(item.number)") }
        }
    }

    @Test func `pictures and files are of their types, and small`() throws {
        for item in try Self.catalog().items {
            let artwork = try #require(item.artwork, "\(item.number)")
            for picture in [artwork] + item.screenshots.map(\.picture) {
                let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: picture.path)))
                #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) && bytes.count < 40_000, "\(picture.path)")
            }
            for file in [item.preview, item.file].compactMap({ $0 }) {
                let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file.path)))
                #expect(bytes.count <= 100_000 && Int64(bytes.count) == file.length, "\(file.path)")
                switch file.mediaType {
                case "audio/wav":
                    #expect(bytes.starts(with: Array("RIFF".utf8)) && bytes[8..<12].elementsEqual("WAVE".utf8))
                    if file == item.file {
                        // 11,025 bytes a second after a header of 44 bytes.
                        let milliseconds = (Int64(bytes.count) - 44) * 1000 / 11_025
                        #expect(abs(milliseconds - (item.duration ?? 0)) < 50, "\(file.path) \(milliseconds)")
                    }
                case "video/webm": #expect(bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]))
                case "application/epub+zip":
                    #expect(bytes[30..<58].elementsEqual("mimetypeapplication/epub+zip".utf8))
                default: Issue.record("\(file.path) is \(file.mediaType)")
                }
            }
        }
    }
}
