import BlobStorage
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
import UnixSignals

/// Both stores, their control port and everything that they keep, put together once.
public struct StoreApplication: Sendable {
    public let configuration: StoreServerConfiguration
    public let sandbox: Store
    public let production: Store
    public let apps: AppRegistry
    public let catalog: CurrentCatalog
    /// What is to be said of the catalog files, such as a bundle identifier that was derived.
    public let catalogNotes: [String]
    public let authority: CertificateAuthority
    /// Where hosted content is uploaded and reviewed.
    public let desk: ContentDesk

    private let directory: DataDirectory
    private let databases: StoreDatabases
    private let watcher: CatalogWatcher
    private let now: @Sendable () -> Date
    private let logger: Logger

    /// Opens the data directory, the databases and the catalog; makes the keys and the sandbox tester on the first start.
    /// - Parameters:
    ///   - now: the machine's clock.
    /// - Throws: ``StoreServerError``, ``CatalogError``, a database's error, ``ReceiptAuthorityError``.
    public static func open(
        _ configuration: StoreServerConfiguration, now: @escaping @Sendable () -> Date, logger: Logger
    ) async throws -> StoreApplication {
        guard configuration.isLoopback || configuration.adminToken != nil else {
            throw StoreServerError(
                .unsafeControlPort,
                "The control port is open to other machines with --host \(configuration.host). Set an admin token of your own first "
                    + "(CORNERSTORE_ADMIN_TOKEN).")
        }
        // The watcher is made first, so that a change while the files are read is seen later.
        let watcher = CatalogWatcher(files: configuration.catalogFiles)
        let (catalog, notes) = try Catalog.load(files: configuration.catalogFiles)
        let directory = try DataDirectory(configuration.dataDirectory)
        async let authority = CertificateAuthority.open(directory: try directory.makeFolder("authority"), at: now())
        let folder = try directory.makeFolder("databases")
        let databases = try await open(
            configuration.databaseURL.map { .postgresql(url: $0, schemaPrefix: configuration.schemaPrefix) }
                ?? .folder(folder), configuration, logger)
        let apps = try await AppRegistry.open(databases)
        let current = CurrentCatalog(catalog)
        let content = try await ContentLibrary.open(
            databases, blobs: try blobs(configuration, directory, now),
            staging: try directory.makeFolder("content/uploads"))
        let signing = try await authority
        // An iOS 6 receipt carries its leaf alone.
        let intermediates = StoreEnvironment.allCases.compactMap {
            signing.receiptSigner(for: $0).certificates.dropFirst().first
        }
        let verifier = try ReceiptVerifier(roots: [signing.receiptRoot], intermediates: intermediates)
        func store(_ environment: StoreEnvironment) async throws -> Store {
            try await Store.open(
                environment, databases: databases, apps: apps, catalog: current, content: content,
                signer: signing.receiptSigner(for: environment),
                verifier: verifier, node: configuration.node, realTime: now,
                passwordCost: configuration.passwordCost, processor: nil)
        }
        let production = try await store(.production)
        let application = StoreApplication(
            configuration: configuration, sandbox: try await store(.sandbox), production: production, apps: apps,
            catalog: current, catalogNotes: notes, authority: signing,
            desk: ContentDesk(content, production: production, catalog: current), directory: directory,
            databases: databases, watcher: watcher, now: now, logger: logger)
        try await application.register(catalog)
        try await application.prepareDirectory()
        return application
    }

    private static func open(
        _ location: StoreDatabases.Location, _ configuration: StoreServerConfiguration, _ logger: Logger
    ) async throws -> StoreDatabases {
        do { return try await StoreDatabases.open(location, logger: logger) } catch let error as DatabasesInUse {
            throw StoreServerError(error, configuration)
        }
    }

    private static func blobs(
        _ configuration: StoreServerConfiguration, _ directory: DataDirectory, _ now: @escaping @Sendable () -> Date
    ) throws -> any BlobStore {
        if let bucket = configuration.bucket { return S3BlobStore(bucket, now: now) }
        return try DirectoryBlobStore(folder: try directory.makeFolder("content/packages"))
    }

    /// Gives new apps their numbers and secrets, writes the secrets for the operator, and turns hosting on where the catalog says so.
    private func register(_ catalog: Catalog) async throws {
        let milliseconds = Int64(now().timeIntervalSince1970 * 1000)
        try await apps.register(catalog.apps.map(\.bundleID), at: milliseconds)
        let secrets = Dictionary(
            apps.all.map { ($0.bundleID.rawValue, $0.sharedSecret) }, uniquingKeysWith: { first, _ in first })
        try directory.write(Self.json(secrets), to: "shared-secrets.json", isSecret: true)
        for refusal in try await desk.takeIn(catalog) {
            logger.warning("content is not hosted", metadata: ["reason": .string(refusal)])
        }
    }

    /// Writes the public roots, and makes the tester when no account is there.
    private func prepareDirectory() async throws {
        _ = try directory.makeFolder("roots")
        try directory.write(authority.receiptRoot, to: "roots/receipt-root.der", isSecret: false)
        try directory.write(authority.jwsRoot, to: "roots/jws-root.der", isSecret: false)
        guard SandboxTester.read(from: directory.url) == nil else { return }
        var generator = SystemRandomNumberGenerator()
        let password = (0..<4).map { _ in String(UInt32.random(in: 0...UInt32.max, using: &generator), radix: 36) }
            .joined(separator: "-")
        var tester = SandboxTester(email: "tester@sandbox.example", password: password)
        // A database that was used before knows that address, but the password was in another data directory.
        if try await sandbox.accounts.account(email: tester.email) != nil {
            tester.email = "tester-\(password.prefix(6))@sandbox.example"
        }
        _ = try await sandbox.accounts.create(
            NewAccount(email: tester.email, password: tester.password, storefront: "USA"),
            at: sandbox.clock.milliseconds)
        try directory.write(Self.json(tester), to: SandboxTester.fileName, isSecret: true)
    }

