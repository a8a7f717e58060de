import Crypto
import Foundation
import Mustache

/// A page: a value whose fields fill a template. Fields are texts, numbers, booleans, optionals, and arrays of values
/// of the same kinds.
public protocol Page: Sendable {
    /// The parts that a page shares with others, such as its title. A field of the page precedes one of the frame.
    associatedtype Frame: Sendable
    /// The template's name: its file's name without the extension.
    static var template: String { get }
    /// The shared parts.
    var frame: Frame { get }
}

/// A page and its frame as one object.
private struct FramedPage: MustacheParent {
    let page: Any
    let frame: Any

    func child(named name: String) -> Any? {
        for object in [page, frame] {
            guard let child = Mirror(reflecting: object).children.first(where: { $0.label == name })?.value else {
                continue
            }
            let mirror = Mirror(reflecting: child)
            return mirror.displayStyle == .optional ? mirror.children.first?.value : child
        }
        return nil
    }
}

/// The templates of all pages, which are embedded in the program. They escape every text for HTML.
public struct PageTemplates: Sendable {
    /// The templates as they were built.
    public static let embedded = Result { try PageTemplates(files: files) }

    private let library: MustacheLibrary
    /// The style sheet of all pages.
    public let stylesheet: Asset

    /// A file that pages refer to by an address that changes with the file.
    public struct Asset: Sendable {
        /// The path, such as `/assets/style-0123456789abcdef.css`.
        public let path: String
        /// The file's content.
        public let bytes: [UInt8]
    }

    /// A template that is missing or cannot be parsed: a mistake of the program.
    public struct Failure: Error, CustomStringConvertible {
        /// The mistake.
        public let description: String
    }

    /// The embedded files by name.
    static let files: [String: [UInt8]] = [
        "layout.mustache": PackageResources.layout_mustache, "store.mustache": PackageResources.store_mustache,
        "item.mustache": PackageResources.item_mustache, "items.mustache": PackageResources.items_mustache,
        "note.mustache": PackageResources.note_mustache, "confirm.mustache": PackageResources.confirm_mustache,
        "tile.mustache": PackageResources.tile_mustache,
        "review.mustache": PackageResources.review_mustache, "style.css": PackageResources.style_css,
    ]

    /// Parses templates.
    /// - Throws: the parser's error.
    init(files: [String: [UInt8]]) throws {
        var library = MustacheLibrary()
        for (name, bytes) in files where name.hasSuffix(".mustache") {
            try library.register(String(decoding: bytes, as: UTF8.self), named: String(name.dropLast(9)))
        }
        self.library = library
        let style = files["style.css"] ?? []
        let digest = SHA256.hash(data: style).prefix(8).map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
        stylesheet = Asset(path: "/assets/style-\(digest).css", bytes: style)
    }

    /// Fills a page's template.
    /// - Throws: ``Failure`` when there is no such template.
    public func html<Content: Page>(_ page: Content) throws -> String {
        guard
            let html = library.render(
                FramedPage(page: page, frame: page.frame), withTemplate: Content.template)
        else {
            throw Failure(description: "no template “\(Content.template)”")
        }
        return html
    }
}
