import BlobStorage
import Database
import StoreWire

/// The deletion of bytes that nothing uses. A store of one process deletes them at once. When several processes share
/// the storage, one of them deletes them later.
extension ContentLibrary {
    /// The claim of the process that deletes bytes. A process that reads all of them, such as a backup, keeps it
    /// meanwhile.
    public static let blobsClaim = "blobs"
    /// How long a process that ended keeps the claim, in seconds.
    private static let claimSeconds: Int64 = 60
    /// The most bytes, by their digests, that are deleted in one run.
    private static let mostRemoved = 100
    /// The most bytes, by their digests, that one run tries in vain to delete: the storage may be away.
    private static let mostFailures = 10
    /// How often, and how many times, a process asks whether another one has deleted bytes that it is about to store.
    private static let (pause, mostPauses) = (Duration.milliseconds(50), 100)
    /// The longest time between the record that a process deletes bytes and the deletion; ``DeadBlobs/removedFor`` is
    /// for both.
    private static let mostHesitation = Duration.seconds(60)

    /// Whether a version, an upload that is being checked or an item's file uses these bytes.
    static func isUsed(_ digest: BlobDigest, _ connection: Connection) throws -> Bool {
        try HostedVersion.use(digest, connection) || ContentUpload.isChecked(digest, connection)
            || ItemBlob.use(digest, connection)
    }

    /// Keeps other processes from deleting bytes that this one is about to store. The transaction that records their
    /// use calls ``release(_:_:)``.
    /// - Throws: ``StoreError`` `unavailable` when another process is deleting them; ``DatabaseError``.
    func hold(_ digest: BlobDigest) async throws {
        guard let claims else { return }
        for _ in 0..<Self.mostPauses {
            if try await database.write({ try DeadBlobs.hold(digest, at: claims.now(), $0) }) { return }
            try await Task.sleep(for: Self.pause)
        }
        throw StoreError(.unavailable, "The store is deleting an unused file with the same bytes. Try again later.")
    }

    /// Ends ``hold(_:)``, because the bytes are used now.
    func release(_ digest: BlobDigest, _ connection: Connection) throws {
        if claims != nil { try DeadBlobs.remove(digest, connection) }
    }

    /// Records that bytes are to be deleted, unless a version, an upload that is being checked or an item's file uses
    /// them, in this process or another. The transaction that ends a use calls this, so that the bytes are deleted also
    /// when the process is killed after it.
    func abandon(_ digest: BlobDigest, _ connection: Connection) throws {
        guard try !Self.isUsed(digest, connection) else { return }
        try DeadBlobs.add(digest, at: claims?.now() ?? 0, connection)
    }

    /// Deletes unused bytes in a store of one process. After an error, ``removeDeadBlobs()`` deletes them.
    func removeAtOnce(_ digest: BlobDigest) async {
        if claims == nil { try? await removeUnused(digest) }
    }

    /// Deletes bytes, unless something uses them, in a store of one process.
    private func removeUnused(_ digest: BlobDigest) async throws {
        try await blobChanges.run { [self] in
            let isUsed = try await database.write { connection in
                guard try Self.isUsed(digest, connection) else { return false }
                try DeadBlobs.remove(digest, connection)
                return true
            }
            guard !isUsed else { return }
            try await blobs.remove(digest)
            try await database.write { try DeadBlobs.remove(digest, $0) }
        }
    }

    /// Deletes bytes that nothing has used for ten minutes, unless another process does it. A store of one process
    /// deletes those that could not be deleted at once. Bytes that cannot be deleted hold up no others; after ten of
    /// them the run ends.
    /// - Throws: ``BlobError``, ``DatabaseError``: the first error, once the run has ended. A later run deletes the
    ///   remaining bytes.
    public func removeDeadBlobs() async throws {
        guard let claims else {
            let digests = try await database.read { try DeadBlobs.due(at: .max, limit: Self.mostRemoved, $0) }
            var errors: [any Error] = []
            for digest in digests where errors.count < Self.mostFailures {
                do { try await removeUnused(digest) } catch { errors.append(error) }
            }
            if let first = errors.first { throw first }
            return
        }
        guard try await claims.take(Self.blobsClaim, seconds: Self.claimSeconds) else { return }
        do {
            let digests = try await database.read {
                try DeadBlobs.due(at: claims.now(), limit: Self.mostRemoved, $0)
            }
            var errors: [any Error] = []
            for digest in digests where errors.count < Self.mostFailures {
                guard try await claims.take(Self.blobsClaim, seconds: Self.claimSeconds) else { break }
                do { try await removeDead(digest, claims) } catch { errors.append(error) }
            }
            if let first = errors.first { throw first }
        } catch {
            await claims.release(Self.blobsClaim)
            throw error
        }
        await claims.release(Self.blobsClaim)
    }

    /// Deletes bytes, unless something uses them or another process may have stored them again.
    private func removeDead(_ digest: BlobDigest, _ claims: Claims) async throws {
        let start = ContinuousClock.now
        let now = claims.now()
        let isDead = try await database.write { connection in
            guard try DeadBlobs.beginRemoval(digest, at: now, connection) else { return false }
            guard try Self.isUsed(digest, connection) else { return true }
            try DeadBlobs.remove(digest, connection)
            return false
        }
        // After a longer pause, the time may be over before the bytes are deleted, and another process may have stored
        // them again. They stay until the next run.
        guard isDead, ContinuousClock.now - start < Self.mostHesitation else { return }
        try await blobs.remove(digest)
        try await database.write { try DeadBlobs.endRemoval(digest, begunAt: now, $0) }
    }
}
