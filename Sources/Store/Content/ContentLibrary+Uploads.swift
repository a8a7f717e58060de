import BlobStorage
import ContentPackages
import Database
import Foundation
import StoreWire

extension ContentLibrary {
    /// The largest package, in bytes.
    public static let largestPackage: Int64 = 2_000_000_000
    /// How long an upload is kept after it last received bytes, in milliseconds.
    static let uploadLifetime: Int64 = 7 * 24 * 3600 * 1000
    /// The number of bytes written between two checks of the free disk space.
    private static let checksRoomEvery: Int64 = 16 << 20
    /// The most uploads that can be open at once, for one product and in all.
    static let mostUploads = (ofProduct: 8, ofAll: 64)

    /// Begins an upload, or resumes the open upload of the same file. An upload whose bytes are at another process
    /// starts again here.
    /// - Parameters:
    ///   - length: the package's length in bytes.
    ///   - digest: the package's SHA-256.
    /// - Throws: ``StoreError`` `too_large`, `invalid_request`, or `wrong_state` when hosting is off or too many
    ///   uploads are open; ``DatabaseError``.
    public func beginUpload(
        of product: ContentProduct, length: Int64, digest: BlobDigest, at now: Int64
    ) async throws -> ContentUpload {
        guard length > 0 else { throw StoreError(.invalidRequest, "A package must have at least one byte.") }
        guard length <= Self.largestPackage else {
            throw StoreError(
                .tooLarge, "A package can have at most \(Self.largestPackage) bytes. This one has \(length).")
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
                            .invalidRequest, "An open upload of this SHA-256 has a length of \(same.length) bytes.")
                    }
                    if staging.has(same) { return same }
                    // The other process may never return. If it does, it will answer that the upload does not exist.
                    try same.remove(connection)
                    continue
                }
                if let versionID = same.versionID, let version = try HostedVersion.find(versionID, connection),
                    version.state.holdsItsNumber
                {
                    return same
                }
            }
            let open = try ContentUpload.open(connection)
            let ofProduct = open.filter { $0.product == product }
            guard open.count < Self.mostUploads.ofAll, ofProduct.count < Self.mostUploads.ofProduct else {
                throw StoreError(
                    .wrongState,
                    "Too many uploads are open: \(ofProduct.count) of this product, \(open.count) in all. Complete or cancel some."
                )
            }
            try new.insert(connection)
            return new
        }
        return counted(upload)
    }

    /// The current state of an upload.
    /// - Throws: ``UploadElsewhere``; ``StoreError`` `unknown_content`, or `wrong_state` when its bytes are at one
    ///   that does not share the store; ``DatabaseError``.
    public func upload(_ uploadID: UUID) async throws -> ContentUpload {
        counted(try await here(uploadID))
    }

    /// An upload that is settled or has its bytes at this process.
    private func here(_ uploadID: UUID) async throws -> ContentUpload {
        let upload = try await row(uploadID)
        guard upload.isSettled || staging.has(upload) else {
            guard claims != nil, let place = upload.place else { throw UploadElsewhere.refusal }
            throw UploadElsewhere(place: place)
        }
        return upload
    }

    private func row(_ uploadID: UUID) async throws -> ContentUpload {
        try await database.read { try Self.row(uploadID, $0) }
    }

    private static func row(_ uploadID: UUID, _ connection: Connection) throws -> ContentUpload {
        guard let upload = try ContentUpload.find(uploadID, connection) else {
            throw StoreError(.unknownContent, "No upload has this identifier. Uploads are kept for seven days.")
        }
        return upload
    }

    /// The upload with the number of bytes that have arrived, or with the mark that they are elsewhere.
    func counted(_ upload: ContentUpload) -> ContentUpload {
        var upload = upload
        upload.offset = upload.isSettled ? upload.length : staging.length(upload.uploadID)
        upload.isElsewhere = !upload.isSettled && !staging.has(upload)
        return upload
    }

    /// Appends bytes to an upload as they arrive. A later request for the same upload takes over from an earlier one.
    /// - Parameters:
    ///   - pieces: the bytes. The sequence throws when the connection breaks; bytes that arrived before stay.
    ///   - offset: the position of the first byte, which must equal the number of bytes that have arrived.
    /// - Returns: the upload with the number of bytes that have arrived.
    /// - Throws: ``WrongOffset``; ``UploadElsewhere``; ``StoreError`` `unknown_content`, `wrong_state`, `too_large`,
    ///   `unavailable`; ``DatabaseError``.
    public func append<Pieces: AsyncSequence & Sendable>(
        _ pieces: Pieces, to uploadID: UUID, offset: Int64, at now: Int64
    ) async throws -> ContentUpload where Pieces.Element: Sequence<UInt8> & Sendable {
        let upload = try await here(uploadID)
        guard upload.state == .waitingForUpload else {
            throw StoreError(.wrongState, "All bytes of the upload have arrived.")
        }
        try await database.write { try ContentUpload.touch(uploadID, at: now, $0) }
        let file = try await mapping { try await staging.file(uploadID) }
        let (turn, arrived) = file.begin()
        guard arrived == offset else { throw WrongOffset(offset: arrived) }
        var room = upload.length - arrived
        try staging.requireRoom(for: room)
        var unchecked: Int64 = 0
        for try await piece in pieces {
            // Other uploads and other programs write to the same disk.
            unchecked += Int64(piece.underestimatedCount)
            if unchecked > Self.checksRoomEvery {
                try staging.requireRoom(for: unchecked)
                unchecked = 0
            }
            room -= Int64(piece.underestimatedCount)
            guard room >= 0 else {
                throw StoreError(
                    .tooLarge, "The upload has an announced length of \(upload.length) bytes, but more were sent.")
            }
            guard try await mapping({ try await file.append(piece, turn: turn) }) else {
                throw StoreError(.wrongState, "Another request is continuing this upload.")
            }
        }
        return counted(upload)
    }

    /// Cancels an upload and deletes its bytes.
    /// - Throws: ``StoreError`` `unknown_content`, or `wrong_state` when the upload became a version;
    ///   ``DatabaseError``.
    public func cancelUpload(_ uploadID: UUID) async throws {
        try await completions.run { [self] in
            // In one transaction, because another process may be completing the upload.
            let upload = try await database.write { [self] connection in
                let upload = try Self.row(uploadID, connection)
                guard upload.versionID == nil else {
                    throw StoreError(.wrongState, "The upload became a version. Remove the version instead.")
                }
                try upload.remove(connection)
                try abandon(upload.digest, connection)
                return upload
            }
            staging.remove(uploadID)
            await removeAtOnce(upload.digest)
        }
    }

    /// Checks a package that has arrived completely, and keeps it as a version if it passes. Repeating the call returns
    /// the first result. The version becomes visible only after the check.
    /// - Throws: ``StoreError`` `wrong_state` when bytes are missing or a version of that number exists;
    ///   `invalid_content` when the bytes do not match the announced SHA-256, and the bytes are then deleted;
    ///   ``UploadElsewhere``; ``DatabaseError``. After an error the upload stays open and can be completed again.
    public func complete(_ uploadID: UUID, at now: @escaping @Sendable () -> Int64) async throws
        -> ContentUploadOutcome
    {
        // One completion runs at a time, so that a repeated request waits for the first one's answer.
        try await completions.run { [self] in
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
                    "The SHA-256 of the received bytes is not the announced one. The bytes were deleted; send them again."
                )
            }
            let since = now()
            let above = try await database.write { connection in
                try upload.setCheck(since: since, connection)
                return try HostedVersion.all(of: upload.product, connection).filter { $0.approvedAt != nil }.map(
                    \.version
                )
                .max()
            }
            try? await tell(ManagedPart(upload.product))
            let inspected: Result<CheckedPackage, ContentInspection.Findings>
            do {
                inspected = try await ContentInspection.inspect(file.url, for: upload.product, above: above)
                switch inspected {
                case .success(let package):
                    return try await blobChanges.run { try await self.keep(package, upload, file, since, now()) }
                case .failure(let findings): return try await refuse(findings.all, upload)
                }
            } catch {
                try? await database.write { try upload.setCheck(since: nil, $0) }
                try? await tell(ManagedPart(upload.product))
                throw error
            }
        }
    }

    /// The outcome of a settled upload; nil while the upload is open.
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
        // Store the bytes before the row, so that every visible version can be downloaded. Another process does not
        // delete these bytes meanwhile, because the upload is marked as being checked.
        try await hold(upload.digest)
        try await mapping { try await blobs.put(file.url, as: upload.digest) }
        let dates = [upload.createdAt, since, now]
        let moments = zip(ContentStateMachine.uploaded, dates).map { HostedVersion.Moment(state: $0, date: $1) }
        let new = version
        try await database.write { [self] connection in
            guard try HostedProduct.isHosted(upload.product, connection) else {
                throw HostedProduct.off(upload.product)
            }
            try release(upload.digest, connection)
            try new.insert(connection)
            try new.record(moments, connection)
            guard try upload.settle(as: new.versionID, connection) else {
                throw StoreError(.wrongState, "The upload was cancelled.")
            }
        }
        version.history = moments
        staging.remove(upload.uploadID)
        try await refresh(ManagedPart(upload.product))
        return .kept(version)
    }

    private func refuse(_ findings: [UploadFinding], _ upload: ContentUpload) async throws -> ContentUploadOutcome {
        try await database.write { try upload.refuse(findings, $0) }
        staging.remove(upload.uploadID)
        try? await tell(ManagedPart(upload.product))
        return .refused(findings)
    }

    /// Deletes uploads that received no bytes for seven days, with their files.
    func expireUploads(at now: Int64) async throws {
        let expired = try await database.write { [self] connection in
            let expired = try ContentUpload.untouched(since: now - Self.uploadLifetime, connection)
            for upload in expired { try upload.remove(connection) }
            // A package may have been stored before its version number turned out to be taken.
            for upload in expired where !upload.isSettled { try abandon(upload.digest, connection) }
            return expired
        }
        for upload in expired where !upload.isSettled {
            staging.remove(upload.uploadID)
            await removeAtOnce(upload.digest)
        }
        try await removeStrayFiles()
    }

    /// Runs `body` and maps an error of the blob storage to a ``StoreError``.
    func mapping<T>(_ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch let error as BlobError {
            throw StoreError(error.code == .notFound ? .noContent : .unavailable, error.detail)
        }
    }
}

/// Another process of the store has the bytes of an upload.
public struct UploadElsewhere: Error, Sendable, Equatable {
    /// The identifier of the folder with the bytes (``ContentLibrary/place``).
    public var place: String

    /// The error when that process is not known, or does not run.
    public static let refusal = StoreError(
        .wrongState,
        "Another process of this store has the upload's bytes. Continue there, or begin the upload again here.")
}

/// The bytes sent do not continue the upload where it ended.
public struct WrongOffset: Error, Sendable, Equatable {
    /// The number of bytes that have arrived, which is the offset to continue at.
    public var offset: Int64
}
