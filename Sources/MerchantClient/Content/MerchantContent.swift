import Foundation
import MerchantWire

/// Content that is on the disk.
public struct MerchantContent: Sendable, Hashable {
    /// The content item.
    public let item: ContentItemID
    /// 1, 2, 3…
    public let version: Int64
    /// What it is: `application/epub+zip`.
    public let mediaType: String
    /// In bytes.
    public let size: Int64
    /// Its SHA-256, 64 lower-case digits: what was announced, and what came.
    public let digest: String
    /// The file. It stays until it is removed with ``MerchantClient/remove(_:)``.
    public let file: URL

    init(_ version: ContentVersion, file: URL) {
        item = version.item
        self.version = version.version
        mediaType = version.mediaType
        size = version.size
        digest = version.digest
        self.file = file
    }
}
