import Foundation
import StoreKit

/// What the app sells: it knows the identifiers; names, prices and the chapters themselves come from the store.
public enum Chapter: Int, CaseIterable, Sendable {
    case first = 1
    case second

    public var productIdentifier: String { "com.example.bookchapters.chapter\(rawValue)" }

    /// The chapter of a product; nil when the app does not know it.
    public init?(productIdentifier: String) {
        guard let chapter = Chapter.allCases.first(where: { $0.productIdentifier == productIdentifier }) else {
            return nil
        }
        self = chapter
    }

    /// What the reader calls it.
    public var name: String { "Chapter \(rawValue)" }
}

/// A chapter that is on this device.
public struct ChapterText: Sendable {
    /// `ContentVersion` of its package.
    public let version: String
    public let text: String
    /// A PNG file.
    public let picture: URL

    /// A chapter is a few pages.
    private static let longestText = 1 << 20

    /// Reads what lies on the shelf.
    ///
    /// - Throws: an error of Foundation's when the content is not what the app's chapters are made of.
    public init(_ item: ContentShelf.Item) throws {
        version = item.version
        let file = item.contents.appendingPathComponent("chapter.txt")
        let bytes = try Data(contentsOf: file)
        guard bytes.count <= Self.longestText else { throw CocoaError(.fileReadTooLarge) }
        text = String(decoding: bytes, as: UTF8.self)
        picture = item.contents.appendingPathComponent("picture.png")
    }
}
