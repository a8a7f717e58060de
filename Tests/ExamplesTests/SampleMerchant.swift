import Foundation
import Merchant
import MerchantServer
import MerchantWire
import StoreWire
import TestSupport

/// The server of Server Books and Magazine, beside the samples' store, behind a cable that can be cut. Its data
/// outlives each of its starts.
@MainActor
final class SampleMerchant {
    private let store: SampleStore
    private let configuration: MerchantServerConfiguration
    private var running: (application: MerchantApplication, server: ServerTask<String>)?
    private var key: String?
    let relay: Relay
    /// Where apps find it: the cable's other end, which stays.
    var address: String { "http://127.0.0.1:\(relay.port)" }

    nonisolated private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Examples")

    struct NotRunning: Error {}

    private init(_ store: SampleStore) throws {
        self.store = store
        let roots = try ["receipt-root.der", "jws-root.der"].map {
            Array(try Data(contentsOf: store.folder.appendingPathComponent("data/roots/\($0)")))
        }
        configuration = MerchantServerConfiguration(
            dataDirectory: store.folder.appendingPathComponent("merchant"), port: 0,
            stores: [.cornerstore(roots: roots)], policy: MerchantPolicy(environments: [.sandbox]),
            productsFiles: ["ServerBooks", "Magazine"].map {
                Self.examples.appendingPathComponent("\($0)/Merchant.yaml")
            }, rates: nil)
        relay = try Relay(to: 0)
    }

    /// Runs a test beside a merchant with the sample's products, of which nothing is there to be downloaded yet.
    static func with(_ store: SampleStore, _ body: @MainActor (SampleMerchant) async throws -> Void) async throws {
        let merchant = try SampleMerchant(store)
        do {
            try await merchant.start()
            try await body(merchant)
        } catch {
            await merchant.stop()
            merchant.relay.close()
            throw error
        }
        await merchant.stop()
        merchant.relay.close()
    }

    // MARK: From start to end

    /// Starts it, on the data of the last time.
    func start() async throws {
        let application = try await MerchantApplication.open(configuration, now: { Date() }, logger: .silent)
        let server = try await ServerTask { try await application.run(gracefulShutdownSignals: [], onReady: $0) }
        running = (application, server)
        guard let port = URL(string: server.address)?.port else { throw NotRunning() }
        relay.lead(to: UInt16(port))
    }

    /// Ends it, in the middle of whatever it does, and returns when its files are closed.
    func stop() async {
        guard let running else { return }
        self.running = nil
        await running.server.stop()
    }

    private func application() throws -> MerchantApplication {
        guard let running else { throw NotRunning() }
        return running.application
    }

    // MARK: Its users

    /// A device of the store's one account with a sample, on which `user` is signed in at the merchant.
    func program(
        _ name: String = "server-books", device: String, user: UserID, variables: [String: String] = [:]
    ) async throws -> SampleProgram {
        let file = store.folder.appendingPathComponent("token-\(user)")
        try Data("\(try await application().tokens.makeToken(for: user, at: Date()))\n".utf8).write(to: file)
        return SampleProgram(
            name: name, store: store, device: device,
            variables: ["CORNERSTORE_MERCHANT": address, "CORNERSTORE_USER_TOKEN_FILE": file.path]
                .merging(variables) { $1 })
    }

    /// What the books say of a user: the content that is theirs, an element for each purchase that gave it.
    func contents(of user: UserID) async throws -> [ContentItemID] {
        try await application().merchant.entitlements(of: user).entitlements.compactMap(\.content)
    }

    /// What is wrong with the books.
    func findings() async throws -> [String] { try await application().merchant.checkBooks().findings }

    // MARK: Its backend

    static func text(of issue: String) throws -> String {
        try String(contentsOf: examples.appendingPathComponent("ServerBooks/Issues/\(issue).txt"), encoding: .utf8)
    }

    /// Puts a file in.
    func publish(_ item: ContentItemID, _ text: String) async throws {
        try await send(.putContent(item), text, type: "text/plain")
    }

    /// Puts a product on the shelf.
    func sell(_ product: ProductID, giving item: ContentItemID) async throws {
        try await send(
            .putProduct("com.example.serverbooks", product),
            #"{"kind":"nonConsumable","grants":[{"content":"\#(item)"}]}"#, type: "application/json")
    }

    private func send(_ route: MerchantRoute, _ body: String, type: String) async throws {
        let reply = try await HTTPReply(
            route.method.rawValue, address + route.path, token: try await backendKey(), type: type,
            body: Array(body.utf8))
        _ = try reply.successful()
    }

    private func backendKey() async throws -> String {
        if let key { return key }
        let made = try await application().keys.make(name: "backend", scopes: [.products, .content], at: Date())
        key = made.text
        return made.text
    }
}
