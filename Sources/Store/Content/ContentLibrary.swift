import BlobStorage
import ContentPackages
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization

/// The hosted content of both environments: the hosted products, their versions with states, and the uploads.
public final class ContentLibrary: Sendable {
    /// A cached list of the versions that can be downloaded.
    struct Shelf: Sendable {
        /// The versions of products for which hosting is on, newest first.
        var versions: [ContentProduct: [HostedVersion]] = [:]

        /// The newest version that devices can download in an environment.
        func newest(_ product: ContentProduct, in environment: StoreEnvironment) -> HostedVersion? {
            versions[product]?.first { $0.isDownloadable(in: environment) }
        }
    }

    /// The age at which the cached list is read again, to see the changes of other processes.
    static let staleAfter = Duration.seconds(1)

    let database: Database
    let staging: ContentStaging
    /// The key that signs the addresses of downloads.
    let addressKey: SymmetricKey
    private let shelf: Mutex<(shelf: Shelf, readAt: ContinuousClock.Instant)>
    private let listener = Mutex<(@Sendable (ManagedPart) async throws -> Void)?>(nil)
    /// The storage of the packages.
    public let blobs: any BlobStore
    /// The claims of the processes that share the database and the storage; nil for a store of one process. Of several
    /// processes, one deletes unused bytes, and some time later (``removeDeadBlobs()``). A store of one process tries
    /// it at once.
    let claims: Claims?
    /// Serializes the storing and the deleting of packages.
    let blobChanges = SerialTasks()
    /// Serializes the completion and the cancelling of uploads.
    let completions = SerialTasks()
    /// The items' files that are being imported.
    let itemImports = ItemImports()

    /// The identifier of the folder with the bytes of this process's uploads.
    public var place: String { staging.place }

    private init(
        database: Database, blobs: any BlobStore, staging: ContentStaging, addressKey: SymmetricKey, shelf: Shelf,
        claims: Claims?
    ) {
        self.claims = claims
        self.database = database
        self.blobs = blobs
        self.staging = staging
        self.addressKey = addressKey
        self.shelf = Mutex((shelf, .now))
    }

    /// Opens the library. Uploads that were open when the process ended can be resumed.
    /// - Parameters:
    ///   - staging: an existing folder for the files of uploads.
    ///   - secrets: seals the key of download addresses.
    ///   - claims: the claims of the processes that share the database and the storage; nil for a store of one process.
    /// - Throws: ``DatabaseError``, ``BlobError``, ``StoreSecretsError``.
    public static func open(
        _ databases: StoreDatabases, blobs: any BlobStore, staging: URL, secrets: StoreSecrets = .plain,
        claims: Claims? = nil
    ) async throws -> ContentLibrary {
        try await open(
            databases, blobs: blobs, staging: staging, secrets: secrets, claims: claims,
            room: ContentStaging.roomOnDisk)
    }

    /// Opens the library.
    /// - Parameter room: returns the number of bytes that uploads to a folder may still take; nil when unknown.
    static func open(
        _ databases: StoreDatabases, blobs: any BlobStore, staging: URL, secrets: StoreSecrets = .plain,
        claims: Claims? = nil,
        room: @escaping @Sendable (URL) -> Int64?
    ) async throws -> ContentLibrary {
        let database = databases.apps
        let new = RandomBytes.make(32)
        let folder = try ContentStaging(folder: staging, room: room)
        let (secret, shelf) = try await database.write { connection in
            let secret = try keptAddressKey(orNew: new, secrets, connection)
            // No check runs any more for these uploads. Completing one again starts a new check.
            try ContentUpload.endChecks(in: folder.place, isAlone: claims == nil, connection)
            return (secret, try Shelf(connection))
        }
        let library = ContentLibrary(
            database: database, blobs: blobs, staging: folder, addressKey: SymmetricKey(data: secret), shelf: shelf,
            claims: claims)
        try await library.removeStrayFiles()
        folder.removeItemFiles()
        return library
    }

    /// Deletes the files of uploads that no longer exist or continue at another process.
    func removeStrayFiles() async throws {
        // List the files before the uploads: the file of an upload that begins in between is not in the list.
        let files = staging.all()
        guard !files.isEmpty else { return }
        let open = try await database.read { [staging] connection in
            try ContentUpload.open(connection).filter { staging.has($0) }.map(\.uploadID)
        }
        for uploadID in Set(files).subtracting(open) { staging.remove(uploadID) }
    }

    /// The versions that can be downloaded. Reads them again when the cached list is older than ``staleAfter``; returns
    /// the cached list when the database does not answer.
    func current() async -> Shelf {
        let (kept, readAt) = shelf.withLock { $0 }
        guard readAt.duration(to: .now) > Self.staleAfter else { return kept }
        return (try? await readShelf()) ?? kept
    }

    /// Sets the function that is called after each change of hosting or of a version's state, and when the check of a
    /// package begins or ends, with the products that changed. It replaces an earlier listener.
    func listen(_ listener: @escaping @Sendable (ManagedPart) async throws -> Void) {
        self.listener.withLock { $0 = listener }
    }

    /// Reads the versions that can be downloaded after a change, here or at another process, and calls the listener.
    /// - Parameter part: the products that changed, for the listener.
    /// - Throws: ``DatabaseError``; the errors of the listener.
    func refresh(_ part: ManagedPart = .everything) async throws {
        try await readShelf()
        try await tell(part)
    }

    /// Calls the listener.
    /// - Throws: the errors of the listener.
    func tell(_ part: ManagedPart) async throws { try await listener.withLock { $0 }?(part) }

    /// Reads the versions that can be downloaded.
    @discardableResult
    private func readShelf() async throws -> Shelf {
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
        for version in try HostedVersion.hosted(connection) {
            versions[version.product, default: []].append(version)
        }
        for product in versions.keys { versions[product]?.sort(by: HostedVersion.isNewer) }
    }
}

/// Runs asynchronous functions one at a time, in the order of the calls.
actor SerialTasks {
    private var isRunning = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Runs `body` after all earlier calls have ended.
    func run<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        if isRunning {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isRunning = true
        }
        defer { if waiting.isEmpty { isRunning = false } else { waiting.removeFirst().resume() } }
        return try await body()
    }
}
