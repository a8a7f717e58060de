import BlobStorage
import Database
import Foundation
import Logging
import StoreWire

extension Merchant {
    /// Opens a place's database, brings its tables up to date, and creates its merchant. Close the merchant after use.
    /// - Parameters:
    ///   - stores: the stores whose purchases are accepted.
    ///   - bundleIDs: the apps whose purchases are accepted.
    ///   - appIDs: the numbers of apps at the store, which notifications of production must have (`appAppleId`).
    ///   - way: returns how receipts are verified, given the stores with their recorded anchors.
    ///   - blobs: the storage of content, made after the database is open.
    ///   - now: returns the machine's time in milliseconds since 1970.
    ///   - storeClock: returns the time of an environment's store; nil for stores whose clock is the machine's.
    ///   - makeID: returns a new UUID for each call.
    ///   - storeAPI: the client of the stores' API; nil for none.
    /// - Throws: ``MerchantPlaceError``; ``MerchantError`` as ``recordAnchors(_:in:)``; ``DatabaseError``;
    ///   ``ReceiptRejection`` for an invalid root.
    package static func open(
        at place: MerchantPlace, stores: [TrustedStore], bundleIDs: Set<BundleID>, appIDs: [BundleID: Int64] = [:],
        policy: MerchantPolicy, way: ([TrustedStore]) -> VerificationWay = { _ in .local },
        blobs: () throws -> any BlobStore, now: @escaping @Sendable () -> Int64,
        storeClock: (@Sendable (StoreEnvironment) -> Int64)? = nil, makeID: @escaping @Sendable () -> UUID,
        storeAPI: (any StoreAPI)? = nil, onStep: (@Sendable (MerchantStep) -> Void)? = nil, logger: Logger
    ) async throws -> Merchant {
        let database = try await place.openDatabase(logger: logger)
        do {
            let stores = stores.isEmpty ? [] : try await recordAnchors(stores, in: database)
            return Merchant(
                database: database, blobs: try blobs(),
                verifier: try PurchaseVerifier(
                    stores: stores, bundleIDs: bundleIDs, environments: policy.environments, way: way(stores),
                    appIDs: appIDs),
                policy: policy, now: now, storeClock: storeClock, makeID: makeID, storeAPI: storeAPI,
                onStep: onStep)
        } catch {
            await database.close()
            throw error
        }
    }

    /// Closes the database after the queued work.
    package func close() async { await database.close() }
}
