import CornerstoreEncoding
import Foundation
import HTTPSupport
import Hummingbird
import Logging
import Merchant
import MerchantWire
import NIOCore
import ServerSupport
import ServiceLifecycle
import StoreWire
import UnixSignals

/// The merchant's server: the merchant and everything that it keeps.
public struct MerchantApplication: Sendable {
    /// The configuration that the server was started with.
    public let configuration: MerchantServerConfiguration
    /// The merchant's domain.
    public let merchant: Merchant
    /// The tokens of the app's users.
    public let tokens: UserTokens
    /// The API keys of backends.
    public let keys: APIKeys
    /// The apps whose purchases are accepted at present.
    public var bundleIDs: Set<BundleID> { merchant.verifier.apps }
    /// The client of the stores' APIs.
    public let storeAPI: StoreAPIClient

    private let lock: DirectoryLock?
    private let routers: MerchantRouters
    private let deliveries: WebhookDelivery?
    private let tokenKeys: TokenKeyReload
    private let logger: Logger

    /// Opens the data directory and the database, and loads the product files.
    /// - Parameters:
    ///   - now: the machine's clock.
    ///   - storeClock: returns the time of an environment's store in milliseconds since 1970. It decides what is
    ///     active, expired or over in the books. Nil for stores whose clock is the machine's.
    /// - Throws: ``MerchantServerError``, ``MerchantPlaceError``, ``MerchantError``, a database's error,
    ///   ``ReceiptRejection`` for an invalid root.
    public static func open(
        _ configuration: MerchantServerConfiguration, now: @escaping @Sendable () -> Date,
        storeClock: (@Sendable (StoreEnvironment) -> Int64)? = nil, logger: Logger
    ) async throws -> MerchantApplication {
        let files = try configuration.products()
        let bundleIDs = configuration.bundleIDs.union(files.map(\.bundleID))
        guard !bundleIDs.isEmpty || configuration.mayLackApps else {
            throw MerchantServerError(
                .invalidConfiguration, "No app is named. Give its bundle id with --bundle-id, or a product file.")
        }
        let place = try MerchantPlace(
            folder: configuration.dataDirectory, databaseURL: configuration.databaseURL, schema: configuration.schema)
        let lock = try place.lock()
        do {
            let metrics = PrometheusMetrics()
            let storeAPI = StoreAPIClient(configuration.storeAPI, pacing: .system(), logger: logger)
            let merchant = try await Merchant.open(
                at: place, stores: configuration.stores, bundleIDs: bundleIDs, appIDs: configuration.appIDs,
                policy: configuration.policy, way: { way(configuration, $0, metrics, logger) },
                blobs: { try place.blobs(configuration.bucket, now: now) },
                now: { Int64((now().timeIntervalSince1970 * 1_000).rounded(.down)) }, storeClock: storeClock,
                makeID: { UUID(timeOrdered: now(), chance: UUID()) }, storeAPI: storeAPI,
                onStep: configuration.onStep, logger: logger)
            do {
                try await checkReach(merchant, configuration)
                for file in files { try await merchant.importProducts(from: file) }
                return try await open(
                    configuration, place, lock, merchant, storeAPI, metrics, now: now, logger: logger)
            } catch {
                await merchant.close()
                throw error
            }
        } catch {
            lock?.release()
            throw error
        }
    }