    private static func json(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    // MARK: Running

    /// Serves until the task is cancelled or the process is told to stop, then finishes what is under way.
    /// - Parameters:
    ///   - gracefulShutdownSignals: what tells the process to stop.
    ///   - merchant: the base URL of the merchant that answers beside the store, for `addresses.json`.
    ///   - onReady: called once all three ports answer, after `addresses.json` was written.
    /// - Throws: ``StoreServerError`` when a port cannot be had, or another store has taken the databases.
    public func run(
        gracefulShutdownSignals: [UnixSignal], merchant: String? = nil,
        onReady: @escaping @Sendable (Addresses) async -> Void
    ) async throws {
        let ready = ReadyPorts { addresses in
            var addresses = addresses
            addresses.merchant = merchant
            try? directory.write(Self.json(addresses), to: Addresses.fileName, isSecret: false)
            await onReady(addresses)
        }
        do { try await probePorts() } catch {
            await close()
            throw error
        }
        var services: [any Service] = [
            server(
                .control,
                StoreRouters.controlRouter(
                    [sandbox, production], apps: apps, catalog: catalog, desk: desk,
                    adminToken: configuration.adminToken, patience: configuration.stallPatience), ready),
            server(.sandbox, protocolRouter(sandbox), direct: DirectStoreAnswers(store: sandbox), ready),
            server(.production, protocolRouter(production), direct: DirectStoreAnswers(store: production), ready),
            catalogReload,
        ]
        if databases.canBeLost { services.append(DatabaseWatch(databases: databases, configuration: configuration)) }
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

    private func protocolRouter(_ store: Store) -> Router<StoreRequestContext> {
        StoreRouters.protocolRouter(
            store, signIns: configuration.signInRates.map { SignInLimits($0) },
            isBehindProxy: configuration.isBehindProxy, patience: configuration.stallPatience)
    }

    /// Opens and closes the ports that were named, so that one in use is reported before anything runs and has to be
    /// stopped again.
    ///
    /// The probe accepts no connection: one that it accepted would stay open after it, and nobody would serve it. The
    /// kernel resets what connects meanwhile, and the client tries again.
    private func probePorts() async throws {
        for port in ReadyPorts.Port.allCases where port.number(configuration) != 0 {
            do {
                let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .serverChannelOption(.autoRead, value: false)
                    .bind(host: configuration.host, port: port.number(configuration)).get()
                try await channel.close()
            } catch let error as IOError {
                throw StoreServerError(port, configuration, error)
            }
        }
    }

    /// What takes changed catalog files in.
    var catalogReload: CatalogReload {
        CatalogReload(watcher: watcher, catalog: catalog, logger: logger) { try await register($0) }
    }

    /// Closes the databases after what is queued, and gives the data directory back.
    public func close() async {
        try? FileManager.default.removeItem(at: directory.path(Addresses.fileName))
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

/// Stops the server in order when another store has taken its databases.
private struct DatabaseWatch: Service {
    let databases: StoreDatabases
    let configuration: StoreServerConfiguration

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            if let loss = await databases.whenLost() { throw StoreServerError(loss, configuration) }
        }
    }
}

/// One of the server's ports, which says which it was when it cannot be had.
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
        self.init(
            .databaseInUse,
            "Another store works on the PostgreSQL schemas \(configuration.schemaPrefix)_… (\(error.owner)). Stop that store, or give this "
                + "one schemas of its own with --schema-prefix. Several store processes cannot share a database yet.")
    }

    fileprivate init(_ port: ReadyPorts.Port, _ configuration: StoreServerConfiguration, _ error: IOError) {
        self.init(
            .portUnavailable,
            "Port \(port.number(configuration)) cannot be opened on \(configuration.host): "
                + "\(String(cString: strerror(error.errnoCode))). Is another server running? Give another with --\(port)-port, or 0 for "
                + "any free one.")
    }
}

/// Collects the ports as they open, and tells when all have.
private actor ReadyPorts {
    enum Port: Sendable, CaseIterable {
        case control
        case sandbox
        case production

        /// 0 takes any free one.
        func number(_ configuration: StoreServerConfiguration) -> Int {
            switch self {
            case .control: configuration.controlPort
            case .sandbox: configuration.sandboxPort
            case .production: configuration.productionPort
            }
        }
    }

    private var open: [Port: String] = [:]
    private let whenAll: @Sendable (Addresses) async -> Void

    init(_ whenAll: @escaping @Sendable (Addresses) async -> Void) { self.whenAll = whenAll }

    func opened(_ port: Port, host: String, number: Int) async {
        // An address that listens everywhere is not one to connect to.
        let name = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host
        open[port] = "http://\(name):\(number)"
        guard let control = open[.control], let sandbox = open[.sandbox], let production = open[.production] else {
            return
        }
        await whenAll(Addresses(control: control, sandbox: sandbox, production: production))
    }
}
