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

    /// Starts all of it, the stores at the same moment, on a database that is not there yet.
    /// - Parameters:
    ///   - webhook: where the merchants send their events.
    static func start(
        _ programs: Programs, folder: URL, databaseURL: String, schemaPrefix: String, webhook: String,
        stores count: Int = 3
    ) async throws -> StoreCluster {
        let ports = try Ports.free(4)
        let bucket = try await S3Server.bucket()
        let shared = SharedStore(
            key: try SharedStore.makeKey(in: folder),
            blobs: "s3://\(bucket.name)?endpoint=\(bucket.endpoint)&region=us-east-1",
            storefrontURL: "http://127.0.0.1:\(ports[2])",
            ocspURL: "http://127.0.0.1:\(ports[1])/ocsp")
        let stores = try await withThrowingTaskGroup(of: (Int, StoreProcess).self) { group in
            for number in 0..<count {
                group.addTask {
                    let store = try await StoreProcess(
                        programs, folder: folder.appendingPathComponent("store\(number)"), databaseURL: databaseURL,
                        schemaPrefix: schemaPrefix, shared: shared)
                    return (number, store)
                }
            }
            var stores: [(Int, StoreProcess)] = []
            for try await store in group { stores.append(store) }
            return stores.sorted { $0.0 < $1.0 }.map(\.1)
        }
        var setup = try await MerchantSetup(
            programs, folder: folder.appendingPathComponent("merchants"), databaseURL: databaseURL,
            schema: "\(schemaPrefix)_merchant", items: [])
        setup.webhook = webhook
        let merchants = try [MerchantProcess(setup), MerchantProcess(setup)]
        do {
            for merchant in merchants { try await merchant.start() }
            var places: [[Int]] = []
            for store in stores { places.append(Array(await store.ports.dropFirst())) }
            let configuration = try DocumentedSetup.nginx(
                stores: places, merchants: merchants.compactMap { URLComponents(string: $0.address)?.port },
                proxy: ports)
            let proxy = try await NginxProcess(
                configuration, port: ports[0], in: folder.appendingPathComponent("nginx"))
            return StoreCluster(
                stores: stores, merchants: merchants, setup: setup, sandbox: "http://127.0.0.1:\(ports[0])",
                notifications: "http://127.0.0.1:\(ports[3])/notifications", proxy: proxy)
        } catch {
            for merchant in merchants { await merchant.stop() }
            for store in stores { await store.stop() }
            throw error
        }
    }

    private init(
        stores: [StoreProcess], merchants: [MerchantProcess], setup: MerchantSetup, sandbox: String,
        notifications: String, proxy: NginxProcess
    ) {
        self.stores = stores
        self.merchants = merchants
        self.setup = setup
        self.sandbox = sandbox
        self.notifications = notifications
        self.proxy = proxy
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
