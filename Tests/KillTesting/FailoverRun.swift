import Foundation
import Synchronization
import TestSupport

/// Several stores whose PostgreSQL loses its primary while customers buy, and goes on with its standby.
public enum FailoverRun {
    /// What a run came to.
    public struct Totals: Sendable {
        /// Purchases that were confirmed and are in the ledger.
        public var purchases = 0
        /// The time from the crash to the first purchase after it.
        public var pause = Duration.zero
        /// What is wrong, one sentence each.
        public var wrong: [String] = []

        /// The numbers in a line.
        public var line: String { "purchases \(purchases), away for \(pause), wrong \(wrong.count)" }
    }

    private static let customers = 12
    /// The longest time from the crash to the first purchase after it, with a standby that is promoted at once.
    private static let longestPause = Duration.seconds(10)

    /// What the tasks of a run share.
    private final class Course: Sendable {
        /// When the last purchase that succeeded was begun.
        let newest = Mutex(ContinuousClock.now)
        let isOver = Mutex(false)
        let pause = Mutex(Duration.zero)
    }

    /// Crashes a primary with a synchronous standby: nothing that was confirmed is lost, and the stores go on by
    /// themselves.
    public static func run(_ programs: Programs) async throws -> Totals {
        try await withStores(programs, isSynchronous: true) { pair, stores, findings in
            var totals = Totals()
            let control = PatientClient(addresses: await stores.controlPorts(), findings: findings)
            let device = PatientClient(addresses: await stores.sandboxes(), findings: findings)
            let course = Course()
            let done = try await withThrowingTaskGroup(of: ClusterCustomer?.self) { group in
                for number in 0..<customers {
                    group.addTask {
                        var customer = try await ClusterCustomer.signUp(number, device, control)
                        while !course.isOver.withLock({ $0 }) {
                            let begin = ContinuousClock.now
                            if try await customer.buy("gems") == nil {
                                findings.add("\(customer.email) could not buy")
                            }
                            // A purchase from before the crash says nothing about the time after it.
                            course.newest.withLock { $0 = max($0, begin) }
                        }
                        return customer
                    }
                }
                group.addTask {
                    defer { course.isOver.withLock { $0 = true } }
                    try await Task.sleep(for: .seconds(5))
                    let crash = ContinuousClock.now
                    try await pair.perform(.crash)
                    try await pair.perform(.promote)
                    while course.newest.withLock({ $0 }) <= crash {
                        guard ContinuousClock.now - crash < .seconds(50) else {
                            throw KillTestError("no purchase succeeds after the standby was promoted")
                        }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    let passed = ContinuousClock.now - crash
                    course.pause.withLock { $0 = passed }
                    if passed > longestPause { findings.add("the first purchase succeeded \(passed) after the crash") }
                    try await Task.sleep(for: .seconds(5))
                    return nil
                }
                return try await group.reduce(into: [ClusterCustomer]()) {
                    if let customer = $1 { $0.append(customer) }
                }
            }
            totals.pause = course.pause.withLock { $0 }
            for customer in done {
                let ledger = try await stores[0].ledger(of: customer.email).map(\.transactionId)
                totals.purchases += ledger.count
                for lost in Set(customer.bought).subtracting(ledger) {
                    findings.add("\(lost) of \(customer.email) was confirmed and is lost")
                }
                if ledger.count != Set(ledger).count || ledger.count > customer.bought.count {
                    findings.add("\(customer.email) has \(ledger.count) purchases for \(customer.bought.count)")
                }
            }
            totals.wrong = findings.all
            return totals
        }
    }

    /// Crashes a primary whose standby was away: every process must notice what the promoted standby lacks, and end.
    /// - Returns: what is wrong, one sentence each.
    public static func runWithLaggingStandby(_ programs: Programs) async throws -> [String] {
        try await withStores(programs, isSynchronous: false) { pair, stores, findings in
            let control = PatientClient(addresses: await stores.controlPorts(), findings: findings)
            var customers: [ClusterCustomer] = []
            for (number, store) in stores.enumerated() {
                let device = PatientClient(addresses: [await store.sandbox], findings: findings)
                customers.append(try await ClusterCustomer.signUp(number, device, control))
            }
            // The standby must have the beginning.
            try await Task.sleep(for: .seconds(2))
            try await pair.perform(.stopStandby)
            for index in customers.indices {
                for _ in 0..<5 { _ = try await customers[index].buy("gems") }
            }
            // At once, since every process looks for its own last purchases.
            try await pair.perform(.crash)
            try await pair.perform(.startStandby)
            try await pair.perform(.promote)
            for (number, store) in stores.enumerated() {
                let ending = await store.ending(within: .seconds(60))
                if ending != .exited(1) {
                    findings.add("store \(number) did not end with 1: \(String(describing: ending))")
                }
                if !store.logEnd.contains("standby that lagged") {
                    findings.add("store \(number) does not say what to do: \(store.logEnd)")
                }
            }
            return findings.all
        }
    }

    private static func withStores<T>(
        _ programs: Programs, isSynchronous: Bool,
        _ body: (PostgreSQLPair, [StoreProcess], Findings) async throws -> T
    ) async throws -> T {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url
            let bucket = try await S3Server.bucket()
            let pair = try await PostgreSQLPair(programs, isSynchronous: isSynchronous, directory: folder)
            let ports = try Ports.free(2)
            let shared = SharedStore(
                key: try SharedStore.makeKey(in: folder),
                blobs: "s3://\(bucket.name)?endpoint=\(bucket.endpoint)&region=us-east-1",
                storefrontURL: "http://127.0.0.1:\(ports[0])", ocspURL: "http://127.0.0.1:\(ports[1])/ocsp")
            var stores: [StoreProcess] = []
            let result: Result<T, any Error>
            do {
                for number in 0..<3 {
                    stores.append(
                        try await StoreProcess(
                            programs, folder: folder.appendingPathComponent("store\(number)"), databaseURL: pair.url,
                            schemaPrefix: "failover", shared: shared))
                }
                result = .success(try await body(pair, stores, Findings()))
            } catch {
                let logs = stores.map { $0.logEnd }.joined(separator: "\n")
                result = .failure(KillTestError("\(error)\n\(logs)"))
            }
            for store in stores { await store.stop() }
            try await pair.perform(.stop)
            return try result.get()
        }
    }
}
