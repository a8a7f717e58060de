import Foundation
import Logging
import MerchantServer
import ServiceLifecycle
import StoreServer
import UnixSignals

/// A store and an optional merchant in one process. Both start or neither does, and they stop together. They share
/// nothing else: the merchant trusts the store's roots, like every other merchant.
struct StoreAndMerchant: Sendable {
    let store: StoreApplication
    /// The merchant; nil for a store without a merchant.
    let merchant: MerchantApplication?
    /// The number of products on the merchant's list when it was opened.
    let listedProducts: Int
    private let logger: Logger

    /// Opens the store, and then the merchant, which reads the store's roots.
    /// - Parameter now: the machine's clock.
    /// - Throws: the errors of ``StoreApplication/open(_:now:logger:)`` and
    ///   ``MerchantApplication/open(_:now:logger:)``, and ``CommandError``.
    static func open(
        _ configuration: StoreServerConfiguration, merchant settings: MerchantSettings?,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> StoreAndMerchant {
        let store = try await StoreApplication.open(configuration, now: now, logger: logger)
        let apps = Set(store.catalog.value.apps.map(\.bundleID))
        // Without an app, a merchant cannot accept any purchase. A store without files waits for its first managed app.
        guard let settings, !apps.isEmpty || !settings.productsFiles.isEmpty || configuration.catalogFiles.isEmpty
        else {
            return StoreAndMerchant(store: store, merchant: nil, listedProducts: 0, logger: logger)
        }
        do {
            let merchant = try await MerchantApplication.open(
                try settings.configuration(beside: configuration, apps: apps), now: now, logger: logger)
            do {
                // The merchant also accepts apps that are added to a catalog file, or registered, later.
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

    /// Serves until the task is cancelled or the process receives a stop signal, and then completes the running
    /// requests.
    /// - Parameters:
    ///   - gracefulShutdownSignals: the signals that stop the process.
    ///   - onReady: called once all ports answer, after `addresses.json` was written.
    /// - Throws: ``StoreServerError`` or ``MerchantServerError`` when a port is not available.
    func run(
        gracefulShutdownSignals: [UnixSignal], onReady: @escaping @Sendable (Addresses) async -> Void
    ) async throws {
        guard let merchant else {
            return try await store.run(gracefulShutdownSignals: gracefulShutdownSignals, onReady: onReady)
        }
        let (answering, answers) = AsyncStream.makeStream(of: String.self)
        // The store starts last and stops first, so that the merchant answers whenever addresses.json exists.
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

/// Runs a merchant as a service of a group.
private struct MerchantService: Service {
    let application: MerchantApplication
    let onReady: @Sendable (String) async -> Void

    func run() async throws {
        do {
            try await application.run(gracefulShutdownSignals: [], onReady: onReady)
        } catch let error as MerchantServerError {
            guard error.code == .portUnavailable else { throw error }
            throw MerchantServerError(error.code, error.detail + " To start without a merchant, use --no-merchant.")
        }
    }
}

/// Runs a store, once its merchant has an address, as a service of a group.
private struct StoreAfterMerchant: Service {
    let application: StoreApplication
    let merchant: AsyncStream<String>
    let onReady: @Sendable (Addresses) async -> Void

    func run() async throws {
        var addresses = merchant.makeAsyncIterator()
        guard let address = await addresses.next() else {
            // The merchant did not start, so this task was cancelled.
            await application.close()
            throw CancellationError()
        }
        try await application.run(gracefulShutdownSignals: [], merchant: address, onReady: onReady)
    }
}
