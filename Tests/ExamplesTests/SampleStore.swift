import AsyncHTTPClient
import ContentPackages
import ControlWire
import Foundation
import Logging
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

    struct NotReady: Error {}

    /// Runs a test with a fresh store that has one account.
    @MainActor
    static func with(_ body: @MainActor (SampleStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("cornerstore-samples-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let application = try await open(in: folder)
        let (ready, tell) = AsyncStream.makeStream(of: Addresses.self)
        let run = Task {
            defer { tell.finish() }
            try await application.run(gracefulShutdownSignals: []) { tell.yield($0) }
        }
        var iterator = ready.makeAsyncIterator()
        guard let addresses = await iterator.next() else { throw NotReady() }
        let store = SampleStore(addresses: addresses, folder: folder)
        do {
            try await store.control("accounts", #"{"email":"ape@example.com","password":"\#(password)"}"#)
            try await body(store)
        } catch {
            run.cancel()
            _ = await run.result
            throw error
        }
        run.cancel()
        _ = await run.result
    }

    private static func open(in folder: URL) async throws -> StoreApplication {
        let data = folder.appendingPathComponent("data")
        try await SharedAuthority.copy(to: data.appendingPathComponent("authority"))
        let samples: [(String, BundleID?)] = [
            ("MonkeyCredits/MonkeyCredits.storekit", "com.example.monkeys"),
            ("PhotoFilters/PhotoFilters.storekit", "com.example.photofilters"),
            // Such a file names its apps itself.
            ("BookChapters/BookChapters.yaml", nil), ("ServerBooks/ServerBooks.yaml", nil),
        ]
        let files = samples.map { path, bundleID in
            CatalogFile(path: examples.appendingPathComponent(path).path, bundleID: bundleID)
        }
        var configuration = StoreServerConfiguration(
            dataDirectory: data, catalogFiles: files, controlPort: 0, sandboxPort: 0, productionPort: 0)
        // The standard cost takes 0.3 s in a debug build, for every account and every sign-in.
        configuration.passwordCost = PasswordCost(rounds: 16)
        return try await StoreApplication.open(
            configuration, now: { Date() }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
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
        var request = HTTPClientRequest(url: "\(addresses.control)/control/v1/content/\(path)")
        request.method = .init(rawValue: method)
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(Array(body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        guard response.status.code / 100 == 2 else { throw NotReady() }
        return Data(try await response.body.collect(upTo: 1 << 20).readableBytesView)
    }

    /// Speaks to the control port: sends `body`, or asks when there is none.
    @discardableResult
    func control(_ path: String, _ body: String? = nil) async throws -> Data {
        var request = HTTPClientRequest(url: "\(addresses.control)/control/v1/sandbox/\(path)")
        request.headers.add(name: "Content-Type", value: "application/json")
        if let body {
            request.method = .POST
            request.body = .bytes(Array(body.utf8))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        guard response.status.code / 100 == 2 else { throw NotReady() }
        return Data(try await response.body.collect(upTo: 1 << 20).readableBytesView)
    }

    /// Whether each transaction of the ledger is finished, oldest first.
    func finished() async throws -> [Bool] {
        let ledger = try JSONDecoder().decode([ControlAPI.Transaction].self, from: await control("transactions"))
        return ledger.reversed().map { $0.finishedDate != nil }
    }

    /// Gives the money back for all that was bought.
    func refundAll() async throws {
        let ledger = try JSONDecoder().decode([ControlAPI.Transaction].self, from: await control("transactions"))
        for transaction in ledger { try await control("transactions/\(transaction.transactionId)/refund", "{}") }
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
        return configuration
    }

    func launch(_ configuration: StoreKitConfiguration) -> StoreKitEngine {
        StoreKitEngine(
            configuration: configuration, transport: nil, timer: DispatchRetryTimer(), backoff: Backoff(jitter: { 0 }),
            newKey: { UUID() })
    }
}
