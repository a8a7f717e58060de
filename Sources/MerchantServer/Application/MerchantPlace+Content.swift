import BlobStorage
import Foundation
import Glibc
import Logging
import Merchant
import MerchantWire

extension MerchantPlace {
    /// The number of bytes that are read from a file at a time.
    private static let piece = 1 << 20

    /// Stores a local file as an item's next version, as an upload to the server would. A running server delivers it
    /// from then on.
    /// - Parameters:
    ///   - mediaType: nil for the media type of the item's newest version, or else the one that the file's name
    ///     suggests.
    ///   - bucket: the bucket in which the merchant stores content; nil for the folder in its data directory.
    ///   - progress: called with the number of bytes read so far.
    /// - Throws: ``MerchantServerError`` `storage` for a file that cannot be read, or when the merchant's content is
    ///   stored elsewhere; ``MerchantError``, ``BlobError``, ``DatabaseError``.
    public func putContent(
        _ item: ContentItemID, from url: URL, mediaType: String?, bucket: S3Location?, logger: Logger,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> ContentVersion {
        let file = try Self.openFile(url)
        defer { try? file.close() }
        return try await withMerchant(bucket: bucket, logger: logger) { merchant in
            let known = try await merchant.contentList().items
            try await Self.check(known, areIn: merchant.blobs)
            let mediaType = mediaType ?? known.first { $0.item == item }?.mediaType ?? MediaTypes.of(url)
            if bucket == nil { _ = try makeFolder(Self.contentFolder) }
            let intake = ContentIntake(
                merchant: merchant, uploads: try StagingFolder(in: try makeFolder(Self.uploads)))
            try intake.check(size: Int64(try file.seekToEnd()))
            try file.seek(toOffset: 0)
            return try await intake.keep(item, mediaType: mediaType) { incoming in
                var read: Int64 = 0
                while let piece = try file.read(upToCount: Self.piece), !piece.isEmpty {
                    try Task.checkCancellation()
                    try await incoming.append(piece)
                    read += Int64(piece.count)
                    progress(read)
                }
            }
        }
    }

    /// Opens a regular file. A pipe or a device might have no end.
    private static func openFile(_ url: URL) throws -> FileHandle {
        var status = stat()
        guard stat(url.path, &status) == 0 else {
            throw MerchantServerError(.storage, "There is no file \(url.path).")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MerchantServerError(.storage, "\(url.path) is not a file. Name a file.")
        }
        guard let file = FileHandle(forReadingAtPath: url.path) else {
            throw MerchantServerError(.storage, "\(url.path) cannot be opened. Check its permissions.")
        }
        return file
    }

    /// Checks that `blobs` is the merchant's store of content: it must contain at least one of the newest versions.
    /// - Throws: ``MerchantServerError`` `storage`; ``BlobError``.
    static func check(_ known: [ContentVersion], areIn blobs: any BlobStore) async throws {
        let newest = known.sorted { $0.createdAt > $1.createdAt }.prefix(8)
        guard !newest.isEmpty else { return }
        for version in newest {
            guard let digest = BlobDigest(version.digest) else { continue }
            if try await blobs.size(of: digest) != nil { return }
        }
        throw MerchantServerError(
            .storage,
            "This merchant's content is stored elsewhere. Name the data directory of its server with --data, or its bucket with --blobs, as the "
                + "server was started.")
    }
}

/// Media types by the extensions of file names.
enum MediaTypes {
    private static let known = [
        "epub": "application/epub+zip", "gif": "image/gif", "html": "text/html", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "json": "application/json", "m4a": "audio/mp4", "mobi": "application/x-mobipocket-ebook",
        "md": "text/markdown", "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png",
        "svg": "image/svg+xml", "txt": "text/plain", "xml": "application/xml", "zip": "application/zip",
    ]

    static func of(_ url: URL) -> String { known[url.pathExtension.lowercased()] ?? "application/octet-stream" }
}
