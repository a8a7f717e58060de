import Database
import Foundation
import Logging
import Store
import StoreServer
import StoreWire

/// The sandbox tester of a data directory, and its purchases before the store starts.
struct Tester: Sendable {
    let email: String
    let password: String

    static func read(_ data: URL) throws -> Tester {
        guard let tester = SandboxTester.read(from: data) else {
            throw BenchmarkError("no sandbox tester in \(data.path)")
        }
        return Tester(email: tester.email, password: tester.password)
    }

    /// A file with the password only.
    static func passwordFile(_ data: URL) throws -> URL {
        let file = data.appending(path: "bench-password")
        if !FileManager.default.fileExists(atPath: file.path) { try Data(read(data).password.utf8).write(to: file) }
        return file
    }

    /// Runs `body` with a store whose tester has bought a number of non-consumables, finished or not.
    static func withPurchases<Result>(
        _ count: Int, isFinished: Bool, _ body: (StoreProcess, URL) async throws -> Result
    ) async throws -> Result {
        let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: data) }
        let catalog = try StoreUnderLoad.catalog()
        // The first start creates the keys and the tester.
        try await StoreProcess.start(catalog: catalog, data: data).child.stop()
        try await buy(count, isFinished: isFinished, data)
        let store = try await StoreProcess.start(catalog: catalog, data: data)
        defer { store.child.stop() }
        return try await body(store, data)
    }

    private static let firstID: Int64 = 2_000_000_000_010_000
    private static let date: Int64 = 1_780_000_000_000

    private static func buy(_ count: Int, isFinished: Bool, _ data: URL) async throws {
        let email = try read(data).email
        let database = try await Database.open(
            .sqlite(path: data.appending(path: "databases/sandbox.sqlite").path), migrations: StoreSchema.migrations,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        for start in stride(from: 0, to: count, by: 1_000) {
            try await database.write { connection in
                guard
                    let account = try connection.queryOne(
                        "SELECT account_id FROM accounts WHERE email = $1", [email])?.string(0)
                else { throw BenchmarkError("the tester has no account") }
                for number in start..<min(start + 1_000, count) {
                    try connection.execute(
                        """
                        INSERT INTO transactions (account_id, transaction_id, original_transaction_id, bundle_id, product_id,
                            item_id, kind, quantity, price, currency, storefront, purchase_date, original_purchase_date,
                            finished_at)
                        VALUES ($1, $2, $2, $3, $4, 1, $5, 1, 990, 'USD', 'USA', $6, $6, $7)
                        """,
                        [
                            account, firstID + Int64(number), SampleReceipts.bundleID,
                            "\(SampleReceipts.bundleID).filter\(number)", ProductKind.nonConsumable.rawValue, date,
                            isFinished ? date : nil as Int64?,
                        ])
                }
            }
        }
        await database.close()
    }
}
