import Foundation
import StoreKit

/// The chapters that the app sells. Their names, prices and content come from the store.
public enum Chapter: Int, CaseIterable, Sendable {
    /// Chapter 1.
    case first = 1
    /// Chapter 2.
    case second

    /// The identifier of the chapter's product.
    public var productIdentifier: String { "com.example.bookchapters.chapter\(rawValue)" }

    /// Creates the chapter of a product; nil when the app does not know the product.
    public init?(productIdentifier: String) {
        guard let chapter = Chapter.allCases.first(where: { $0.productIdentifier == productIdentifier }) else {
            return nil
        }
        self = chapter
    }

    /// The chapter's name for the reader.
    public var name: String { "Chapter \(rawValue)" }
}

/// The content of a chapter on this device.
public struct ChapterText: Sendable {
    /// The `ContentVersion` of the chapter's package.
    public let version: String
    /// The chapter's text.
    public let text: String
    /// The chapter's picture, a PNG file.
    public let picture: URL

    /// The maximum length of the text in bytes.
    private static let longestText = 1 << 20

    /// Reads a chapter from the shelf.
    ///
    /// - Throws: an error of Foundation when the text is missing or too long.
    public init(_ item: ContentShelf.Item) throws {
        version = item.version
        let file = item.contents.appendingPathComponent("chapter.txt")
        let bytes = try Data(contentsOf: file)
        guard bytes.count <= Self.longestText else { throw CocoaError(.fileReadTooLarge) }
        text = String(decoding: bytes, as: UTF8.self)
        picture = item.contents.appendingPathComponent("picture.png")
    }
}
