import BlobStorage
import ContentPackages
import Database
import Foundation
import StoreWire

extension ContentLibrary {
    /// The most bytes of a package.
    public static let largestPackage: Int64 = 2_000_000_000
    /// How long an upload is kept after its last byte, or after it was settled.
    static let uploadLifetime: Int64 = 7 * 24 * 3600 * 1000
    /// How many bytes of an upload are written before it is looked again how much room there is.
    private static let checksRoomEvery: Int64 = 16 << 20
    /// Uploads that may be under way at once: of a product, and of all.
    static let mostUploads = (ofProduct: 8, ofAll: 64)

    /// Begins an upload, or goes on with that of the same file. One whose bytes are at another process begins anew here.
    /// - Parameters:
    ///   - length: of the package, in bytes.
    ///   - digest: of the package.
    /// - Throws: ``StoreError`` `too_large`, `invalid_request`, or `wrong_state` when hosting is off or too many are under way; ``DatabaseError``.
    public func beginUpload(
        of product: ContentProduct, length: Int64, digest: BlobDigest, at now: Int64
    ) async throws -> ContentUpload {
        guard length > 0 else { throw StoreError(.invalidRequest, "A package has at least one byte.") }
        guard length <= Self.largestPackage else {
            throw StoreError(.tooLarge, "A package has at most \(Self.largestPackage) bytes, this one \(length).")
        }
        try await expireUploads(at: now)
        let new = ContentUpload(
            uploadID: UUID(), product: product, length: length, digest: digest, createdAt: now, touchedAt: now,
            place: staging.place)
        let upload = try await database.write { [staging] connection in
            guard try HostedProduct.isHosted(product, connection) else { throw HostedProduct.off(product) }
            for same in try ContentUpload.same(as: new, connection) {
                if !same.isSettled {
                    guard same.length == length else {
                        throw StoreError(
                            .invalidRequest, "A file of that SHA-256 is being uploaded with \(same.length) bytes.")
                    }
                    if staging.has(same) { return same }
                    // That process may be gone for good. If it is not, its next answer is that there is no such upload.
                    try ContentUpload.remove(same.uploadID, connection)
                    continue
                }
                if let versionID = same.versionID, let version = try HostedVersion.find(versionID, connection),
                    version.state.holdsItsNumber
                {
                    return same
                }
            }
            let open = try connection.query(
                "SELECT bundle_id, product_id FROM content_uploads WHERE version_id IS NULL AND findings IS NULL")
            let ofProduct = try open.filter {
                try ContentProduct(ProductID($0.string(1)), of: BundleID($0.string(0))) == product
            }
            guard open.count < Self.mostUploads.ofAll, ofProduct.count < Self.mostUploads.ofProduct else {
                throw StoreError(
                    .wrongState,
                    "\(ofProduct.count) uploads of the product and \(open.count) of all are under way. Complete or cancel some."
                )
            }
            try new.insert(connection)
            return new
        }
        return counted(upload)
    }

    /// An upload as it stands.
    /// - Throws: ``StoreError`` `unknown_content`, or `wrong_state` when its bytes are at another process; ``DatabaseError``.
    public func upload(_ uploadID: UUID) async throws -> ContentUpload {
        counted(try await here(uploadID))
    }

    /// An upload whose bytes are at this process, or that needs none any more.
    private func here(_ uploadID: UUID) async throws -> ContentUpload {
        let upload = try await row(uploadID)
        guard upload.isSettled || staging.has(upload) else {
            throw StoreError(
                .wrongState,
                "The upload was begun at another process of this store, which has its bytes. Go on there, or begin it here anew."
            )
        }
        return upload
    }

    private func row(_ uploadID: UUID) async throws -> ContentUpload {
        guard let upload = try await database.read({ try ContentUpload.find(uploadID, $0) }) else {
            throw StoreError(.unknownContent, "There is no such upload. Uploads are kept for seven days.")
        }
        return upload
    }

    /// With the bytes that have arrived.
    func counted(_ upload: ContentUpload) -> ContentUpload {
        var upload = upload
        upload.offset = upload.isSettled ? upload.length : staging.length(upload.uploadID)
        return upload
    }

