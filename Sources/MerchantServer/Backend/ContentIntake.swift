import BlobStorage
import Foundation
import Merchant
import MerchantWire

/// Puts content in, from wherever it comes: it is put together in a file of its own, which leaves nothing when it breaks off, and becomes the item's
/// next version when it is whole.
struct ContentIntake: Sendable {
    let merchant: Merchant
    let uploads: StagingFolder

    /// A file on its way in.
    struct Incoming: Sendable {
        fileprivate let file: StagedFile
        fileprivate let turn: Int

        /// - Throws: ``MerchantError`` `too_large` for more than one version may have; ``BlobError``.
        func append(_ bytes: some Sequence<UInt8> & Sendable & Collection) async throws {
            guard file.length + Int64(bytes.count) <= MerchantLimits.content else { throw ContentIntake.tooLarge }
            _ = try await file.append(bytes, turn: turn)
        }
    }

    private static let tooLarge = MerchantError(.tooLarge, "A file has at most \(MerchantLimits.content) bytes.")

    /// - Parameter size: in bytes, before any of them has come.
    /// - Throws: ``MerchantError`` `too_large`.
    func check(size: Int64) throws {
        guard size <= MerchantLimits.content else { throw Self.tooLarge }
    }

    /// Keeps what `fill` appends as the item's next version.
    /// - Throws: as ``Merchant/addContent(_:file:digest:size:mediaType:)``, and what `fill` throws.
    func keep(
        _ item: ContentItemID, mediaType: String, _ fill: (Incoming) async throws -> Void
    ) async throws -> ContentVersion {
        // Before all of it has come.
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