    private static func open(
        _ configuration: MerchantServerConfiguration, _ place: MerchantPlace, _ lock: DirectoryLock?,
        _ merchant: Merchant, _ storeAPI: StoreAPIClient, _ metrics: PrometheusMetrics,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> MerchantApplication {
        merchant.kindMismatches.listen { report in
            logger.error(
                "the store's kind of a product differs from the product list: its purchases are refused",
                metadata: [
                    "bundle": .string(report.bundleID.rawValue), "product": .string(report.productID.rawValue),
                    "listed": .string(report.listed.rawValue),
                    "store": .string(report.storeStatement),
                ])
        }
        let keySet: TokenKeySet =
            if let file = configuration.tokenKeys { try await .read(file) } else {
                try await .open(directory: place.folder)
            }
        let tokens = try UserTokens(keySet)
        let keys = APIKeys(merchant.apiKeys)
        let limits = configuration.rates.map { RateLimits($0) }
        let deliveries = configuration.webhooks.map {
            WebhookDelivery(
                to: $0, from: merchant.outbox, lease: configuration.webhookLease, pacing: .system(), metrics: metrics,
                logger: logger)
        }
        if let deliveries { merchant.outboxSignal.listen { deliveries.wake() } }
        return MerchantApplication(
            configuration: configuration, merchant: merchant, tokens: tokens, keys: keys, storeAPI: storeAPI,
            lock: lock,
            routers: MerchantRouters(
                merchant: merchant,
                authentication: Authentication(tokens: tokens, keys: keys, limits: limits, now: now), limits: limits,
                metrics: metrics, requests: RequestMetricsMiddleware(metrics),
                uploads: try StagingFolder(in: try place.makeFolder(MerchantPlace.uploads)),
                patience: configuration.stallPatience,
                isBehindProxy: configuration.isBehindProxy, isLoopback: configuration.isLoopback,
                configuration: configuration, now: now),
            deliveries: deliveries,
            tokenKeys: TokenKeyReload(
                configuration.tokenKeys ?? place.folder.appendingPathComponent(TokenKeySet.fileName), keySet, tokens,
                now: now, logger: logger), logger: logger)
    }

    /// Refuses to join environments while a user has sandbox credits, which nobody could spend then.
    private static func checkReach(_ merchant: Merchant, _ configuration: MerchantServerConfiguration) async throws {
        guard let (user, balance) = try await merchant.unspendableBalance() else { return }
        throw MerchantServerError(
            .invalidConfiguration,
            unspendable(
                balance, of: user, in: configuration.dataDirectory,
                schema: configuration.databaseURL.map { _ in configuration.schema }))
    }

    /// Describes a balance that nobody could spend, with the commands that move it.
    /// - Parameter schema: the schema of the PostgreSQL database; nil for SQLite. The database's URL is not shown,
    ///   because it may contain a password.
    static func unspendable(
        _ balance: Balance, of user: UserID, in dataDirectory: URL, schema: String?
    ) -> String {
        let currency = balance.currency.rawValue.shellWord
        // An adjustment has a limit. The next start names the rest.
        let amount = min(balance.amount, MerchantLimits.amount)
        let place =
            "--data \(dataDirectory.path.shellWord)"
            + (schema.map { " --database URL --schema \($0.shellWord)" } ?? "")
        func command(_ option: String, _ environment: String) -> String {
            "“cornerstore merchant adjust \(user.rawValue.shellWord) \(option) \(amount) --currency \(currency) "
                + "--environment \(environment) \(place)”"
        }
        return
            "\(user) has \(balance.amount) \(balance.currency) in a balance of the sandbox, and nobody can spend them "
            + "while join-environments is set. Start without join-environments. Or move such credits first: run "
            + "\(command("--take", "sandbox")) and \(command("--give", "production")), both without join-environments, for "
            + "each user; this start names the next one."
    }

    private static func way(
        _ configuration: MerchantServerConfiguration, _ stores: [TrustedStore], _ metrics: PrometheusMetrics,
        _ logger: Logger
    ) -> VerificationWay {
        guard let remote = configuration.remote else { return .local }
        let client = StoreClient(
            remote.hosts, sharedSecret: remote.sharedSecret, pacing: .system(), metrics: StoreClientMetrics(metrics),
            logger: logger)
        // The anchor under which the store was known when its roots were first seen.
        let anchor = zip(configuration.stores, stores).first { $0.0.anchor == remote.anchor }?.1.anchor
        return .remote(client, anchors: [remote.hosts.name: anchor ?? remote.anchor])
    }

    /// Answers requests of another part of this process. They need no API key.
    public var inProcess: InProcessResponder { routers.inProcess }

    // MARK: Running

    /// Lets `GET /ready` say that the server is stopping. Add it as the last service to a group in which other services
    /// stop before the server.
    public var stopAnnouncement: any Service { StopAnnouncement(notice: routers.stop) }

    /// Serves until the task is cancelled or a signal stops the process, then finishes the requests that are in
    /// progress.
    /// - Parameters:
    ///   - gracefulShutdownSignals: the signals that stop the process.
    ///   - onReady: called when the port is open, with the server's base URL.
    /// - Throws: ``MerchantServerError`` when the port cannot be opened.
    public func run(
        gracefulShutdownSignals: [UnixSignal], onReady: @escaping @Sendable (String) async -> Void
    ) async throws {
        var services: [any Service] = [
            server(onReady), Upkeep(merchant: merchant, logger: logger), tokenKeys,
            StoreAPIService(merchant: merchant, storeAPI: storeAPI, pacing: .system(), logger: logger),
        ]
        if let deliveries { services.append(deliveries) }
        services.append(stopAnnouncement)
        do {
            try await ServiceGroup(
                configuration: .init(
                    services: services.map { .init(service: $0) }, gracefulShutdownSignals: gracefulShutdownSignals,
                    logger: logger)
            ).run()
        } catch let error as IOError {
            await close()
            throw MerchantServerError(
                .portUnavailable,
                "Port \(configuration.port) cannot be opened on \(configuration.host): "
                    + "\(String(cString: strerror(error.errnoCode))). Is another server running? Choose another port with "
                    + "\(configuration.portOption), or 0 for any free port.")
        } catch {
            await close()
            throw error
        }
        await close()
    }

    /// Closes the database after the queued work, and releases the data directory.
    public func close() async {
        await merchant.close()
        lock?.release()
    }

    private func server(_ onReady: @escaping @Sendable (String) async -> Void) -> some Service {
        let (host, port) = (configuration.host, configuration.port)
        return Application(
            router: routers.router(), server: configuration.limits.server(routers.direct),
            configuration: .init(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: configuration.limits.connections(logger: logger)),
            onServerRunning: { channel in
                // A server that listens on all addresses is reached at loopback.
                let name = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host
                await onReady("http://\(name):\(channel.localAddress?.port ?? port)")
            },
            logger: logger)
    }
}

/// Removes expired credits, including those of users who send no requests, and webhook events, notifications and
/// requests to the store that were kept long enough.
private struct Upkeep: Service {
    let merchant: Merchant
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    while try await merchant.expireCredits() == 500, !Task.isCancelled {}
                } catch {
                    logger.warning("credits were not expired", metadata: ["error": .string(String(describing: error))])
                }
                do {
                    while try await merchant.pruneWebhooks() >= 500, !Task.isCancelled {}
                } catch {
                    logger.warning(
                        "old webhook events were not removed", metadata: ["error": .string(String(describing: error))])
                }
                do {
                    while try await merchant.pruneNotifications() >= 500, !Task.isCancelled {}
                } catch {
                    logger.warning(
                        "old notifications were not removed", metadata: ["error": .string(String(describing: error))])
                }
                do {
                    while try await merchant.pruneStoreCalls() >= 500, !Task.isCancelled {}
                } catch {
                    logger.warning(
                        "old requests to the store were not removed",
                        metadata: ["error": .string(String(describing: error))])
                }
                try await Task.sleep(for: .seconds(60))
            }
        }
    }
}
