import Foundation
import KillTestApp
import Synchronization
import TestSupport

/// Backups of a store while customers buy, and their restores.
public enum StoreBackupRun {
    /// What a run came to.
    public struct Totals: Sendable {
        /// Purchases that were confirmed before the backup began.
        public var early = 0
        /// Purchases that the restored store has.
        public var restored = 0
        /// What is wrong, one sentence each.
        public var wrong: [String] = []
    }

    private static let customers = 4

    /// What the tasks of a run share.
    private final class Course: Sendable {
        let confirmed = Mutex<[String]>([])
        let isOver = Mutex(false)
    }

    /// Backs up a store while customers buy, and restores it elsewhere.
    /// - Parameter hasKey: whether the store has a store key, on PostgreSQL; two processes then run it.
    public static func run(_ backend: Backend, _ programs: Programs, hasKey: Bool) async throws -> Totals {
        try await withStore(backend, programs, hasKey: hasKey) { stores, other, findings in
            let store = stores[0]
            var totals = Totals()
            let control = PatientClient(addresses: await stores.controlPorts(), findings: findings)
            let device = PatientClient(addresses: await stores.sandboxes(), findings: findings)
            let folder = store.folder.appendingPathComponent("backup")
            let course = Course()
            var buyers: [ClusterCustomer] = []
            for number in 0..<customers { buyers.append(try await ClusterCustomer.signUp(number, device, control)) }
            let receipt = try await buyers[0].receipt()
            let (done, early) = try await withThrowingTaskGroup(of: ClusterCustomer.self) { group in
                for buyer in buyers {
                    group.addTask {
                        var buyer = buyer
                        while !course.isOver.withLock({ $0 }) {
                            guard let transaction = try await buyer.buy("gems") else { break }
                            course.confirmed.withLock { $0.append(transaction) }
                        }
                        return buyer
                    }
                }
                try await until { course.confirmed.withLock { $0.count } >= 40 }
                let early = course.confirmed.withLock { $0 }
                let backup = try await store.location.command(["backup", folder.path])
                findings.check(backup.status == 0, "the backup failed: \(store.commandLog)")
                findings.check(
                    backup.output.contains("2 content files"), "content is missing: \(backup.output)")
                course.isOver.withLock { $0 = true }
                return (try await group.reduce(into: [ClusterCustomer]()) { $0.append($1) }, early)
            }
            totals.early = early.count
            let again = try await store.location.command(["backup", folder.path])
            findings.check(again.status == 1, "a backup was replaced")
            if backend == .postgresql { try await refuseKey(store, hasKey: hasKey, findings) }
            let over = try await store.location.command(["restore", folder.path, "--replace"])
            findings.check(over.status == 1, "a running store was replaced")
            await store.stop()
            if hasKey {
                let half = try await store.location.command(["restore", folder.path, "--replace"])
                findings.check(half.status == 1, "a store was replaced while its other process runs")
            }
            for running in stores { await running.stop() }
            let unasked = try await store.location.command(["restore", folder.path])
            findings.check(
                unasked.status == 1 && store.commandLog.contains("--replace"), "a store was replaced unasked")
            try await refuse(folder, at: other, hasKey: hasKey, findings)

            let restore = try await other.command(["restore", folder.path])
            findings.check(
                restore.status == 0 && restore.output.contains("The ledgers are whole"),
                "the restore failed: \(ServerProcess.end(of: other.log))")
            let restored = try await StoreProcess(
                programs, folder: other.data.deletingLastPathComponent(), databaseURL: other.databaseURL,
                schemaPrefix: other.schemaPrefix, shared: other.shared, isRestored: true)
            let there = PatientClient(addresses: await [restored].sandboxes(), findings: findings)
            var ledger: [String] = []
            for customer in done {
                ledger += try await restored.ledger(of: customer.email).map(\.transactionId)
                // The password and the device's token are good there.
                var customer = ClusterCustomer(customer, at: there)
                let bought = try await customer.buy("coins")
                findings.check(bought != nil, "\(customer.email) cannot buy at the restored store")
            }
            totals.restored = ledger.count
            let confirmedAll = course.confirmed.withLock { Set($0) }
            findings.check(
                Set(early).isSubset(of: ledger), "the backup lacks \(Set(early).subtracting(ledger).count) purchases")
            findings.check(Set(ledger).isSubset(of: confirmedAll), "the backup has purchases that nobody made")
            // The restored store has the same keys.
            let verified = try await there.settle("POST", "/verifyReceipt", json: ["receipt-data": receipt])
            findings.check(verified.json["status"] as? Int == 0, "an old receipt is not valid: \(verified.text)")
            // It has the content as well, in a place of its own.
            let copy = try await other.command(
                ["backup", other.data.deletingLastPathComponent().appendingPathComponent("backup").path])
            findings.check(
                copy.status == 0 && copy.output.contains("2 content files"),
                "the restored store lacks content: \(copy.output) \(ServerProcess.end(of: other.log))")
            await restored.stop()
            let replaced = try await store.location.command(["restore", folder.path, "--replace"])
            findings.check(replaced.status == 0, "a store could not be replaced: \(store.commandLog)")
            totals.wrong = findings.all
            return totals
        }
    }

