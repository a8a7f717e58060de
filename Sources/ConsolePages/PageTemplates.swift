import CornerstoreEncoding
import Crypto
import Foundation
import Mustache

/// A part of a page. Its fields fill a template: texts, numbers, booleans, parts, optionals of these, and arrays of
/// parts. For an array `rows`, `hasRows` says whether it has elements.
public protocol PagePart: Sendable {}

/// A page: a value whose fields fill a template.
public protocol Page: PagePart {
    /// The parts that a page shares with others, such as its title. A field of the page precedes one of the frame.
    associatedtype Frame: PagePart
    /// The template's name: its file's name without the extension.
    static var template: String { get }
    /// The shared parts.
    var frame: Frame { get }
}

/// The fields of a part by name. A part is taken apart once: a template would reflect it for each name that it asks
/// for.
private func fieldsByName(_ part: any PagePart) -> [String: Any] {
    var fields: [String: Any] = [:]
    for case (let name?, let value) in Mirror(reflecting: part).children where name != "frame" {
        switch value {
        case let text as String: fields[name] = text
        case let isSo as Bool: fields[name] = isSo
        case let part as any PagePart: fields[name] = fieldsByName(part)
        case let texts as [String]: add(texts)
        case let cells as [ConsoleCell]: add(cells)
        case let parts as [any PagePart]: add(parts.map(fieldsByName))
        default:
            // The value is a number or nil. A nil is left out.
            if Mirror(reflecting: value).displayStyle != .optional { fields[name] = value }
        }
        func add(_ list: [some Any]) {
            fields[name] = list
            fields["has" + name.prefix(1).uppercased() + name.dropFirst()] = !list.isEmpty
        }
    }
    return fields
}

/// The templates of all pages, which are embedded in the program. They escape every text for HTML.
public struct PageTemplates: Sendable {
    /// The templates as they were built.
    public static let embedded = Result { try PageTemplates(files: files) }

    private let library: MustacheLibrary
    /// The style sheet of the storefront's pages and of payment sheets.
    public let stylesheet: Asset
    /// The style sheet of the console's pages.
    public let consoleStylesheet: Asset
    /// The script of the console's pages.
    public let consoleScript: Asset
    /// The style sheet of devices' screens.
    public let screenStylesheet: Asset
    /// The script of forms that send a file piece by piece.
    public let uploadScript: Asset
    /// The console's icon.
    public let consoleIcon: Asset

    /// A file that pages refer to by an address that changes with the file.
    public struct Asset: Sendable {
        /// The path, such as `/assets/style-0123456789abcdef.css`.
        public let path: String
        /// The file's content.
        public let bytes: [UInt8]
        /// The content's type.
        public let type: String

        /// Names the file after its digest.
        init(_ name: String, _ ending: String, _ type: String, _ bytes: [UInt8]) {
            path = "/assets/\(name)-\(Hexadecimal.encoded(SHA256.hash(data: bytes).prefix(8))).\(ending)"
            self.bytes = bytes
            self.type = type
        }
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
        "tokens.css": PackageResources.tokens_css, "console.css": PackageResources.console_css,
        "console.js": PackageResources.console_js, "upload.js": PackageResources.upload_js,
        "console.svg": PackageResources.console_svg,
        "console.mustache": PackageResources.console_mustache, "section.mustache": PackageResources.section_mustache,
        "table.mustache": PackageResources.table_mustache, "form.mustache": PackageResources.form_mustache,
        "button.mustache": PackageResources.button_mustache, "code.mustache": PackageResources.code_mustache,
        "sheet.mustache": PackageResources.sheet_mustache,
        "timeline.mustache": PackageResources.timeline_mustache, "event.mustache": PackageResources.event_mustache,
        "screen.mustache": PackageResources.screen_mustache, "picture.mustache": PackageResources.picture_mustache,
        "screen.css": PackageResources.screen_css,
        "subscriptions.mustache": PackageResources.subscriptions_mustache,
        "question.mustache": PackageResources.question_mustache, "signin.mustache": PackageResources.signin_mustache,
    ]

    /// Parses templates.
    /// - Throws: the parser's error.
    init(files: [String: [UInt8]]) throws {
        var library = MustacheLibrary()
        for (name, bytes) in files where name.hasSuffix(".mustache") {
            try library.register(String(decoding: bytes, as: UTF8.self), named: String(name.dropLast(9)))
        }
        self.library = library
        let tokens = files["tokens.css"] ?? []
        let css = "text/css; charset=utf-8"
        stylesheet = Asset("style", "css", css, tokens + (files["style.css"] ?? []))
        consoleStylesheet = Asset("console", "css", css, tokens + (files["console.css"] ?? []))
        screenStylesheet = Asset(
            "screen", "css", css, tokens + (files["console.css"] ?? []) + (files["screen.css"] ?? []))
        consoleScript = Asset("console", "js", "text/javascript; charset=utf-8", files["console.js"] ?? [])
        uploadScript = Asset("upload", "js", "text/javascript; charset=utf-8", files["upload.js"] ?? [])
        consoleIcon = Asset("console", "svg", "image/svg+xml", files["console.svg"] ?? [])
    }

    /// Reads the files of a folder instead of the embedded ones, for those who change them.
    /// - Throws: ``Failure`` when a file is missing or too large, or the parser's error.
    public init(folder: URL) throws {
        var found: [String: [UInt8]] = [:]
        for name in Self.files.keys {
            guard let data = try? Data(contentsOf: folder.appendingPathComponent(name)), data.count < 1 << 20 else {
                throw Failure(description: "\(folder.path) has no readable file \(name) of less than 1 MiB.")
            }
            found[name] = Array(data)
        }
        try self.init(files: found)
    }

    /// Fills a page's template.
    /// - Throws: ``Failure`` when there is no such template.
    public func html<Content: Page>(_ page: Content) throws -> String {
        let fields = fieldsByName(page.frame).merging(fieldsByName(page)) { $1 }
        guard let html = library.render(fields, withTemplate: Content.template) else {
            throw Failure(description: "no template “\(Content.template)”")
        }
        return html
    }
}
