import BlobStorage
import Foundation
import Merchant
import MerchantWire

/// Stores content from any source. The bytes are assembled in a temporary file, which is removed when the transfer
/// breaks off. A complete file becomes the item's next version.
struct ContentIntake: Sendable {
    let merchant: Merchant
    let uploads: StagingFolder

    /// A file that is being received.
    struct Incoming: Sendable {
        fileprivate let file: StagedFile
        fileprivate let turn: Int

        /// Appends bytes.
        /// - Throws: ``MerchantError`` `too_large` over the size limit of a version; ``BlobError``.
        func append(_ bytes: some Sequence<UInt8> & Sendable & Collection) async throws {
            guard file.length + Int64(bytes.count) <= MerchantLimits.content else { throw ContentIntake.tooLarge }
            _ = try await file.append(bytes, turn: turn)
        }
    }

    private static let tooLarge = MerchantError(.tooLarge, "A file must have at most \(MerchantLimits.content) bytes.")

    /// Checks the announced size before any byte arrives.
    /// - Parameter size: in bytes.
    /// - Throws: ``MerchantError`` `too_large`.
    func check(size: Int64) throws {
        guard size <= MerchantLimits.content else { throw Self.tooLarge }
    }

    /// Stores the bytes that `fill` appends as the item's next version.
    /// - Throws: the errors of ``Merchant/addContent(_:file:digest:size:mediaType:)`` and of `fill`.
    func keep(
        _ item: ContentItemID, mediaType: String, _ fill: (Incoming) async throws -> Void
    ) async throws -> ContentVersion {
        // Check the media type before all bytes have arrived.
        try Merchant.check(mediaType: mediaType)
        let url = uploads.url.appendingPathComponent("\(UUID().uuidString).new")
        defer { try? FileManager.default.removeItem(at: url) }
        let file = try await StagedFile.open(url)
        try await fill(Incoming(file: file, turn: file.begin().turn))
        guard file.length > 0 else { throw MerchantError(.invalidRequest, "The file is empty.") }
        merchant.onStep?(.uploadReceived)
        return try await merchant.addContent(
            item, file: url, digest: file.digest, size: file.length, mediaType: mediaType)
    }
}
