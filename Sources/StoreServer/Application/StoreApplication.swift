import BlobStorage
import ConsolePages
import ControlWire
import CornerstoreEncoding
import Database
import Foundation
import HTTPSupport
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Store
import StoreReceipts
import StoreWire
import Synchronization
import UnixSignals

/// The store server: both stores, their control port and everything that they keep.
public struct StoreApplication: Sendable {
    /// The configuration that the server was started with.
    public let configuration: StoreServerConfiguration
    /// The sandbox's store.
    public let sandbox: Store
    /// Production's store.
    public let production: Store
    /// The apps that the server knows, with their numbers and shared secrets.
    public let apps: AppRegistry
    /// The catalogs of both stores, which follow the catalog files and the managed apps.
    public let catalogs: StoreCatalogs
    /// Every app and product, also those that no environment sells yet.
    public var catalog: CurrentCatalog { catalogs.all }
    /// The apps whose catalog the store manages.
    public let managed: ManagedCatalog
    /// Notes on the catalog files for the operator, such as a bundle identifier that was derived.
    public let catalogNotes: [String]
    /// The certificate authority that signs receipts and transactions.
    public var authority: CertificateAuthority { currentAuthority.value }
    /// The certificate authority with its OCSP responder.
    let currentAuthority: CurrentAuthority
    /// The items of the storefront, which follow the catalog files.
    public let items: CurrentItemIndex
    /// The upload and review of hosted content.
    public let desk: ContentDesk
    /// The ratings and reviews of the storefront's items.
    public let reviews: Reviews
    /// The partner feeds.
    public let feeds: FeedDesk
    /// The partners who may download the feeds.
    public let partners: Partners
    /// The keys of the App Store Server API.
    public let apiKeys: APIKeys
    /// The views of items' pages that campaigns led to.
    public var campaigns: Campaigns { Campaigns(databases) }
    /// Counts what changes in both stores and in what they share.
    public var changes: Changes { operatorDesk.changes }

    /// The server's own state, for the operator.
    let operatorDesk: OperatorDesk
    let openAddresses: OpenAddresses
    /// The answers to supervisors, load balancers and monitoring systems.
    let operation: StoreOperation
    /// The facts about this process for the others that share the store; nil for a store of one process.
    let facts: OwnFacts?
    let directory: DataDirectory
    let databases: StoreDatabases
    /// The secrets of the store: in its database, or in the data directory.
    public let secrets: StoreSecrets
    /// The claims on scheduled work of the processes that share the store; nil for a store of one process.
    private let claims: Claims?
    let now: @Sendable () -> Date
    /// Identifies this process and its start among those that share the store.
    private let holder: UUID
    private let watcher: CatalogWatcher
    private let indexes: ItemIndexes
    private let storefront: StorefrontAddress
    private let visits: VisitDesk
    let logger: Logger

