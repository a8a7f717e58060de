/// The name and description of a product or a subscription group in one language.
public struct CatalogLocalization: Sendable, Hashable {
    /// As the file has it: `en_US`, `zh_Hans`, `ar`, or with hyphens.
    public var locale: String
    /// The name that customers see.
    public var displayName: String
    /// The description that customers see.
    public var description: String?
    /// Keys that this program does not know.
    public var unknown: [String: JSONValue]

    /// Creates a localization.
    public init(locale: String, displayName: String, description: String?, unknown: [String: JSONValue]) {
        self.locale = locale
        self.displayName = displayName
        self.description = description
        self.unknown = unknown
    }
}
