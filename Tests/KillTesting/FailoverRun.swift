import Foundation
import Synchronization
import TestSupport

/// Several stores whose PostgreSQL loses its primary while customers buy, and goes on with its standby.
public enum FailoverRun {
    /// How a PostgreSQL loses its primary.
    public enum Loss: Sendable {
        /// Its processes are killed, and its machine refuses connections.
        case processes
        /// Its machine is gone without a word.
        case machine
    }

    /// What a run came to.
    public struct Totals: Sendable {
        /// Purchases that were confirmed and are in the ledger.
        public var purchases = 0
        /// The time from the crash until every store had sold again.
        public var pause = Duration.zero
        /// What is wrong, one sentence each.
        public var wrong: [String] = []

        /// The numbers in a line.
        public var line: String { "purchases \(purchases), away for \(pause), wrong \(wrong.count)" }
    }

    private static let customers = 12
    /// How much each of them buys before the crash, and again after it.
    private static let purchases = 20
    /// The longest time from the crash until every store has sold again, with a standby that is promoted at once. No
    /// purchase takes longer.
    private static let longestPause = Duration.seconds(10)

    /// What the tasks of a run share.
    private final class Course: Sendable {
        let isOver = Mutex(false)
        let pause = Mutex(Duration.zero)
        /// The purchases of each customer.
        let bought = Mutex([Int](repeating: 0, count: customers))

        /// Waits until every customer has bought some more.
        func goOn() async throws {
            let before = bought.withLock { $0 }
            try await until { zip(bought.withLock { $0 }, before).allSatisfy { $0 >= $1 + purchases } }
        }
    }

    /// The reason why ``Loss/machine`` cannot be tried here; nil when it can.
    public static func obstacle(_ programs: Programs) async throws -> String? {
        try await TemporaryDirectory.with { directory in
            try await PostgreSQLPair.obstacle(programs, directory: directory.url)
        }
    }

    /// Crashes a primary with a synchronous standby: nothing that was confirmed is lost, and the stores go on by
    /// themselves.
    public static func run(_ programs: Programs, losing loss: Loss) async throws -> Totals {
        try await withStores(programs, isSynchronous: true, canVanish: loss == .machine) { pair, stores, findings in
            var totals = Totals()
            let control = PatientClient(addresses: await stores.controlPorts(), findings: findings)
            let device = PatientClient(addresses: await stores.sandboxes(), findings: findings)
            for (number, store) in stores.enumerated() {
                let port = await store.controlPort
                let ready = try await HTTPReply("GET", "\(port)/ready")
                findings.check(
                    ready.status == 200, "store \(number) is not ready: \(ready.status) \(ready.text.prefix(200))")
            }
            let local = try await signUp(customers, at: stores, control, findings)
            let course = Course()
            let done = try await withThrowingTaskGroup(of: [ClusterCustomer].self) { group in
                for number in 0..<customers {
                    group.addTask {
                        var customer = try await ClusterCustomer.signUp(number, device, control)
                        while !course.isOver.withLock({ $0 }) {
                            let begin = ContinuousClock.now
                            if try await customer.buy("gems") == nil {
                                findings.add("\(customer.email) could not buy")
                            }
                            let passed = ContinuousClock.now - begin
                            findings.check(passed <= longestPause, "\(customer.email) waited \(passed) for a purchase")
                            course.bought.withLock { $0[number] += 1 }
                        }
                        return [customer]
                    }
                }
                group.addTask {
                    defer { course.isOver.withLock { $0 = true } }
                    try await course.goOn()
                    let crash = ContinuousClock.now
                    try await pair.perform(loss == .machine ? .vanish : .crash)
                    try await pair.perform(.promote)
                    let served = try await sell(to: local, findings)
                    let passed = ContinuousClock.now - crash
                    course.pause.withLock { $0 = passed }
                    findings.check(passed <= longestPause, "the last store sold again \(passed) after the crash")
                    try await course.goOn()
                    return served
                }
                return try await group.reduce(into: [ClusterCustomer]()) { $0 += $1 }
            }
            totals.pause = course.pause.withLock { $0 }
            for customer in done {
                let ledger = try await stores[0].ledger(of: customer.email).map(\.transactionId)
                totals.purchases += ledger.count
                customer.compare(with: ledger, findings)
            }
            totals.wrong = findings.all
            return totals
        }
    }

