import Foundation
import MerchantWire

/// A version of a content item on the disk.
public struct MerchantContent: Sendable, Hashable {
    /// The content item.
    public let item: ContentItemID
    /// The version number: 1, 2, 3…
    public let version: Int64
    /// The media type, such as `application/epub+zip`.
    public let mediaType: String
    /// The size of the file in bytes.
    public let size: Int64
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits. The downloaded bytes were checked against it.
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
