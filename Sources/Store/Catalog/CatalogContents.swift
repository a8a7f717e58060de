import StoreWire

/// The contents of one catalog file.
public struct CatalogContents: Sendable, Equatable {
    /// The apps that the file describes.
    public var apps: [CatalogApp]
    /// The items that the file describes; empty for a `.storekit` file.
    public var items: [CatalogItem]
    /// Notes for the operator: the origin of the bundle id, and probable mistakes.
    public var notes: [String]

    /// Creates the contents of a file.
    public init(apps: [CatalogApp], items: [CatalogItem] = [], notes: [String]) {
        self.apps = apps
        self.items = items
        self.notes = notes
    }
}

/// The origin of an app's bundle id. A `.storekit` file does not contain one.
public enum BundleIDOrigin: Sendable, Equatable {
    /// The caller gave it.
    case given
    /// The longest common reverse-DNS prefix of the product ids.
    case productIDs
    /// Generated from the file's name, because the product ids have no such prefix.
    case fileName

    /// Chooses the bundle id: the given one, else the prefix of at least two components that all product ids share (for
    /// a single product, its id without the last component), else `com.example.` and the file's name.
    public static func bundleID(
        given: BundleID?, productIDs: [ProductID], file: String
    ) -> (bundleID: BundleID, origin: BundleIDOrigin) {
        if let given { return (given, .given) }
        if let prefix = commonPrefix(of: productIDs) { return (BundleID(prefix), .productIDs) }
        return (BundleID("com.example." + component(of: file)), .fileName)
    }

    /// Whether the text is a valid bundle id: 1 to 155 letters, digits, periods, hyphens and underscores, without an
    /// empty component. Underscores are allowed because the prefix of product ids can contain them.
    static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count) && text.utf8.allSatisfy(isBundleByte) && !text.hasPrefix(".")
            && !text.hasSuffix(".") && !text.contains("..")
    }

    private static func commonPrefix(of productIDs: [ProductID]) -> String? {
        guard let first = productIDs.first else { return nil }
        var common = components(first)
        if productIDs.count == 1 { common = common.dropLast() }
        for productID in productIDs.dropFirst() {
            let other = components(productID)
            let shared = zip(common, other).prefix { $0 == $1 }.count
            common = common.prefix(shared)
        }
        let prefix = common.joined(separator: ".")
        return common.count >= 2 && isBundleID(prefix) ? prefix : nil
    }

    private static func components(_ productID: ProductID) -> ArraySlice<Substring> {
        productID.rawValue.split(separator: ".", omittingEmptySubsequences: false)[...]
    }

    /// The file's name without folder and extension, with hyphens for all other characters.
    private static func component(of file: String) -> String {
        let name = file.split(separator: "/").last ?? ""
        let stem = name.split(separator: ".").first ?? ""
        let safe = stem.utf8.prefix(100).map { isBundleByte($0) && $0 != 0x5F ? Character(Unicode.Scalar($0)) : "-" }
        return safe.contains { $0 != "-" } ? String(safe) : "app"
    }

    private static func isBundleByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }
}