    /// Opens the data directory, the databases and the catalog. The first start also creates the keys and the sandbox
    /// tester.
    /// - Parameters:
    ///   - now: the machine's clock.
    /// - Throws: ``StoreServerError``, ``CatalogError``, a database's error, ``ReceiptAuthorityError``,
    ///   ``StoreSecretsError``.
    public static func open(
        _ configuration: StoreServerConfiguration, now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> StoreApplication {
        guard configuration.isLoopback || configuration.adminToken != nil else {
            throw StoreServerError(
                .unsafeControlPort,
                "--host \(configuration.host) opens the control port to other machines. Set an admin token first "
                    + "(CORNERSTORE_ADMIN_TOKEN).")
        }
        try configuration.checkSharing()
        // The watcher is created first, so that it notices a change that happens while the files are read.
        let watcher = CatalogWatcher(files: configuration.catalogFiles)
        let loaded = try Catalog.load(files: configuration.catalogFiles)
        let directory = try DataDirectory(configuration.dataDirectory)
        let folder = try directory.makeFolder("databases")
        let facts = configuration.facts(
            catalog: CatalogNews.digest(of: configuration.catalogFiles), startedAt: milliseconds(now)())
        let databases = try await open(
            configuration.databaseURL.map { .postgresql(url: $0, schemaPrefix: configuration.schemaPrefix) }
                ?? .folder(folder), facts, configuration, now: now, logger: logger)
        do {
            let secrets = try await StoreSecrets.open(databases, key: configuration.storeKey)
            if configuration.databaseURL != nil {
                try await ReplacedKeys.end(in: directory.url) { try await databases.schemaNumber() }
            }
            // A new authority would make the receipts of all earlier sales invalid.
            let mayMake = try await secrets.isSealing ? !databases.haveTransactions() : true
            let authority = try await CurrentAuthority.open(
                secrets, folder: directory.path("authority"), mayMake: mayMake, at: now())
            return try await open(
                configuration, directory, databases, secrets, authority, watcher, loaded, facts, now: now,
                logger: logger)
        } catch {
            await databases.close()
            throw error
        }
    }

    /// Opens everything that stands on the databases.
    private static func open(
        _ configuration: StoreServerConfiguration, _ directory: DataDirectory, _ databases: StoreDatabases,
        _ secrets: StoreSecrets, _ currentAuthority: CurrentAuthority, _ watcher: CatalogWatcher,
        _ loaded: (catalog: Catalog, notes: [String]), _ facts: ProcessFacts, now: @escaping @Sendable () -> Date,
        logger: Logger
    ) async throws -> StoreApplication {
        let (catalog, notes) = loaded
        let membership = databases.membership
        let logger = logger.naming(process: membership?.node)
        let node = membership?.node ?? configuration.node ?? 0
        let holder = UUID()
        let claims = membership.map { _ in Claims(databases, holder: holder, now: milliseconds(now)) }
        let apps = try await AppRegistry.open(databases, secrets: secrets)
        let apiKeys = try await APIKeys.open(databases)
        let catalogs = StoreCatalogs(files: catalog)
        let storefront = StorefrontAddress()
        let storefrontBase: @Sendable () -> String = { storefront.value }
        let changes = Changes()
        let indexes = ItemIndexes(folder: try directory.makeFolder("storefront"))
        async let items = index(catalog.items, indexes)
        let content = try await ContentLibrary.open(
            databases, blobs: try blobs(configuration, directory, now),
            staging: try directory.makeFolder("content/uploads"), secrets: secrets, claims: claims)
        let signing = currentAuthority.value
        // An iOS 6 receipt carries only its leaf certificate.
        let intermediates = StoreEnvironment.allCases.compactMap {
            signing.receiptSigner(for: $0).certificates.dropFirst().first
        }
        let verifier = try ReceiptVerifier(roots: [signing.receiptRoot], intermediates: intermediates)
        func store(_ environment: StoreEnvironment) async throws -> Store {
            try await Store.open(
                environment, databases: databases, apps: apps, catalog: catalogs[environment], content: content,
                signer: { currentAuthority.receiptSigner(for: environment) },
                verifier: verifier, node: node, realTime: now,
                passwordCost: configuration.passwordCost, processor: nil, changes: changes,
                policy: environment == .sandbox ? configuration.sandboxRenewals : configuration.productionRenewals,
                apiKeys: apiKeys,
                isFresh: { membership?.isFresh ?? true })
        }
        let (production, sandbox) = (try await store(.production), try await store(.sandbox))
        let managed = try await ManagedCatalog.open(
            databases, apps: apps, catalogs: catalogs, content: content, production: production,
            files: configuration.catalogFiles
        ) { try writeSecrets(of: apps, to: directory) }
        let currentItems = CurrentItemIndex(try await items)
        let reviews = try await Reviews.open(
            databases, items: currentItems, isShared: membership != nil,
            now: { environment in (environment == .sandbox ? sandbox : production).clock.milliseconds })
        let feeds = try FeedDesk(
            folder: directory.path("feeds"), store: production, items: currentItems, base: storefrontBase,
            layouts: Set(configuration.feed.layouts), countries: configuration.feed.countries)
        let openAddresses = OpenAddresses()
        let own = membership.map { OwnFacts(facts, $0) }
        own?.update { $0.place = content.place }
        let operation = makeOperation(configuration, [sandbox, production], databases, catalogs, own, logger)
        let application = StoreApplication(
            configuration: configuration, sandbox: sandbox, production: production, apps: apps, catalogs: catalogs,
            managed: managed, catalogNotes: notes, currentAuthority: currentAuthority, items: currentItems,
            desk: ContentDesk(content, production: production, catalog: catalogs.all, managed: managed),
            reviews: reviews,
            feeds: feeds, partners: Partners(databases, cost: configuration.passwordCost),
            apiKeys: apiKeys,
            operatorDesk: OperatorDesk(
                changes: changes,
                requests: RequestLog(
                    changes: changes, now: milliseconds(now), process: membership?.node, metrics: operation.metrics),
                audit: AuditLog(databases),
                news: CatalogNews(
                    notes: notes, files: configuration.catalogFiles, changes: changes, now: milliseconds(now)),
                catalogFiles: configuration.catalogFiles,
                sheets: SheetBoard(
                    node: node, processes: operation.others, now: { .now },
                    changed: { changes.record(ChangeTopic(.sheets, nil)) }),
                screens: ScreenBoard(now: { .now }, changed: { changes.record(ChangeTopic(.screens, nil)) }),
                settings: {
                    ControlAPI.Settings(
                        configuration, currentAuthority.value, openAddresses.value, node: node,
                        processes: operation.process.map { ControlAPI.StoreProcess.all($0()) })
                },
                tester: { SandboxTester.read(from: directory.url) }, now: now),
            openAddresses: openAddresses, operation: operation, facts: own, directory: directory,
            databases: databases, secrets: secrets, claims: claims, now: now, holder: holder, watcher: watcher,
            indexes: indexes,
            storefront: storefront,
            visits: VisitDesk(
                base: storefrontBase, prices: ItemPriceText(), campaigns: Campaigns(databases), node: node,
                processes: operation.others), logger: logger)
        try await application.register(catalog)
        try await application.prepareDirectory()
        membership?.hear(application.listener)
        return application
    }

    static func milliseconds(_ now: @escaping @Sendable () -> Date) -> @Sendable () -> Int64 {
        { Int64((now().timeIntervalSince1970 * 1000).rounded(.down)) }
    }

    private static func open(
        _ location: StoreDatabases.Location, _ facts: ProcessFacts, _ configuration: StoreServerConfiguration,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> StoreDatabases {
        let sharing =
            configuration.isShared
            ? StoreDatabases.Sharing(
                facts: facts, node: configuration.node, name: facts.name, now: milliseconds(now)) : nil
        do {
            return try await StoreDatabases.open(
                location, sharing: sharing, connections: configuration.connections, logger: logger
            ) {
                // A wrong key must not leave migrated tables to a process that ends.
                try await StoreSecrets.checkUnmigrated(location, key: configuration.storeKey)
            }
        } catch let error as DatabasesInUse {
            throw StoreServerError(error, configuration)
        }
    }

    /// Opens the index of a catalog's items, and builds it first if the items are new.
    private static func index(
        _ items: [CatalogItem], _ indexes: ItemIndexes, keeping current: ItemIndex? = nil
    ) async throws -> ItemIndex {
        try await NIOThreadPool.singleton.runIfActive { try indexes.index(of: items, keeping: current) }
    }

    private static func blobs(
        _ configuration: StoreServerConfiguration, _ directory: DataDirectory, _ now: @escaping @Sendable () -> Date
    ) throws -> any BlobStore {
        if let bucket = configuration.bucket { return S3BlobStore(bucket, now: now) }
        if let shared = configuration.sharedBlobs { return try DirectoryBlobStore(folder: shared) }
        return try DirectoryBlobStore(folder: try directory.makeFolder("content/packages"))
    }

    /// Gives new apps their numbers and secrets, writes the secrets to a file for the operator, and turns hosting on
    /// for the products that the catalog names.
    private func register(_ catalog: Catalog) async throws {
        let milliseconds = Int64(now().timeIntervalSince1970 * 1000)
        try await apps.register(catalog.apps.map(\.bundleID), at: milliseconds)
        try Self.writeSecrets(of: apps, to: directory)
        for refusal in try await desk.takeIn(catalog) {
            logger.warning("content is not hosted", metadata: ["reason": .string(refusal)])
        }
    }

    static func writeSecrets(of apps: AppRegistry, to directory: DataDirectory) throws {
        try directory.write("shared-secrets.json", isSecret: true) {
            let secrets = Dictionary(
                apps.all.map { ($0.bundleID.rawValue, $0.sharedSecret) }, uniquingKeysWith: { first, _ in first })
            return try JSONEncoder.readable.encode(secrets)
        }
    }

    /// Writes the public roots, and creates the sandbox tester when the data directory has none.
    private func prepareDirectory() async throws {
        _ = try directory.makeFolder("roots")
        try directory.write(authority.receiptRoot, to: "roots/receipt-root.der", isSecret: false)
        try directory.write(authority.jwsRoot, to: "roots/jws-root.der", isSecret: false)
        // A merchant beside the store needs the issuer of iOS 6 receipts, which is not in a folder then.
        if configuration.isShared, let issuer = authority.receiptSigner(for: .production).certificates.dropFirst().first
        {
            try directory.write(issuer, to: "roots/receipt-intermediate.der", isSecret: false)
        }
        try await prepareTester()
    }

    // MARK: Within the process

    /// Answers requests to the control port of another part of this process. They need no admin token.
    public var inProcessControl: InProcessResponder { InProcessResponder(controlRouter(isGuarded: false)) }

    /// Answers requests to an environment's protocol port of another part of this process.
    public func inProcessDevice(_ environment: StoreEnvironment) -> InProcessResponder {
        InProcessResponder(protocolRouter(environment == .sandbox ? sandbox : production))
    }

    // MARK: Running

    /// Lets `GET /ready` say that the server is stopping. Add it as the last service to a group in which other services
    /// stop before the server.
    public var stopAnnouncement: any Service {
        ReadinessEnd(health: operation.health, delay: .zero, isCurrent: operation.isCurrent)
    }

    /// Serves until the task is cancelled or a signal stops the process, then finishes the requests that are in
    /// progress.
    /// - Parameters:
    ///   - gracefulShutdownSignals: the signals that stop the process.
    ///   - merchant: the base URL of the merchant that runs beside the store, for `addresses.json`.
    ///   - console: the base URL of the console that runs beside the store, likewise.
    ///   - onReady: called when all ports are open and `addresses.json` is written.
    /// - Throws: ``StoreServerError`` when a port cannot be opened, or another store has taken the databases.
    public func run(
        gracefulShutdownSignals: [UnixSignal], merchant: String? = nil, console: String? = nil,
        onReady: @escaping @Sendable (Addresses) async -> Void
    ) async throws {
        let ready = ReadyPorts { addresses in
            var addresses = addresses
            storefront.value = configuration.storefrontURL ?? addresses.storefront
            await useOCSP(addresses)
            facts?.update { $0.address = addresses.control }
            addresses.merchant = merchant
            addresses.console = console
            openAddresses.value = addresses
            try? directory.write(JSONEncoder.readable.encode(addresses), to: Addresses.fileName, isSecret: false)
            await onReady(addresses)
        }
        do { try probePorts() } catch {
            await close()
            throw error
        }
        await waitUntilCurrent()
        var services: [any Service] = [
            server(.control, controlRouter(isGuarded: true), ready),
            server(.sandbox, protocolRouter(sandbox), direct: directAnswers(sandbox), ready),
            server(.production, protocolRouter(production), direct: directAnswers(production), ready),
            server(.storefront, try storefrontRouter(), ready),
            catalogReload,
            BlobSweep(library: desk.library, logger: logger),
            SubscriptionSchedule(stores: [sandbox, production], claims: claims, logger: logger),
            NotificationSender(
                notifications, claims: claims, changes: operatorDesk.changes,
                post: NotificationPost(
                    limit: configuration.notificationLimit,
                    counted: { [metrics = operation.metrics] in metrics.notified($0) }),
                logger: logger),
        ]
        if configuration.feed.isScheduled {
            services.append(FeedSchedule(desk: feeds, claims: claims, logger: logger))
        }
        if let membership = databases.membership, let process = operation.process, let facts {
            services.append(ChangeHints(membership: membership, changes: changes, stores: [sandbox, production]))
            services.append(
                ProcessWatch(
                    process: process, health: operation.health, facts: facts, news: operatorDesk.news, changes: changes,
                    logger: logger))
        }
        if databases.canBeLost { services.append(DatabaseWatch(databases: databases, configuration: configuration)) }
        // A group stops its last service first.
        services.append(
            ReadinessEnd(
                health: operation.health, delay: configuration.drainDelay, isCurrent: operation.isCurrent))
        do {
            try await ServiceGroup(
                configuration: .init(
                    services: services.map {
                        .init(
                            service: $0,
                            failureTerminationBehavior: $0 is DatabaseWatch ? .gracefullyShutdownGroup : .cancelGroup)
                    }, gracefulShutdownSignals: gracefulShutdownSignals, logger: logger)
            ).run()
        } catch {
            await close()
            throw error
        }
        await close()
    }

    private func storefrontRouter() throws -> Router<StoreRequestContext> {
        let rating: @Sendable (CatalogItem, Storefront) -> ItemRating = reviews.ratings.rating(of:in:)
        let finder = ItemFinder(
            index: items, base: { [storefront] in storefront.value }, prices: visits.prices, rating: rating)
        let pages = ItemPages(
            index: items, catalog: catalogs[.production], templates: try PageTemplates.embedded.get(),
            prices: visits.prices,
            rating: rating)
        return StoreRouters.storefrontRouter(
            finder, pages: pages, reviews: reviews, campaigns: campaigns, visits: visits,
            stores: [sandbox, production], feeds: feedController,
            searches: configuration.searchRate.map { SearchLimit($0) },
            signIns: configuration.signInRates.map { SignInLimits($0) },
            isBehindProxy: configuration.isBehindProxy, patience: configuration.stallPatience,
            requests: operatorDesk.requests, operation: operation)
    }

    private func directAnswers(_ store: Store) -> DirectStoreAnswers {
        DirectStoreAnswers(
            store: store, requests: operatorDesk.requests, metrics: operation.metrics, isCurrent: operation.isCurrent)
    }

    private var feedController: FeedController {
        FeedController(
            desk: feeds, partners: partners, limits: configuration.signInRates.map { SignInLimits($0) },
            isBehindProxy: configuration.isBehindProxy, patience: configuration.stallPatience, now: now,
            processes: feedProcesses)
    }

    var feedControl: FeedControlController {
        FeedControlController(desk: feeds, partners: partners, now: now, logger: logger, processes: feedProcesses)
    }

    /// The processes of which another one may have the feeds; nil in the process that builds them.
    private var feedProcesses: OtherProcess? {
        configuration.feed.isScheduled ? nil : operation.others
    }

    /// The notifications of both stores to apps' servers.
    var notifications: [NotificationOutbox] {
        [sandbox, production].map { store in
            NotificationOutbox(
                store, holder: holder, isShared: databases.membership != nil, now: Self.milliseconds(now)
            ) { [currentAuthority] in currentAuthority.jwsIdentity(for: store.environment) }
        }
    }

    var notificationControl: NotificationController {
        NotificationController(
            outboxes: Dictionary(uniqueKeysWithValues: notifications.map { ($0.store.environment, $0) }))
    }

    var apiKeyControl: APIKeyController { APIKeyController(keys: apiKeys, apps: apps, now: now) }

    private func protocolRouter(_ store: Store) -> Router<StoreRequestContext> {
        StoreRouters.protocolRouter(
            store, reviews: reviews, visits: visits, signIns: configuration.signInRates.map { SignInLimits($0) },
            isBehindProxy: configuration.isBehindProxy, patience: configuration.stallPatience,
            serverAPI: ServerAPI(
                store, identity: { [currentAuthority] in currentAuthority.jwsIdentity(for: store.environment) },
                keys: apiKeys, realTime: now),
            ocsp: OCSPController(responder: currentAuthority.responder, now: now), requests: operatorDesk.requests,
            operation: operation, connections: configuration.limits.values.connections)
    }

    /// Asks for each configured port, so that a port in use is reported before anything has started.
    private func probePorts() throws {
        for port in ReadyPorts.Port.allCases where port.number(configuration) != 0 {
            do {
                _ = try PortProbe(host: configuration.host, port: port.number(configuration))
            } catch let error as IOError {
                throw StoreServerError(port, configuration, error)
            }
        }
    }

    /// The service that loads changed catalog files.
    var catalogReload: CatalogReload {
        CatalogReload(watcher: watcher, catalogs: catalogs, logger: logger, news: operatorDesk.news) { catalog in
            let index = try await Self.index(catalog.items, indexes, keeping: items.value)
            try await register(catalog)
            items.replace(with: index)
        }
    }

    /// Closes the databases after the queued work, and releases the data directory.
    public func close() async {
        try? FileManager.default.removeItem(at: directory.path(Addresses.fileName))
        await feeds.close()
        await databases.close()
        directory.release()
    }

    private func server(
        _ port: ReadyPorts.Port, _ router: Router<StoreRequestContext>, direct: DirectStoreAnswers? = nil,
        _ ready: ReadyPorts
    ) -> some Service {
        let (host, number) = (configuration.host, port.number(configuration))
        let application = Application(
            router: router, server: configuration.limits.server(direct),
            configuration: .init(
                address: .hostname(host, port: number),
                availableConnectionsDelegate: configuration.limits.connections(logger: logger)),
            onServerRunning: { channel in
                await ready.opened(port, host: host, number: channel.localAddress?.port ?? number)
            },
            logger: logger)
        return PortService(application: application, port: port, configuration: configuration)
    }
}

/// The base URL of the storefront's links. It is known once the port is open.
final class StorefrontAddress: Sendable {
    private let url = Mutex("")

    var value: String {
        get { url.withLock { $0 } }
        set { url.withLock { $0 = newValue } }
    }
}

/// Stops the server in an orderly way when another store has taken its databases.
private struct DatabaseWatch: Service {
    let databases: StoreDatabases
    let configuration: StoreServerConfiguration

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            if let loss = await databases.whenLost() { throw StoreServerError(loss, configuration) }
        }
    }
}

