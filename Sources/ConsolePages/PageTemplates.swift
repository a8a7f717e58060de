import Mustache

/// The templates of the pages, parsed once from the files that are embedded in this module.
public struct PageTemplates: Sendable {
    private let library: MustacheLibrary

    /// Parses the embedded templates.
    /// - Throws: the parser's error when a template is not valid Mustache.
    public init() throws {
        library = MustacheLibrary(templates: [
            "page": try MustacheTemplate(string: String(decoding: PackageResources.page_mustache, as: UTF8.self))
        ])
    }

    /// Renders a template; nil when there is no template of this name.
    public func render(_ name: String, _ values: some Sendable) -> String? {
        library.render(values, withTemplate: name)
    }
}
