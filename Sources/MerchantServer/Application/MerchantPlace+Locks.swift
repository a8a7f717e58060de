import BlobStorage
import Foundation
import Logging
import Merchant
import ServerSupport
import StoreWire

/// Locks between the processes that use a merchant's place.
extension MerchantPlace {
    /// Keeps other servers out of a folder with a SQLite database. Returns nil for PostgreSQL, which several servers
    /// may share.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`, `dataDirectoryUnusable`.
    func lock() throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        return try taking { () throws(DirectoryLock.Refusal) in
            try DirectoryLock(folder)
        } words: { owner in
            "The data directory \(folder.path) is in use by another merchant\(owner). Stop it, choose another directory with "
                + "--data, or use PostgreSQL with --database, which several servers may share."
        }
    }

    /// Keeps a restore apart from commands that work beside a server: the restore replaces the database, and changes to
    /// the old one would be lost. Returns nil for PostgreSQL, where a restore checks for connections instead.
    /// - Parameter kind: exclusive for a restore.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`, `dataDirectoryUnusable`.
    func lockForCommands(_ kind: DirectoryLock.Kind) throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        return try taking { () throws(DirectoryLock.Refusal) in
            try DirectoryLock(folder: folder, kind)
        } words: { _ in
            kind == .shared
                ? "A backup is being restored into \(folder.path). Wait until the restore is done."
                : "Another command is using the merchant in \(folder.path). Wait until it is done, then restore."
        }
    }

    private func taking(
        _ take: () throws(DirectoryLock.Refusal) -> DirectoryLock, words: (_ owner: String) -> String
    ) throws -> DirectoryLock {
        do throws(DirectoryLock.Refusal) {
            return try take()
        } catch .unwritable {
            throw MerchantServerError(
                .dataDirectoryUnusable,
                "The data directory \(folder.path) cannot be written. Choose another with --data.")
        } catch {
            throw MerchantServerError(.dataDirectoryInUse, words(error.owner))
        }
    }

    /// Runs `body` with the merchant's database, also while a server uses it. The merchant cannot verify purchases.
    /// - Parameters:
    ///   - bucket: the bucket in which the merchant stores content; nil for the folder in its data directory.
    ///   - sendsWebhooks: whether the server sends webhooks about changes.
    ///   - joinsEnvironments: the server's ``MerchantPolicy/joinsEnvironments``.
    ///   - storeClock: the time of an environment's store in milliseconds since 1970; nil for stores whose clock
    ///     is the machine's.
    /// - Throws: the errors of `body`; ``MerchantServerError`` `dataDirectoryInUse` while a backup is being restored,
    ///   `dataDirectoryUnusable`; ``MerchantPlaceError``, ``DatabaseError``.
    public func withMerchant<T>(
        bucket: S3Location? = nil, sendsWebhooks: Bool = false, joinsEnvironments: Bool = false,
        storeClock: (@Sendable (StoreEnvironment) -> Int64)? = nil, logger: Logger,
        _ body: (Merchant) async throws -> T
    ) async throws -> T {
        let lock = try lockForCommands(.shared)
        defer { lock?.release() }
        let merchant = try await Merchant.open(
            at: self, stores: [], bundleIDs: [],
            policy: MerchantPolicy(sendsWebhooks: sendsWebhooks, joinsEnvironments: joinsEnvironments),
            blobs: { try blobs(bucket, makesFolder: false, now: { Date() }) },
            now: { Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)) }, storeClock: storeClock,
            // Webhook events are listed in the order of their identifiers.
            makeID: { UUID(timeOrdered: Date(), chance: UUID()) }, logger: logger)
        do {
            let result = try await body(merchant)
            await merchant.close()
            return result
        } catch {
            await merchant.close()
            throw error
        }
    }
}