    /// Takes an upload's next bytes, as they come. Whoever begins later takes over.
    /// - Parameters:
    ///   - offset: where the bytes begin, which is how many have arrived.
    ///   - pieces: fails when the sender is gone; what has arrived until then stays.
    /// - Returns: the upload with the bytes that have arrived.
    /// - Throws: ``WrongOffset``; ``StoreError`` `unknown_content`, `wrong_state`, `too_large`, `unavailable`; ``DatabaseError``.
    public func append<Pieces: AsyncSequence & Sendable>(
        _ pieces: Pieces, to uploadID: UUID, offset: Int64, at now: Int64
    ) async throws -> ContentUpload where Pieces.Element: Sequence<UInt8> & Sendable {
        let upload = try await here(uploadID)
        guard upload.state == .waitingForUpload else {
            throw StoreError(.wrongState, "All bytes of the upload have arrived.")
        }
        try await database.write { connection in
            try connection.execute(
                "UPDATE content_uploads SET touched_at = $2 WHERE upload_id = $1", [uploadID.uuidString, now])
        }
        let file = try await mapping { try await staging.file(uploadID) }
        let (turn, arrived) = file.begin()
        guard arrived == offset else { throw WrongOffset(offset: arrived) }
        var room = upload.length - arrived
        try staging.requireRoom(for: room)
        var unchecked: Int64 = 0
        for try await piece in pieces {
            // Others write to the disk as well.
            unchecked += Int64(piece.underestimatedCount)
            if unchecked > Self.checksRoomEvery {
                try staging.requireRoom(for: unchecked)
                unchecked = 0
            }
            room -= Int64(piece.underestimatedCount)
            guard room >= 0 else {
                throw StoreError(.tooLarge, "The upload was begun with \(upload.length) bytes, and more were sent.")
            }
            guard try await mapping({ try await file.append(piece, turn: turn) }) else {
                throw StoreError(.wrongState, "The upload is gone on with by another request.")
            }
        }
        return counted(upload)
    }

    /// Cancels an upload; what has arrived is forgotten.
    /// - Throws: ``StoreError`` `unknown_content`, or `wrong_state` when a version came of it; ``DatabaseError``.
    public func cancelUpload(_ uploadID: UUID) async throws {
        try await completions.take { [self] in
            let upload = try await row(uploadID)
            guard upload.versionID == nil else {
                throw StoreError(.wrongState, "A version came of the upload. Remove that.")
            }
            try await database.write { try ContentUpload.remove(uploadID, $0) }
            staging.remove(uploadID)
            try await forget(upload.digest)
        }
    }

    /// Looks at a package that has arrived whole, and keeps it when it is in order. Repeated, it gives the first answer; while it is looked
    /// at, nothing of it can be seen.
    /// - Throws: ``StoreError`` `wrong_state` while bytes are missing or when a version of that number is there; `invalid_content` when other
    ///   bytes have arrived than were announced, which are forgotten then; ``DatabaseError``. The upload stays, and can be completed again.
    public func complete(_ uploadID: UUID, at now: @escaping @Sendable () -> Int64) async throws
        -> ContentUploadOutcome
    {
        // One at a time, so that a repeated request waits for the first one's answer.
        try await completions.take { [self] in
            let upload = try await here(uploadID)
            if let outcome = try await outcome(of: upload) { return outcome }
            let file = try await mapping { try await staging.file(uploadID) }
            guard file.length == upload.length else {
                throw StoreError(
                    .wrongState, "\(file.length) of the \(upload.length) bytes have arrived. Send the rest first.")
            }
            guard file.digest == upload.digest else {
                staging.remove(uploadID)
                throw StoreError(
                    .invalidContent,
                    "The bytes that arrived have not the SHA-256 that was announced. They are forgotten; send them again."
                )
            }
            let since = now()
            let above = try await database.write { connection in
                try connection.execute(
                    "UPDATE content_uploads SET processing_at = $2 WHERE upload_id = $1", [uploadID.uuidString, since])
                return try HostedVersion.all(of: upload.product, connection).filter { $0.approvedAt != nil }.map(
                    \.version
                )
                .max()
            }
            let inspected: Result<CheckedPackage, ContentInspection.Findings>
            do {
                inspected = try await ContentInspection.inspect(file.url, for: upload.product, above: above)
                switch inspected {
                case .success(let package):
                    return try await turns.take { try await self.keep(package, upload, file, since, now()) }
                case .failure(let findings): return try await refuse(findings.all, upload)
                }
            } catch {
                _ = try? await database.write { connection in
                    try connection.execute(
                        "UPDATE content_uploads SET processing_at = NULL WHERE upload_id = $1", [uploadID.uuidString])
                }
                throw error
            }
        }
    }