    /// Restores damaged backups, and one with the wrong key. Each must be refused and leave nothing.
    private static func refuse(
        _ folder: URL, at place: StoreLocation, hasKey: Bool, _ findings: Findings
    ) async throws {
        let names = (FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? [])
            // Damaged content is refused in the same way with and without a key.
            .filter { $0.contains(".") || !hasKey && $0.hasPrefix("content/") }
        for name in names.sorted() {
            let file = folder.appendingPathComponent(name)
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), !isFolder.boolValue
            else { continue }
            let bytes = try Data(contentsOf: file)
            var changed = bytes
            changed[changed.count / 2] ^= 1
            try changed.write(to: file)
            let status = try await place.command(["restore", folder.path]).status
            findings.check(status == 1, "a backup with a damaged \(name) was restored")
            for left in ["databases", "authority", "sandbox-tester.json"] {
                findings.check(
                    !FileManager.default.fileExists(atPath: place.data.appendingPathComponent(left).path),
                    "a refused restore left \(left)")
            }
            try bytes.write(to: file)
        }
        guard hasKey, var shared = place.shared else { return }
        let keys = place.data.deletingLastPathComponent().appendingPathComponent("wrong")
        try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
        shared.key = try SharedStore.makeKey(in: keys)
        var wrong = place
        wrong.shared = shared
        let status = try await wrong.command(["restore", folder.path]).status
        findings.check(
            status == 1 && ServerProcess.end(of: wrong.log).contains("key"), "a wrong key restored the backup")
    }

    /// Backs up a store without its key, or one without a key with some key. This must be refused and leave nothing.
    private static func refuseKey(_ store: StoreProcess, hasKey: Bool, _ findings: Findings) async throws {
        var place = store.location
        place.shared = nil
        let folder = store.folder.appendingPathComponent("refused")
        let options = try hasKey ? [] : ["--store-key", SharedStore.makeKey(in: store.folder).path]
        let status = try await place.command(["backup", folder.path] + options).status
        let reason = hasKey ? "are sealed" : "are not sealed"
        findings.check(
            status == 1 && store.commandLog.contains(reason), "a backup took another key: \(store.commandLog)")
        findings.check(!FileManager.default.fileExists(atPath: folder.path), "a refused backup left a folder")
    }

    /// Kills a restore at some of its steps. The two backups have different authorities, so that a receipt tells whose
    /// keys the store has.
    /// - Parameters:
    ///   - steps: the names of all steps, in their order; after the last one, everything is in place.
    ///   - chosen: the steps to kill it at.
    /// - Returns: what is wrong, one sentence each.
    public static func runKilled(
        _ backend: Backend, _ programs: Programs, steps: [String], at chosen: ArraySlice<String>
    ) async throws -> [String] {
        try await withStore(backend, programs, hasKey: false) { stores, _, findings in
            let store = stores[0]
            let control = PatientClient(addresses: await [store].controlPorts(), findings: findings)
            let device = PatientClient(addresses: await [store].sandboxes(), findings: findings)
            var customer = try await ClusterCustomer.signUp(0, device, control)
            var (backups, receipts): ([String], [String]) = ([], [])
            for number in 1...2 {
                if number == 2 {
                    await store.stop()
                    try FileManager.default.removeItem(at: store.data.appendingPathComponent("authority"))
                    try await store.start()
                }
                _ = try await customer.buy("gems")
                receipts.append(try await customer.receipt())
                backups.append(store.folder.appendingPathComponent("backup\(number)").path)
                let backup = try await store.location.command(["backup", backups[number - 1]])
                findings.check(backup.status == 0, "the backup failed: \(store.commandLog)")
            }
            await store.stop()
            let (email, signed) = (customer.email, receipts)
            // The first backup has one purchase, the second one has two.
            func check(_ expected: Int, _ step: String) async throws {
                try await store.start()
                let count = try await store.ledger(of: email).count
                findings.check(count == expected, "\(step): the store has \(count) purchases, not \(expected)")
                for (index, receipt) in signed.enumerated() {
                    let reply = try await device.settle("POST", "/verifyReceipt", json: ["receipt-data": receipt])
                    let isGood = reply.json["status"] as? Int == 0
                    findings.check(
                        isGood == (index + 1 == expected),
                        "\(step): beside \(count) purchases, receipt \(index + 1) is \(isGood ? "good" : "bad")")
                }
                await store.stop()
            }
            for step in chosen {
                let before = try await store.location.command(["restore", backups[1], "--replace"]).status
                findings.check(before == 0, "\(step): \(store.commandLog)")
                let point = KillPoint(name: step, count: 1)
                let killed = try await store.location.command(
                    ["restore", backups[0], "--replace"], dyingAt: point
                ).status
                findings.check(killed == -1, "the restore was not killed at \(step)")
                // SQLite's files are certain to be replaced one step earlier.
                let isReplaced = step == steps.last || backend == .sqlite && step == steps.dropLast().last
                try await check(isReplaced ? 1 : 2, step)
                let after = try await store.location.command(["restore", backups[0], "--replace"]).status
                findings.check(after == 0, "\(step): \(store.commandLog)")
                try await check(1, "\(step), again")
                for left in ["restore", "restored", "replaced"] {
                    findings.check(
                        !FileManager.default.fileExists(atPath: store.data.appendingPathComponent(left).path),
                        "\(step) left \(left)")
                }
            }
            return findings.all
        }
    }

    /// Starts a store, of two processes if it has a key, and names another place for one.
    private static func withStore<T>(
        _ backend: Backend, _ programs: Programs, hasKey: Bool,
        _ body: ([StoreProcess], StoreLocation, Findings) async throws -> T
    ) async throws -> T {
        try await TemporaryDirectory.with { directory in
            try await backend.withServerDatabase { url, prefix in
                try await backend.withServerDatabase { _, otherPrefix in
                    let elsewhere = directory.url.appendingPathComponent("elsewhere")
                    try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
                    let shared = try await hasKey ? SharedStore.make(in: directory.url) : nil
                    var sharedElsewhere = shared
                    if hasKey { sharedElsewhere?.blobs = try await SharedStore.makeBucket() }
                    var stores = [
                        try await StoreProcess(
                            programs, folder: directory.url.appendingPathComponent("store"), databaseURL: url,
                            schemaPrefix: prefix, shared: shared, hostsContent: true)
                    ]
                    let other = StoreLocation(
                        programs: programs, data: elsewhere.appendingPathComponent("data"), databaseURL: url,
                        schemaPrefix: otherPrefix, shared: sharedElsewhere,
                        log: elsewhere.appendingPathComponent("commands.log"))
                    do {
                        if hasKey {
                            stores.append(
                                try await StoreProcess(
                                    programs, folder: directory.url.appendingPathComponent("second"),
                                    databaseURL: url, schemaPrefix: prefix, shared: shared, hasAuthority: false))
                        }
                        let result = try await body(stores, other, Findings())
                        for store in stores { await store.stop() }
                        return result
                    } catch {
                        let logs = stores.map { $0.logEnd }.joined(separator: "\n")
                        for store in stores { await store.stop() }
                        throw KillTestError("\(error)\n\(logs)")
                    }
                }
            }
        }
    }
}

extension StoreProcess {
    /// The end of what the commands beside it wrote to standard error.
    nonisolated var commandLog: String { ServerProcess.end(of: location.log) }
}
