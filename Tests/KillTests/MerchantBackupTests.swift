import Database
import Foundation
import KillTestApp
import KillTesting
import MerchantServer
import MerchantWire
import TestSupport
import Testing

@Suite("Backup and restore of a running merchant", .serialized, .timeLimit(.minutes(1)))
struct MerchantBackupTests {
    /// What was confirmed so far.
    private actor Confirmed {
        private(set) var transactions: [String] = []
        private var isOver = false

        func add(_ transaction: String) -> Bool {
            transactions.append(transaction)
            return !isOver
        }

        func end() { isOver = true }
    }

    /// Where a merchant is, and where another one will be.
    private func withPlaces(
        _ backend: Backend, _ body: (MerchantSetup, MerchantSetup) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            guard backend == .postgresql else {
                let setup = try await MerchantSetup(
                    Programs.built(), folder: directory.url, databaseURL: nil, schema: "unused", items: ["book"])
                var other = setup
                other.data = directory.url.appendingPathComponent("elsewhere")
                return try await body(setup, other)
            }
            try await Backend.withAnotherPostgreSQL { one, two async throws in
                let setup = try await MerchantSetup(
                    Programs.built(), folder: directory.url, databaseURL: one, schema: "books", items: ["book"])
                var other = setup
                other.data = directory.url.appendingPathComponent("elsewhere")
                other.databaseURL = two
                try await body(setup, other)
            }
        }
    }

    private static func mode(_ url: URL) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test(arguments: Backend.available)
    func `a restored backup contains everything confirmed before it, also under load`(
        _ backend: Backend
    ) async throws {
        try await withPlaces(backend) { setup, other in
            let merchant = try MerchantProcess(setup)
            try await merchant.start()
            let caller = MerchantCaller(merchant)
            let key = try await setup.makeKey("backend")
            let token = try await setup.token("ann")
            for text in ["An older version.", String(repeating: "All about monkeys. ", count: 30_000)] {
                let put = try await caller.settle(.putContent("book"), as: key, Array(text.utf8), type: "text/plain")
                #expect(put.status == 201)
            }
            let book = try setup.signed("get-book", "2000000000000001")
            #expect(try await caller.settle(.redemptions, as: token, book, type: "application/jose").status == 200)

            // Four clients redeem while it is backed up.
            let confirmed = Confirmed()
            let folder = setup.folder.appendingPathComponent("backup")
            let early = try await withThrowingTaskGroup(of: [String].self) { group in
                for client in 0..<4 {
                    group.addTask {
                        for number in 0..<2_000 {
                            let transaction = "2\(client + 1)00000000\(100_000 + number)"
                            let proof = try setup.signed("coins", transaction)
                            let reply = try await caller.settle(
                                .redemptions, as: token, proof, type: "application/jose")
                            #expect(reply.status == 200)
                            guard await confirmed.add(transaction) else { break }
                        }
                        return []
                    }
                }
                try await until { await confirmed.transactions.count >= 40 }
                let early = await confirmed.transactions
                let backup = try await setup.command(["backup", folder.path])
                #expect(backup.status == 0 && backup.output.contains("2 content files"), "\(backup.output)")
                await confirmed.end()
                try await group.waitForAll()
                return early
            }
            #expect(try await setup.command(["check"]).status == 0)
            #expect(try Self.mode(folder) == 0o700)
            for name in [
                "backup.json", "user-token-keys.json", backend == .sqlite ? "merchant.sqlite" : "merchant.pgdump",
            ] {
                #expect(try Self.mode(folder.appendingPathComponent(name)) == 0o600, "\(name)")
            }
            let again = try await setup.command(["backup", folder.path])
            #expect(again.status == 1)

            // Not over a running server, nor over anything without being told so.
            let over = try await setup.command(["restore", folder.path, "--replace"])
            #expect(over.status == 1)
            #expect(await merchant.stop())
            let unasked = try await setup.command(["restore", folder.path])
            #expect(unasked.status == 1)
            let errors = try String(contentsOf: setup.log, encoding: .utf8)
            #expect(errors.contains("in use") && errors.contains("--replace"))

            // What is damaged is refused, and leaves nothing.
            for name in try Self.files(folder) {
                let file = folder.appendingPathComponent(name)
                let bytes = try Data(contentsOf: file)
                var changed = bytes
                changed[changed.count / 2] ^= 1
                for damaged in [changed, bytes + [0x20], bytes.dropLast()] {
                    // White space behind JSON changes nothing that it says.
                    if name == "backup.json", damaged.count > bytes.count { continue }
                    try damaged.write(to: file)
                    #expect(try await other.command(["restore", folder.path]).status == 1, "\(name)")
                    let left = try Self.files(other.data)
                    #expect(left.filter { !$0.hasSuffix("lock") } == [], "\(name)")
                }
                try bytes.write(to: file)
            }

            let restore = try await other.command(["restore", folder.path])
            #expect(
                restore.status == 0 && restore.output.contains("The books balance"),
                "\(restore.output) \((try? String(contentsOf: other.log, encoding: .utf8)) ?? "")")
            let restored = try MerchantProcess(other)
            try await restored.start()
            let there = MerchantCaller(restored)
            // The old token and the old key are good, content is delivered, and everything confirmed is known.
            let file = try await there.settle(.contentFile("book"), as: token)
            #expect(file.status == 200 && file.body.count == 19 * 30_000)
            let entries = try await there.history(of: "ann", key: key)
            let granted = Set(entries.compactMap { $0.reference?.split(separator: "/").last.map(String.init) })
            #expect(Set(early).subtracting(granted) == [])
            #expect(granted.isSubset(of: await confirmed.transactions))
            let known = try setup.signed("coins", early[0])
            #expect(try await there.settle(.redemptions, as: token, known, type: "application/jose").status == 200)
            #expect(try await there.history(of: "ann", key: key).count == entries.count)
            let books = try await there.settle(.checkBooks, as: key).decoded(BooksReport.self)
            #expect(books.balances && books.entries == Int64(entries.count))
            #expect(await restored.stop())
            #expect(try await other.command(["check"]).status == 0)

            // Told so, it takes the place of what is there.
            #expect(try await setup.command(["restore", folder.path, "--replace"]).status == 0)
            let check = try await setup.command(["check", "--json"])
            #expect(check.status == 0 && check.output.contains("\"entries\" : \(entries.count)"))
        }
    }

    /// How many entries the books have, proved.
    private func entries(_ setup: MerchantSetup) async throws -> Int64? {
        let check = try await setup.command(["check", "--json"])
        guard check.status == 0 else { return nil }
        return try JSONDecoder().decode(BooksReport.self, from: Data(check.output.utf8)).entries
    }

    /// The schemas of a PostgreSQL that begin so.
    private func schemas(_ url: String, beginningWith name: String) async throws -> [String] {
        let database = try await Database.open(
            .postgresql(url: url, schema: "onlooker", connections: 1), migrations: [], logger: .silent)
        defer { Task { await database.close() } }
        return try await database.read { connection in
            try connection.query(
                "SELECT CAST(nspname AS TEXT) FROM pg_namespace WHERE left(nspname, \(name.utf8.count)) = '\(name)'"
            ).map { try $0.string(0) }
        }
    }

    @Test(arguments: Backend.available)
    func `a killed restore leaves the old or the new data, and can run again`(
        _ backend: Backend
    ) async throws {
        try await withPlaces(backend) { setup, other in
            let merchant = try MerchantProcess(setup)
            try await merchant.start()
            let caller = MerchantCaller(merchant)
            let token = try await setup.token("ann")
            func backup(_ number: Int) async throws -> String {
                let proof = try setup.signed("coins", "200000000000000\(number)")
                let reply = try await caller.settle(.redemptions, as: token, proof, type: "application/jose")
                #expect(reply.status == 200)
                let folder = setup.folder.appendingPathComponent("backup-\(number)").path
                #expect(try await setup.command(["backup", folder]).status == 0)
                return folder
            }
            let (one, two) = (try await backup(1), try await backup(2))
            #expect(await merchant.stop())
            for step in MerchantBackup.RestoreStep.allCases {
                #expect(try await setup.command(["restore", two, "--replace"]).status == 0)
                let point = KillPoint(name: step.rawValue, count: 1)
                #expect(try await setup.command(["restore", one, "--replace"], dyingAt: point), "\(step)")
                // A server that is started now has whole books, and not empty ones.
                #expect(try await entries(setup) == (step == .swapped ? 1 : 2), "\(step)")
                #expect(try await setup.command(["restore", one, "--replace"]).status == 0)
                #expect(try await entries(setup) == 1, "\(step)")
                let left = setup.data.appendingPathComponent("restore").path
                #expect(!FileManager.default.fileExists(atPath: left), "\(step)")
            }
            if let url = setup.databaseURL {
                #expect(try await schemas(url, beginningWith: "books") == ["books"])
                return
            }
            // Where nothing was before, neither a server nor a command makes empty books of what is half there.
            for step in [MerchantBackup.RestoreStep.loaded, .proved] {
                try? FileManager.default.removeItem(at: other.data)
                let point = KillPoint(name: step.rawValue, count: 1)
                #expect(try await other.command(["restore", one], dyingAt: point), "\(step)")
                #expect(try await other.command(["check"]).status == 1, "\(step)")
                let put = ["products", "put", "gems", "--app", "com.a", "--kind", "consumable", "--credits", "1:gold"]
                #expect(try await other.command(put).status == 1, "\(step)")
                let vain = try await MerchantProcess(other).startInVain()
                #expect(vain.status == 1 && vain.errors.contains("begin with empty books"), "\(step): \(vain)")
                #expect(try String(contentsOf: other.log, encoding: .utf8).contains("Run it again"), "\(step)")
                #expect(try await other.command(["restore", one]).status == 0, "\(step)")
                #expect(try await entries(other) == 1, "\(step)")
            }
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql)))
    func `a backup goes into a schema of another name, beside a server on its own`() async throws {
        try await withPlaces(.postgresql) { setup, _ in
            let merchant = try MerchantProcess(setup)
            try await merchant.start()
            let caller = MerchantCaller(merchant)
            let token = try await setup.token("ann")
            func redeem(_ number: Int) async throws {
                let proof = try setup.signed("coins", "200000000000000\(number)")
                let reply = try await caller.settle(.redemptions, as: token, proof, type: "application/jose")
                #expect(reply.status == 200)
            }
            try await redeem(1)
            let folder = setup.folder.appendingPathComponent("backup").path
            #expect(try await setup.command(["backup", folder]).status == 0)
            var other = setup
            (other.data, other.schema) = (setup.folder.appendingPathComponent("elsewhere"), "shelves")
            #expect(try await other.command(["restore", folder]).status == 0)
            try await redeem(2)
            #expect(try await entries(other) == 1)
            #expect(try await entries(setup) == 2)
            #expect(try await schemas(setup.databaseURL ?? "", beginningWith: "shelves") == ["shelves"])
            #expect(await merchant.stop())
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql)))
    func `a schema with other programs' objects or dependents is not replaced`() async throws {
        try await withPlaces(.postgresql) { setup, _ in
            let merchant = try MerchantProcess(setup)
            try await merchant.start()
            #expect(await merchant.stop())
            let folder = setup.folder.appendingPathComponent("backup").path
            #expect(try await setup.command(["backup", folder]).status == 0)
            let database = try await Database.open(
                .postgresql(url: setup.databaseURL ?? "", schema: "onlooker", connections: 1), migrations: [],
                logger: .silent)
            for (name, create, drop) in [
                ("precious", "CREATE TABLE books.precious (x BIGINT)", "DROP TABLE books.precious"),
                ("seen", "CREATE VIEW books.seen AS SELECT 1 AS x", "DROP VIEW books.seen"),
                (
                    "mine", "CREATE FUNCTION books.mine() RETURNS BIGINT LANGUAGE sql AS 'SELECT 1'",
                    "DROP FUNCTION books.mine()"
                ),
                ("mood", "CREATE TYPE books.mood AS ENUM ('good')", "DROP TYPE books.mood"),
                (
                    "onlooker.report", "CREATE VIEW onlooker.report AS SELECT balance FROM books.ledger_entries",
                    "DROP VIEW onlooker.report"
                ),
                (
                    "onlooker.follower",
                    "CREATE TABLE onlooker.follower (digest BYTEA REFERENCES books.api_keys (digest))",
                    "DROP TABLE onlooker.follower"
                ),
            ] {
                try await database.write { _ = try $0.execute(create) }
                #expect(try await setup.command(["restore", folder, "--replace"]).status == 1, "\(name)")
                let errors = try String(contentsOf: setup.log, encoding: .utf8)
                #expect(errors.contains("would be lost: \(name)."), "\(name)")
                // It is there still.
                try await database.write { _ = try $0.execute(drop) }
            }
            // A schema without tables may have something, too.
            var other = setup
            (other.data, other.schema) = (setup.folder.appendingPathComponent("elsewhere"), "shelves")
            try await database.write { _ = try $0.execute("CREATE SCHEMA shelves") }
            try await database.write { _ = try $0.execute("CREATE TYPE shelves.mood AS ENUM ('good')") }
            #expect(try await other.command(["restore", folder]).status == 1)
            try await database.write { _ = try $0.execute("DROP TYPE shelves.mood") }
            await database.close()
            #expect(try await other.command(["restore", folder]).status == 0)
            #expect(try await setup.command(["restore", folder, "--replace"]).status == 0)
        }
    }

    @Test(.enabled(if: S3Server.isTested))
    func `content in a bucket is delivered, backed up and restored into another bucket`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            var setup = try await MerchantSetup(
                Programs.built(), folder: directory.url, databaseURL: nil, schema: "unused", items: ["book"])
            func address() async throws -> String {
                let bucket = try await S3Server.bucket()
                return "s3://\(bucket.name)/books?endpoint=\(bucket.endpoint)&region=us-east-1"
            }
            setup.blobs = try await address()
            let merchant = try MerchantProcess(setup)
            try await merchant.start()
            let caller = MerchantCaller(merchant)
            let (key, token) = (try await setup.makeKey("backend"), try await setup.token("ann"))
            let bytes = Array(String(repeating: "All about monkeys. ", count: 60_000).utf8)
            for text in [Array("old".utf8), bytes] {
                #expect(try await caller.settle(.putContent("book"), as: key, text, type: "text/plain").status == 201)
            }
            let proof = try setup.signed("get-book", "2000000000000001")
            #expect(try await caller.settle(.redemptions, as: token, proof, type: "application/jose").status == 200)
            #expect(try await caller.settle(.contentFile("book"), as: token).body == bytes)
            #expect(try Self.files(setup.data.appendingPathComponent("content")) == [])

            func run(_ command: String, _ folder: String, _ setup: MerchantSetup, _ more: [String] = []) async throws
                -> Int32
            {
                try await setup.command(
                    [command, directory.path(folder), "--blobs", setup.blobs ?? ""] + more
                ).status
            }
            #expect(try await run("backup", "whole", setup) == 0)
            #expect(try await run("backup", "bare", setup, ["--without-content"]) == 0)
            #expect(await merchant.stop())

            var other = setup
            other.data = directory.url.appendingPathComponent("elsewhere")
            other.blobs = try await address()
            // The other bucket does not have what was left in the first.
            #expect(try await run("restore", "bare", other) == 1)
            #expect(try await run("restore", "whole", other) == 0)
            let restored = try MerchantProcess(other)
            try await restored.start()
            #expect(try await MerchantCaller(restored).settle(.contentFile("book"), as: token).body == bytes)
            #expect(await restored.stop())
            // Into the first, which has it still.
            #expect(try await run("restore", "bare", setup, ["--replace"]) == 0)
        }
    }

    /// The paths of all files below a folder.
    private static func files(_ folder: URL) throws -> [String] {
        guard let found = FileManager.default.enumerator(atPath: folder.path) else { return [] }
        return found.compactMap { $0 as? String }.filter { name in
            var isFolder: ObjCBool = false
            let isThere = FileManager.default.fileExists(
                atPath: folder.appendingPathComponent(name).path, isDirectory: &isFolder)
            return isThere && !isFolder.boolValue
        }.sorted()
    }
}
