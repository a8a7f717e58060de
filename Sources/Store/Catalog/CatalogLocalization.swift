/// The name and description of a product or a subscription group in one language.
public struct CatalogLocalization: Sendable, Hashable {
    /// As the file has it: `en_US`, `zh_Hans`, `ar`, or with hyphens.
    public var locale: String
    public var displayName: String
    public var description: String?
    /// Keys that this program does not know.
    public var unknown: [String: JSONValue]

    public init(locale: String, displayName: String, description: String?, unknown: [String: JSONValue]) {
        self.locale = locale
        self.displayName = displayName
        self.description = description
        self.unknown = unknown
    }
}
