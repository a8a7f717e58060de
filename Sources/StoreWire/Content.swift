/// The hosted content of a product or transaction that the device can download now.
public struct HostedContent: Codable, Sendable, Hashable {
    /// `ContentVersion` of the package's `ContentInfo.plist`, such as `1.0`.
    public var version: String
    /// The package sizes in bytes. The array always holds one size, because a product has one package.
    public var lengths: [Int64]

    /// Creates a description of hosted content.
    public init(version: String, lengths: [Int64]) {
        self.version = version
        self.lengths = lengths
    }
}

/// Asks for the download address of a transaction's hosted content. Sent to ``StoreRoute/content(_:)``.
public struct ContentRequest: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The version of a download that has already begun. The store grants this version as long as it keeps it, and the
    /// newest version otherwise. Nil asks for the newest version.
    public var version: String?

    /// Creates a content request.
    public init(bundleID: BundleID, version: String?) {
        self.bundleID = bundleID
        self.version = version
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case version
    }
}

/// The download address of a transaction's hosted content, with the size and digest to expect.
public struct ContentGrant: Codable, Sendable, Equatable {
    /// The product that the content belongs to.
    public var contentID: ProductID
    /// `ContentVersion` of the package.
    public var version: String
    /// The package's size in bytes.
    public var length: Int64
    /// The total size of the unpacked files, in bytes.
    public var unpackedLength: Int64
    /// SHA-256 of the package in lower-case hexadecimal.
    public var sha256: String
    /// The package's address: an absolute URL, or a path and query on the store that granted it. A request to it needs
    /// no token and may carry `Range`.
    public var url: String
    /// When the address expires, in milliseconds since 1970 by the store's clock.
    public var expires: Int64

    /// Creates a content grant.
    public init(
        contentID: ProductID, version: String, length: Int64, unpackedLength: Int64, sha256: String, url: String,
        expires: Int64
    ) {
        self.contentID = contentID
        self.version = version
        self.length = length
        self.unpackedLength = unpackedLength
        self.sha256 = sha256
        self.url = url
        self.expires = expires
    }

    private enum CodingKeys: String, CodingKey {
        case contentID = "contentId"
        case version, length, unpackedLength, sha256, url, expires
    }
}