    /// Crashes a primary whose standby was away: every process must end, also one of which the promoted standby lacks
    /// nothing, and none may start until the loss is accepted.
    /// - Returns: what is wrong, one sentence each.
    public static func runWithLaggingStandby(_ programs: Programs) async throws -> [String] {
        try await withStores(programs, isSynchronous: false) { pair, stores, findings in
            let control = PatientClient(addresses: await stores.controlPorts(), findings: findings)
            var customers = try await signUp(0, at: stores, control, findings)
            // The last store has nothing that the standby lacks, not even a sign of life.
            await stores[2].setStill(true)
            try await pair.perform(.awaitStandby)
            try await pair.perform(.stopStandby)
            for index in customers.indices.dropLast() {
                for _ in 0..<5 {
                    let bought = try await customers[index].buy("gems")
                    findings.check(bought != nil, "\(customers[index].email) could not buy without the standby")
                }
            }
            // At once, since every process looks for its own last purchases.
            try await pair.perform(.crash)
            try await pair.perform(.startStandby)
            try await pair.perform(.promote)
            await stores[2].setStill(false)
            for (number, store) in stores.enumerated() {
                let ending = await store.ending(within: .seconds(60))
                if ending != .exited(1) {
                    findings.add("store \(number) did not end with 1: \(String(describing: ending))")
                }
                if !store.logEnd.contains("standby that lagged") {
                    findings.add("store \(number) does not say what to do: \(store.logEnd)")
                }
            }
            // As a supervisor does.
            try FileManager.default.removeItem(at: stores[0].log)
            if (try? await stores[0].start()) != nil {
                findings.add("store 0 started again without an operator's decision")
                await stores[0].stop()
            } else if !stores[0].logEnd.contains("standby that lagged") {
                findings.add("store 0 does not say why it does not start: \(stores[0].logEnd)")
            }
            let accepted = try await stores[0].location.acceptLoss()
            findings.check(accepted.status == 0, "the loss was not accepted: \(accepted.status) \(accepted.output)")
            try await stores[0].start()
            return findings.all
        }
    }

    /// Makes a customer at each store, who uses only that one.
    /// - Parameter number: the number of the first.
    private static func signUp(
        _ number: Int, at stores: [StoreProcess], _ control: PatientClient, _ findings: Findings
    ) async throws -> [ClusterCustomer] {
        var customers: [ClusterCustomer] = []
        for (index, store) in stores.enumerated() {
            let device = PatientClient(addresses: [await store.sandbox], findings: findings)
            customers.append(try await ClusterCustomer.signUp(number + index, device, control))
        }
        return customers
    }

    /// Sells to each customer once, at the same time.
    private static func sell(to customers: [ClusterCustomer], _ findings: Findings) async throws -> [ClusterCustomer] {
        try await withThrowingTaskGroup(of: ClusterCustomer.self) { group in
            for customer in customers {
                group.addTask {
                    var customer = customer
                    if try await customer.buy("gems") == nil { findings.add("\(customer.email) could not buy") }
                    return customer
                }
            }
            return try await group.reduce(into: [ClusterCustomer]()) { $0.append($1) }
        }
    }

    private static func withStores<T>(
        _ programs: Programs, isSynchronous: Bool, canVanish: Bool = false,
        _ body: (PostgreSQLPair, [StoreProcess], Findings) async throws -> T
    ) async throws -> T {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url
            return try await PostgreSQLPair.with(
                programs, isSynchronous: isSynchronous, canVanish: canVanish, directory: folder
            ) { pair in
                let shared = try await SharedStore.make(in: folder, needsStandby: isSynchronous)
                // One of them makes the authority, and the others read it from the database.
                let (stores, failure) = await ServerProcess.startTogether(0..<3) { number in
                    try await StoreProcess(
                        programs, folder: folder.appendingPathComponent("store\(number)"), databaseURL: pair.url,
                        schemaPrefix: "failover", shared: shared, hasAuthority: false)
                }
                let result: Result<T, any Error>
                do {
                    if let failure { throw failure }
                    result = .success(try await body(pair, stores, Findings()))
                } catch {
                    let logs = stores.map { $0.logEnd }.joined(separator: "\n")
                    result = .failure(KillTestError("\(error)\n\(logs)"))
                }
                for store in stores { await store.stop() }
                return try result.get()
            }
        }
    }
}
