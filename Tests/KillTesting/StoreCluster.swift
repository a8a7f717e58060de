import Foundation
import TestSupport

/// Several stores and merchants on one PostgreSQL, behind nginx as the documentation sets it up.
struct StoreCluster: Sendable {
    let stores: [StoreProcess]
    let merchants: [MerchantProcess]
    let setup: MerchantSetup
    /// Where devices reach the sandbox, through nginx.
    let sandbox: String
    /// Where stores send notifications, through nginx.
    let notifications: String
    private let proxy: NginxProcess
    /// Of the proxy.
    private let ports: [ReservedPort]

    /// Starts all of it on a database that is not there yet. The store with the number 1 brings the authority. The
    /// others start at the same moment and read it from the database.
    /// - Parameters:
    ///   - webhook: where the merchants send their events.
    static func start(
        _ programs: Programs, folder: URL, databaseURL: String, schemaPrefix: String, webhook: String,
        stores count: Int = 3
    ) async throws -> StoreCluster {
        let reserved = try (0..<5).map { _ in try ReservedPort() }
        let ports = reserved.map(\.number)
        let shared = SharedStore(
            key: try SharedStore.makeKey(in: folder), blobs: try await SharedStore.makeBucket(),
            storefrontURL: "http://127.0.0.1:\(ports[2])", ocspURL: "http://127.0.0.1:\(ports[4])/ocsp")
        @Sendable func store(_ node: Int) async throws -> StoreProcess {
            try await StoreProcess(
                programs, folder: folder.appendingPathComponent("store\(node)"), databaseURL: databaseURL,
                schemaPrefix: schemaPrefix, shared: shared, node: node, hasAuthority: node == 1)
        }
        let first = try await store(1)
        let (others, failure) = await ServerProcess.startTogether((1...count).dropFirst(), store)
        let stores = [first] + others
        if let failure {
            for store in stores { await store.stop() }
            throw failure
        }
        var setup = try await MerchantSetup(
            programs, folder: folder.appendingPathComponent("merchants"), databaseURL: databaseURL,
            schema: "\(schemaPrefix)_merchant", items: [])
        setup.webhook = webhook
        let merchants = try [MerchantProcess(setup), MerchantProcess(setup)]
        do {
            for merchant in merchants { try await merchant.start() }
            var places: [[String]] = []
            for store in stores { places.append(await store.ports.dropFirst().map { "127.0.0.1:\($0)" }) }
            let configuration = try DocumentedSetup.nginx(
                stores: places, merchants: merchants.map { String($0.address.dropFirst("http://".count)) },
                proxy: ports)
            let proxy = try await NginxProcess(
                configuration, port: ports[0], in: folder.appendingPathComponent("nginx"))
            return StoreCluster(
                stores: stores, merchants: merchants, setup: setup, sandbox: "http://127.0.0.1:\(ports[0])",
                notifications: "http://127.0.0.1:\(ports[3])/notifications", proxy: proxy, ports: reserved)
        } catch {
            for merchant in merchants { await merchant.stop() }
            for store in stores { await store.stop() }
            throw error
        }
    }

    private init(
        stores: [StoreProcess], merchants: [MerchantProcess], setup: MerchantSetup, sandbox: String,
        notifications: String, proxy: NginxProcess, ports: [ReservedPort]
    ) {
        self.stores = stores
        self.merchants = merchants
        self.setup = setup
        self.sandbox = sandbox
        self.notifications = notifications
        self.proxy = proxy
        self.ports = ports
    }

    /// Stops all of it.
    func stop() async {
        await proxy.stop()
        for merchant in merchants { await merchant.stop() }
        for store in stores { await store.stop() }
    }

    /// The ends of the stores' logs.
    var logs: String { stores.map { $0.logEnd }.joined(separator: "\n") }
}
