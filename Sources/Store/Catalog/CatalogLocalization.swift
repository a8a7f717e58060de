/// The name and description of a product or a subscription group in one language.
public struct CatalogLocalization: Sendable, Hashable {
    /// The locale as the file has it, such as `en_US`, `zh_Hans` or `ar`. Hyphens are possible.
    public var locale: String
    /// The name that customers see.
    public var displayName: String
    /// The description that customers see.
    public var description: String?
    /// The keys that this program does not know.
    public var unknown: [String: JSONValue]

    /// Creates a localization.
    public init(locale: String, displayName: String, description: String?, unknown: [String: JSONValue]) {
        self.locale = locale
        self.displayName = displayName
        self.description = description
        self.unknown = unknown
    }
}
