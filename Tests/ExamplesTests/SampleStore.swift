import ContentPackages
import ControlWire
import Foundation
import Store
import StoreServer
import StoreWire
import TestSupport

@testable import StoreKit

/// A store that sells what the samples sell, from their own catalog files.
struct SampleStore: Sendable {
    let addresses: Addresses
    let folder: URL
    static let password = "two bananas a day"

    private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Examples")

    /// Runs a test with a fresh store that has one account.
    static func with(
        _ backend: Backend = .sqlite, _ body: @MainActor (SampleStore) async throws -> Void
    ) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await with(url, prefix, body)
        }
    }

    @MainActor
    private static func with(
        _ databaseURL: String?, _ schemaPrefix: String, _ body: @MainActor (SampleStore) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("cornerstore-samples-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let application = try await open(in: folder, databaseURL, schemaPrefix)
        let server = try await ServerTask { try await application.run(gracefulShutdownSignals: [], onReady: $0) }
        let store = SampleStore(addresses: server.address, folder: folder)
        do {
            try await store.control("accounts", #"{"email":"ape@example.com","password":"\#(password)"}"#)
            try await body(store)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private static func open(
        in folder: URL, _ databaseURL: String?, _ schemaPrefix: String
    ) async throws -> StoreApplication {
        let data = folder.appendingPathComponent("data")
        try await SharedAuthority.copy(to: data.appendingPathComponent("authority"))
        if databaseURL == nil { try await Backend.writeFiles(StoreDatabases.migrations, in: data) }
        let samples: [(String, BundleID?)] = [
            ("MonkeyCredits/MonkeyCredits.storekit", "com.example.monkeys"),
            ("PhotoFilters/PhotoFilters.storekit", "com.example.photofilters"),
            // Such a file names its apps itself.
            ("BookChapters/BookChapters.yaml", nil), ("ServerBooks/ServerBooks.yaml", nil),
            ("CrossPromotion/CrossPromotion.yaml", nil), ("Magazine/Magazine.yaml", nil),
            ("Storefront/Items.yaml", nil),
        ]
        let files = samples.map { path, bundleID in
            CatalogFile(path: examples.appendingPathComponent(path).path, bundleID: bundleID)
        }
        var configuration = StoreServerConfiguration(
            dataDirectory: data, catalogFiles: files, controlPort: 0, sandboxPort: 0, productionPort: 0,
            storefrontPort: 0, databaseURL: databaseURL, schemaPrefix: schemaPrefix)
        // The standard cost takes 0.3 s in a debug build, for every account and every sign-in.
        configuration.passwordCost = PasswordCost(rounds: 16)
        return try await StoreApplication.open(configuration, now: { Date() }, logger: .silent)
    }

    /// Builds one of the folders of Book Chapters' content, and uploads it.
    func publish(_ folder: String) async throws {
        let source = Self.examples.appendingPathComponent("BookChapters/Content/\(folder)")
        let package = self.folder.appendingPathComponent("\(folder).pkg")
        let built = try ContentPackageBuilder().build(folder: source, into: package)
        let info = try ContentPackage.open(file: package).info
        let new = ControlAPI.NewContentUpload(
            bundleId: "com.example.bookchapters", productId: info.productID, length: built.length, sha256: built.sha256)
        let begun = try await content("POST", "uploads", try JSONEncoder().encode(new))
        let upload = try JSONDecoder().decode(ControlAPI.ContentUpload.self, from: begun)
        try await content("PATCH", "uploads/\(upload.uploadId)?offset=0", Data(contentsOf: package))
        try await content("POST", "uploads/\(upload.uploadId)/complete", Data("{}".utf8))
    }

    @discardableResult
    private func content(_ method: String, _ path: String, _ body: Data) async throws -> Data {
        let url = "\(addresses.control)/control/v1/content/\(path)"
        return Data(try await HTTPReply(method, url, body: Array(body)).successful().body)
    }

    /// Sends a request to the control port: `POST` with a body, `GET` without one.
    @discardableResult
    func control(_ path: String, _ body: String? = nil) async throws -> Data {
        let url = "\(addresses.control)/control/v1/sandbox/\(path)"
        let reply = try await HTTPReply(body == nil ? "GET" : "POST", url, body: body.map { Array($0.utf8) })
        return Data(try reply.successful().body)
    }

    /// Whether each transaction of the ledger is finished, oldest first.
    func finished() async throws -> [Bool] {
        try await ledger().reversed().map { $0.finishedDate != nil }
    }

    private func ledger() async throws -> [ControlAPI.Transaction] {
        try JSONDecoder().decode(ControlAPI.Page<ControlAPI.Transaction>.self, from: await control("transactions")).rows
    }

    /// Gives the money back for all that was bought.
    func refundAll() async throws {
        for transaction in try await ledger() {
            try await control("transactions/\(transaction.transactionId)/refund", "{}")
        }
    }

    /// A device of the account, with one app; callbacks come on the main queue, as in the samples.
    func device(
        _ name: String, app bundleID: String, answer: PaymentSheetAnswer = .buy, isReachable: Bool = true
    ) -> StoreKitConfiguration {
        var configuration = StoreKitConfiguration(
            store: URL(string: isReachable ? addresses.sandbox : "http://127.0.0.1:1"), bundleIdentifier: bundleID,
            deviceFolder: folder.appendingPathComponent(name),
            sheet: AutomaticPaymentSheet(
                answer: answer, credentials: StoreCredentials(email: "ape@example.com", password: Self.password)))
        configuration.roots = [folder.appendingPathComponent("data/roots/receipt-root.der")]
        configuration.watchesStore = false
        return configuration
    }

    func launch(_ configuration: StoreKitConfiguration) -> StoreKitEngine {
        StoreKitEngine(
            configuration: configuration, transport: nil, timer: DispatchRetryTimer(), backoff: Backoff(jitter: { 0 }),
            newKey: { UUID() })
    }
}
