import BlobStorage
import Foundation
import StoreWire

/// The reason why an item's file cannot be delivered now. It is for the operator, because it names the file's path.
public struct ItemFileProblem: Error, Sendable, Equatable {
    /// The item's number.
    public var item: Int64
    /// The file's path.
    public var path: String
    /// The problem, and how to fix it.
    public var reason: String

    /// The error for the customer, who may try again later.
    public var refusal: StoreError {
        StoreError(.unavailable, "The store cannot deliver the file of the item \(item) right now. Try again later.")
    }
}

extension ContentLibrary {
    /// The file of an item in the blob storage. The file beside the catalog is imported when the storage does not have
    /// it yet, or when its path, length or modification time has changed.
    ///
    /// A file that is gone or cannot be read is served from the storage when it was imported before.
    /// - Parameter collection: the album or season of the item.
    /// - Throws: ``ItemFileProblem``, ``DatabaseError``. The storage and the tables are then as before.
    func blob(of item: Int64, from file: ItemFile, in collection: Int64?) async throws -> ItemBlob {
        let source = URL(fileURLWithPath: file.path)
        if let current = try await currentBlob(of: item, from: source) {
            if current.collection != collection {
                // The file can be delivered all the same, and the next delivery tries again.
                try? await database.write { try ItemBlob.place(item, in: collection, $0) }
            }
            return current
        }
        return try await itemImports.run(item) { [self] in
            // An import may have ended since.
            if let current = try await currentBlob(of: item, from: source) { return current }
            return try await importFile(source, of: item, in: collection)
        }
    }

    /// The file of an item in the blob storage; nil when it has to be imported.
    private func currentBlob(of item: Int64, from source: URL) async throws -> ItemBlob? {
        guard let known = try await database.read({ try ItemBlob.find(item, $0) }), known.path == source.path else {
            return nil
        }
        let present = try? await BlobThreads.run { try BlobFile(source) }
        let isSame = present.map { $0.size == known.length && $0.modified == known.modified } ?? true
        guard isSame, try await size(of: known) == known.length else { return nil }
        return known
    }

    /// The file of an item that is no longer in the catalog; nil when it was never delivered.
    func formerBlob(of item: Int64) async throws -> ItemBlob? {
        guard let known = try await database.read({ try ItemBlob.find(item, $0) }),
            try await size(of: known) == known.length
        else { return nil }
        return known
    }

    private func size(of blob: ItemBlob) async throws -> Int64? {
        do { return try await blobs.size(of: blob.digest) } catch let error as BlobError {
            throw ItemFileProblem(item: blob.item, path: blob.path, reason: error.detail)
        }
    }

    /// Copies the file aside, stores it under its digest, then records it. Whenever the process stops, the row belongs
    /// to a whole file.
    private func importFile(_ source: URL, of item: Int64, in collection: Int64?) async throws -> ItemBlob {
        func problem(_ reason: String) -> ItemFileProblem {
            ItemFileProblem(item: item, path: source.path, reason: reason)
        }
        do {
            let copy = try await FileCopy.make(of: source, at: try staging.placeOfItemFile()) {
                guard $0 > 0 else { throw problem("The file is empty. Put the whole file there.") }
                try staging.requireRoom(for: $0)
            }
            defer { unlink(copy.url.path) }
            let new = ItemBlob(
                item: item, path: source.path, modified: copy.modified, length: copy.length, digest: copy.digest,
                collection: collection)
            // In turn with the deletion of unused bytes, which looks at the rows first.
            let old = try await blobChanges.run { [self] in
                try await hold(copy.digest)
                try await blobs.put(copy.url, as: copy.digest)
                return try await database.write { [self] connection in
                    let old = try ItemBlob.find(item, connection)
                    try new.save(connection)
                    try release(new.digest, connection)
                    if let old, old.digest != new.digest { try abandon(old.digest, connection) }
                    return old
                }
            }
            if let old, old.digest != new.digest { await removeAtOnce(old.digest) }
            return new
        } catch let error as BlobError {
            throw problem(
                error.code == .notFound
                    ? "There is no such file. Put it back, or remove “file” from the item in the catalog."
                    : error.detail)
        } catch let error as StoreError {
            throw problem(error.detail)
        }
    }
}

/// The imports that are under way: one for each item, and one at a time, because an import fills the disk's bandwidth.
actor ItemImports {
    private var running: [Int64: Task<ItemBlob, any Error>] = [:]
    private let line = SerialTasks()

    /// Runs `body`, or waits for the import of the same item that is under way. The import continues when the caller
    /// leaves.
    func run(_ item: Int64, _ body: @escaping @Sendable () async throws -> ItemBlob) async throws -> ItemBlob {
        if let task = running[item] { return try await task.value }
        let task = Task { [line] in try await line.run(body) }
        running[item] = task
        defer { running[item] = nil }
        return try await task.value
    }
}
