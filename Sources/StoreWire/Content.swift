/// The hosted content of a product or a transaction, as far as it can be downloaded now.
public struct HostedContent: Codable, Sendable, Hashable {
    /// `ContentVersion` of the package's `ContentInfo.plist`, such as `1.0`.
    public var version: String
    /// The sizes of the packages to download, in bytes. One for each; there is one.
    public var lengths: [Int64]

    public init(version: String, lengths: [Int64]) {
        self.version = version
        self.lengths = lengths
    }
}

/// Asks for the address of a transaction's hosted content. Sent to ``StoreRoute/content(_:)``.
public struct ContentRequest: Codable, Sendable, Equatable {
    public var bundleID: BundleID
    /// The version whose download was begun: the store goes on with it while it keeps it, and otherwise gives the newest. Nil is the newest.
    public var version: String?

    public init(bundleID: BundleID, version: String?) {
        self.bundleID = bundleID
        self.version = version
    }
}

/// Where the device gets a transaction's hosted content, and what has to arrive.
public struct ContentGrant: Codable, Sendable, Equatable {
    /// The product whose content it is.
    public var contentID: ProductID
    /// `ContentVersion` of the package.
    public var version: String
    /// The package's size in bytes.
    public var length: Int64
    /// The size of its files once unpacked, in bytes.
    public var unpackedLength: Int64
    /// SHA-256 of the package in lower-case hexadecimal.
    public var sha256: String
    /// The package's address: absolute, or a path and query at the store that granted it. It needs no token, and takes `Range`.
    public var url: String
    /// Until when the address is good, in milliseconds since 1970 by the store's clock.
    public var expires: Int64

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
}
