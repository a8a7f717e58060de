import Console
import Foundation
import Logging
import MerchantServer
import MerchantWire
import NIOCore
import ServiceLifecycle
import Store
import StoreServer
import StoreWire
import UnixSignals

/// A store and an optional merchant in one process. Both start or neither does, and they stop together. The merchant's
/// books follow the clocks of the two stores. They share nothing else: the merchant trusts the store's roots, like
/// every other merchant.
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
    ///   ``MerchantApplication/open(_:now:storeClock:logger:)``, and ``CommandError``.
    static func open(
        _ configuration: StoreServerConfiguration, merchant settings: MerchantSettings?,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> StoreAndMerchant {
        var configuration = configuration
        configuration.hasMerchant = settings != nil
        let store = try await StoreApplication.open(configuration, now: now, logger: logger)
        let apps = Set(store.catalog.value.apps.map(\.bundleID))
        // Without an app, a merchant cannot accept any purchase. A store without files waits for its first managed app.
        guard let settings, !apps.isEmpty || !settings.productsFiles.isEmpty || configuration.catalogFiles.isEmpty
        else {
            return StoreAndMerchant(store: store, merchant: nil, listedProducts: 0, logger: logger)
        }
        do {
            let merchant = try await MerchantApplication.open(
                try settings.configuration(beside: configuration, apps: apps), now: now,
                storeClock: { [production = store.production.clock, sandbox = store.sandbox.clock] environment in
                    (environment == .sandbox ? sandbox : production).milliseconds
                }, logger: logger)
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
    ///   - console: the settings of the console; nil for none.
    ///   - onReady: called once all ports answer, after `addresses.json` was written.
    /// - Throws: ``StoreServerError``, ``MerchantServerError`` or ``CommandError`` when a port is not available.
    func run(
        gracefulShutdownSignals: [UnixSignal], console: ConsoleSettings? = nil,
        onReady: @escaping @Sendable (Addresses) async -> Void
    ) async throws {
        let backends = console == nil ? nil : consoleBackends
        let ready: @Sendable (Addresses) async -> Void = { [store, merchant, logger] addresses in
            backends?.addresses.take(addresses.byName)
            if let merchant {
                let keys = MerchantStoreKeys(
                    store, secrets: store.secrets, merchant: merchant.configuration.dataDirectory,
                    addresses: addresses, logger: logger)
                merchant.storeAPI.provide { await keys.access($0) }
            }
            await onReady(addresses)
        }
        guard merchant != nil || console != nil else {
            return try await store.run(gracefulShutdownSignals: gracefulShutdownSignals, onReady: ready)
        }
        let (merchantAddresses, merchantAnswers) = AsyncStream.makeStream(of: String.self)
        let (consoleAddresses, consoleAnswers) = AsyncStream.makeStream(of: String.self)
        // The store is ready last, so that merchant and console answer whenever addresses.json exists. The group stops
        // the services in reverse order: the console, which asks the store, first. Load balancers learn of the stop
        // before that.
        var services: [any Service] = []
        if let merchant {
            services.append(MerchantService(application: merchant) { merchantAnswers.yield($0) })
        }
        services.append(
            StoreAfterOthers(
                application: store, merchant: merchant == nil ? nil : merchantAddresses,
                console: console == nil ? nil : consoleAddresses, onReady: ready))
        if let console, let backends {
            services.append(
                ConsoleService(
                    application: ConsoleApplication(
                        console.configuration(beside: store.configuration), backends, now: { Date() }, logger: logger
                    ) { consoleAnswers.yield($0) }, settings: console, host: store.configuration.host))
        }
        services.append(store.stopAnnouncement)
        if let merchant { services.append(merchant.stopAnnouncement) }
        try await ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: gracefulShutdownSignals,
                logger: logger)
        ).run()
    }
}

extension Addresses {
    /// The addresses by the ports' names.
    fileprivate var byName: [String: String] {
        var all = ["control": control, "sandbox": sandbox, "production": production, "storefront": storefront]
        all["merchant"] = merchant
        all["console"] = console
        return all
    }
}

/// Runs a merchant as a service of a group.
struct MerchantService: Service {
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

/// Runs a store, once its merchant and its console have addresses, as a service of a group.
private struct StoreAfterOthers: Service {
    let application: StoreApplication
    /// The merchant's address; nil without a merchant.
    let merchant: AsyncStream<String>?
    /// The console's address; nil without a console.
    let console: AsyncStream<String>?
    let onReady: @Sendable (Addresses) async -> Void

    func run() async throws {
        let addresses: (merchant: String?, console: String?)
        do { addresses = (try await Self.first(merchant), try await Self.first(console)) } catch {
            // Another service did not start, so this task was cancelled.
            await application.close()
            throw error
        }
        // The merchant hears of everything that happens, unless the operator set another URL for an app.
        if let merchant = addresses.merchant {
            application.apps.usualNotificationReceiver = NotificationReceiver(
                inThisProcess: merchant + MerchantRoute.notifications.path)
        }
        try await application.run(
            gracefulShutdownSignals: [], merchant: addresses.merchant, console: addresses.console, onReady: onReady)
    }

    private static func first(_ stream: AsyncStream<String>?) async throws -> String? {
        guard let stream else { return nil }
        return try await stream.firstAddress()
    }
}

extension AsyncStream<String> {
    /// The first address.
    /// - Throws: `CancellationError` when the service that sends it did not start.
    func firstAddress() async throws -> String {
        var addresses = makeAsyncIterator()
        guard let address = await addresses.next() else { throw CancellationError() }
        return address
    }
}