    /// How a settled upload ended; nil while it goes on.
    private func outcome(of upload: ContentUpload) async throws -> ContentUploadOutcome? {
        if let findings = upload.findings { return .refused(findings) }
        guard let versionID = upload.versionID else { return nil }
        return try await version(versionID).map { .kept($0) }
    }

    private func keep(
        _ package: CheckedPackage, _ upload: ContentUpload, _ file: StagedFile, _ since: Int64, _ now: Int64
    ) async throws -> ContentUploadOutcome {
        var version = HostedVersion(
            versionID: UUID(), product: upload.product, version: package.info.version, state: .readyToSubmit,
            length: upload.length, unpackedLength: package.unpackedLength, digest: upload.digest, createdAt: now,
            approvedAt: nil)
        // The bytes first: a version that can be seen can be downloaded. Another process that forgets the same bytes leaves them, since
        // the upload is being looked at.
        try await mapping { try await blobs.put(file.url, as: upload.digest) }
        let dates = [upload.createdAt, since, now]
        let moments = zip(ContentStateMachine.uploaded, dates).map { HostedVersion.Moment(state: $0, date: $1) }
        let new = version
        try await database.write { connection in
            guard try HostedProduct.isHosted(upload.product, connection) else {
                throw HostedProduct.off(upload.product)
            }
            try new.insert(connection)
            try new.record(moments, connection)
            let settled = try connection.execute(
                "UPDATE content_uploads SET version_id = $2 WHERE upload_id = $1 AND version_id IS NULL AND findings IS NULL",
                [upload.uploadID.uuidString, new.versionID.uuidString])
            guard settled == 1 else { throw StoreError(.wrongState, "The upload was cancelled.") }
        }
        version.history = moments
        staging.remove(upload.uploadID)
        try await refresh()
        return .kept(version)
    }

    private func refuse(_ findings: [UploadFinding], _ upload: ContentUpload) async throws -> ContentUploadOutcome {
        let text = String(decoding: try JSONEncoder().encode(findings), as: UTF8.self)
        try await database.write { connection in
            try connection.execute(
                "UPDATE content_uploads SET findings = $2, processing_at = NULL WHERE upload_id = $1",
                [upload.uploadID.uuidString, text])
        }
        staging.remove(upload.uploadID)
        return .refused(findings)
    }

    /// Forgets what nobody went on with.
    func expireUploads(at now: Int64) async throws {
        let expired = try await database.write { connection in
            let rows = try connection.query(
                """
                SELECT \(ContentUpload.columns) FROM content_uploads
                WHERE touched_at < $1 AND (processing_at IS NULL OR processing_at < $1)
                """, [now - Self.uploadLifetime])
            let expired = try rows.map { try ContentUpload($0) }
            for upload in expired { try ContentUpload.remove(upload.uploadID, connection) }
            return expired
        }
        for upload in expired where !upload.isSettled {
            staging.remove(upload.uploadID)
            // A package whose number was taken is kept already.
            try await forget(upload.digest)
        }
        try await removeStrayFiles()
    }

    /// A place's trouble as the store's.
    func mapping<T>(_ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch let error as BlobError {
            throw StoreError(error.code == .notFound ? .noContent : .unavailable, error.detail)
        }
    }
}

/// The bytes that were sent do not begin where the upload stands.
public struct WrongOffset: Error, Sendable, Equatable {
    /// How many bytes have arrived.
    public var offset: Int64
}