/// A service that runs one of the server's ports, and names the port when it cannot be opened.
private struct PortService<Base: Service>: Service {
    let application: Base
    let port: ReadyPorts.Port
    let configuration: StoreServerConfiguration

    func run() async throws {
        do {
            try await application.run()
        } catch let error as IOError {
            throw StoreServerError(port, configuration, error)
        }
    }
}

extension StoreServerError {
    fileprivate init(_ error: DatabasesInUse, _ configuration: StoreServerConfiguration) {
        guard error.error.code == .inUse else {
            // A shared database that this process may not use any more: the detail says why.
            self.init(.databaseLost, error.error.detail)
            return
        }
        guard !configuration.isShared else {
            self.init(
                .databaseInUse,
                "The PostgreSQL schemas \(configuration.schemaPrefix)_…, or the number of this process, are in use (\(error.owner)). Start each "
                    + "process of the store with the same --store-key, and with a --node of its own or none.")
            return
        }
        self.init(
            .databaseInUse,
            "Another store is using the PostgreSQL schemas \(configuration.schemaPrefix)_… (\(error.owner)). Stop that store, or give this "
                + "one its own schemas with --schema-prefix. To run several processes of one store, start each with the same --store-key."
        )
    }

    fileprivate init(_ port: ReadyPorts.Port, _ configuration: StoreServerConfiguration, _ error: IOError) {
        self.init(
            .portUnavailable,
            "Port \(port.number(configuration)) cannot be opened on \(configuration.host): "
                + "\(String(cString: strerror(error.errnoCode))). Is another server running? Choose another port with --\(port)-port, or 0 for "
                + "any free port.")
    }
}

/// Collects the addresses of the ports as they open, and reports them when all are open.
private actor ReadyPorts {
    enum Port: Sendable, CaseIterable {
        case control
        case sandbox
        case production
        case storefront

        /// The configured port number; 0 takes any free port.
        func number(_ configuration: StoreServerConfiguration) -> Int {
            switch self {
            case .control: configuration.controlPort
            case .sandbox: configuration.sandboxPort
            case .production: configuration.productionPort
            case .storefront: configuration.storefrontPort
            }
        }
    }

    private var open: [Port: String] = [:]
    private let whenAll: @Sendable (Addresses) async -> Void

    init(_ whenAll: @escaping @Sendable (Addresses) async -> Void) { self.whenAll = whenAll }

    func opened(_ port: Port, host: String, number: Int) async {
        // A server that listens on all addresses is reached at loopback.
        let name = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host
        open[port] = "http://\(name):\(number)"
        guard let control = open[.control], let sandbox = open[.sandbox], let production = open[.production],
            let storefront = open[.storefront]
        else { return }
        await whenAll(
            Addresses(control: control, sandbox: sandbox, production: production, storefront: storefront))
    }
}
