import Foundation
import Logging
import MerchantServer
import ServiceLifecycle
import StoreServer
import UnixSignals

/// A store and, where it is wanted, the merchant beside it, in one process: both start or neither, and they stop together. They share
/// nothing else; the merchant knows the store by its roots, as any merchant would.
struct StoreAndMerchant: Sendable {
    let store: StoreApplication
    /// Nil for a store alone.
    let merchant: MerchantApplication?
    /// How many products the merchant's list had when it was opened.
    let listedProducts: Int
    private let logger: Logger

    /// Opens the store, then the merchant, which finds the roots then.
    /// - Parameter now: the machine's clock.
    /// - Throws: what ``StoreApplication/open(_:now:logger:)`` and ``MerchantApplication/open(_:now:logger:)`` throw, ``CommandError``.
    static func open(
        _ configuration: StoreServerConfiguration, merchant settings: MerchantSettings?,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> StoreAndMerchant {
        let store = try await StoreApplication.open(configuration, now: now, logger: logger)
        let apps = Set(store.catalog.value.apps.map(\.bundleID))
        // Without an app there is nothing that a merchant could take.
        guard let settings, !apps.isEmpty || !settings.productsFiles.isEmpty else {
            return StoreAndMerchant(store: store, merchant: nil, listedProducts: 0, logger: logger)
        }
        do {
            let merchant = try await MerchantApplication.open(
                try settings.configuration(beside: configuration, apps: apps), now: now, logger: logger)
            do {
                // An app that comes into a catalog file later is the merchant's from then on.
                store.catalog.listen { [verifier = merchant.merchant.verifier] catalog in
                    verifier.take(apps: Set(catalog.apps.map(\.bundleID)))
                }
                let listed = try await merchant.merchant.allProducts().products.count
                return StoreAndMerchant(store: store, merchant: merchant, listedProducts: listed, logger: logger)
            } catch {
                await merchant.close()
                throw error
            }
        } catch {
            await store.close()
            throw error
        }
    }

    /// Serves until the task is cancelled or the process is told to stop, then finishes what is under way.
    /// - Parameters:
    ///   - gracefulShutdownSignals: what tells the process to stop.
    ///   - onReady: called once all ports answer, after `addresses.json` was written.
    /// - Throws: ``StoreServerError`` or ``MerchantServerError`` when a port cannot be had.
    func run(
        gracefulShutdownSignals: [UnixSignal], onReady: @escaping @Sendable (Addresses) async -> Void
    ) async throws {
        guard let merchant else {
            return try await store.run(gracefulShutdownSignals: gracefulShutdownSignals, onReady: onReady)
        }
        let (answering, answers) = AsyncStream.makeStream(of: String.self)
        // The store is the last to start and the first to stop: whoever finds its addresses finds the merchant, too.
        let services: [any Service] = [
            MerchantService(application: merchant) { answers.yield($0) },
            StoreAfterMerchant(application: store, merchant: answering, onReady: onReady),
        ]
        try await ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: gracefulShutdownSignals,
                logger: logger)
        ).run()
    }
}

/// A merchant as one service of a group.
private struct MerchantService: Service {
    let application: MerchantApplication
    let onReady: @Sendable (String) async -> Void

    func run() async throws {
        do {
            try await application.run(gracefulShutdownSignals: [], onReady: onReady)
        } catch let error as MerchantServerError {
            guard error.code == .portUnavailable else { throw error }
            throw MerchantServerError(error.code, error.detail + " --no-merchant leaves the merchant out.")
        }
    }
}

/// A store that waits for its merchant's address.
private struct StoreAfterMerchant: Service {
    let application: StoreApplication
    let merchant: AsyncStream<String>
    let onReady: @Sendable (Addresses) async -> Void

    func run() async throws {
        var addresses = merchant.makeAsyncIterator()
        guard let address = await addresses.next() else {
            // The merchant did not start, and this task was cancelled for it.
            await application.close()
            throw CancellationError()
        }
        try await application.run(gracefulShutdownSignals: [], merchant: address, onReady: onReady)
    }
}
