import BlobStorage
import ContentPackages
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization

/// The content that the store hosts, for both environments: which products have any, the versions and their states, and what is on its way.
public final class ContentLibrary: Sendable {
    /// What can be downloaded, as it was read last.
    struct Shelf: Sendable {
        /// The versions of products for which hosting is on, newest first.
        var versions: [ContentProduct: [HostedVersion]] = [:]

        /// What a device is given in an environment.
        func newest(_ product: ContentProduct, in environment: StoreEnvironment) -> HostedVersion? {
            versions[product]?.first { $0.isDownloadable(in: environment) }
        }
    }

    /// How long ago what is told of other processes' changes may have been read.
    static let staleAfter = Duration.seconds(1)

    let database: Database
    let staging: ContentStaging
    /// Signs the addresses of downloads.
    let addressKey: SymmetricKey
    private let shelf: Mutex<(shelf: Shelf, readAt: ContinuousClock.Instant)>
    /// Where packages are kept.
    public let blobs: any BlobStore
    /// Keeping a package and removing one wait for each other.
    let turns = Turns()
    /// One package after the other is looked at.
    let completions = Turns()

    private init(
        database: Database, blobs: any BlobStore, staging: ContentStaging, addressKey: SymmetricKey, shelf: Shelf
    ) {
        self.database = database
        self.blobs = blobs
        self.staging = staging
        self.addressKey = addressKey
        self.shelf = Mutex((shelf, .now))
    }

    /// Opens it. What was being uploaded when the process ended goes on where it stopped.
    /// - Parameter staging: a folder for what is being uploaded, which is there.
    /// - Throws: ``DatabaseError``, ``BlobError``.
    public static func open(
        _ databases: StoreDatabases, blobs: any BlobStore, staging: URL
    ) async throws -> ContentLibrary {
        try await open(databases, blobs: blobs, staging: staging, room: ContentStaging.roomOnDisk)
    }

    /// - Parameter room: how many bytes uploads may still take up.
    static func open(
        _ databases: StoreDatabases, blobs: any BlobStore, staging: URL, room: @escaping @Sendable (URL) -> Int64?
    ) async throws -> ContentLibrary {
        let database = databases.apps
        let new = RandomBytes.make(32)
        let folder = try ContentStaging(folder: staging, room: room)
        let (secret, shelf) = try await database.write { connection in
            try connection.execute(
                "INSERT INTO content_key (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", [new])
            let secret = try connection.queryOne("SELECT secret FROM content_key WHERE id = 1")?.bytes(0) ?? new
            // Nobody looks at them any more, and whoever asks again has them looked at.
            try connection.execute(
                "UPDATE content_uploads SET processing_at = NULL WHERE place = $1 OR place IS NULL", [folder.place])
            return (secret, try Shelf(connection))
        }
        let library = ContentLibrary(
            database: database, blobs: blobs, staging: folder, addressKey: SymmetricKey(data: secret), shelf: shelf)
        try await library.removeStrayFiles()
        return library
    }

    /// Removes the files of uploads that are no more, or go on elsewhere.
    func removeStrayFiles() async throws {
        // The files first: one of an upload that begins meanwhile is not among them.
        let files = staging.all()
        guard !files.isEmpty else { return }
        let open = try await database.read { [staging] connection in
            try connection.query(
                "SELECT \(ContentUpload.columns) FROM content_uploads WHERE version_id IS NULL AND findings IS NULL"
            ).map { try ContentUpload($0) }.filter { staging.has($0) }.map(\.uploadID)
        }
        for uploadID in Set(files).subtracting(open) { staging.remove(uploadID) }
    }

    /// What can be downloaded. Read again when it is older than ``staleAfter``; while the database does not answer, what it said last.
    func current() async -> Shelf {
        let (kept, readAt) = shelf.withLock { $0 }
        guard readAt.duration(to: .now) > Self.staleAfter else { return kept }
        return (try? await refresh()) ?? kept
    }

    /// Reads what can be downloaded again.
    @discardableResult
    func refresh() async throws -> Shelf {
        let start = ContinuousClock.now
        let new = try await database.read { try Shelf($0) }
        return shelf.withLock {
            if $0.readAt < start { $0 = (new, start) }
            return $0.shelf
        }
    }
}

extension ContentLibrary.Shelf {
    init(_ connection: Connection) throws {
        let rows = try connection.query(
            """
            SELECT \(HostedVersion.columns) FROM content_versions
            WHERE state <> 'DEVELOPER_REMOVED_FROM_SALE' AND EXISTS (
                SELECT 1 FROM hosted_products WHERE hosted_products.bundle_id = content_versions.bundle_id
                    AND hosted_products.product_id = content_versions.product_id AND is_hosted)
            """)
        for row in rows {
            let version = try HostedVersion(row)
            versions[version.product, default: []].append(version)
        }
        for product in versions.keys { versions[product]?.sort(by: HostedVersion.isNewer) }
    }
}

/// Lets one caller at a time do something that takes a while, in the order in which they came.
actor Turns {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Does `body` when it is its turn.
    func take<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isTaken = true
        }
        defer { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
        return try await body()
    }
}
