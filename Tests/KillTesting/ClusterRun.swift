import Foundation
import MerchantServer
import MerchantWire
import Synchronization
import TestSupport

/// Several stores and merchants on one PostgreSQL behind nginx, which are killed and started again while customers buy,
/// are locked out, redeem and get refunds. At the end every confirmed purchase must be in the ledger once.
public struct ClusterRun: Sendable {
    /// How much is done.
    public struct Plan: Sendable {
        /// Customers at work at the same time.
        public var customers: Int
        /// How long they work while processes are killed. On a slow machine the first actions and kills may take
        /// longer. They are few, and each of their requests and starts has a time limit.
        public var time: Duration
        /// The pause before a kill, in milliseconds.
        public var pause: ClosedRange<Int>
        /// Whether purchases are refunded. Their notifications can take half a minute after a kill.
        public var hasRefunds: Bool
        /// How long the merchants' backend waits at the end for what it was not told yet. A merchant delivers what a
        /// killed one was delivering after 20 seconds.
        public var patience: Duration
        /// The seed of all random choices.
        public var seed: UInt64

        /// Creates a plan.
        public init(
            customers: Int, time: Duration, pause: ClosedRange<Int>, hasRefunds: Bool, patience: Duration, seed: UInt64
        ) {
            self.customers = customers
            self.time = time
            self.pause = pause
            self.hasRefunds = hasRefunds
            self.patience = patience
            self.seed = seed
        }

        /// The first actions of the first customers, as the draws of their work: a payment ban, a redemption, a
        /// sign-out, and a redemption that is refunded.
        fileprivate static let firstDraws = [[0], [28], [44], [28, 40]]

        /// The least rounds of kills: two stores at once, and in a run with refunds also a merchant.
        fileprivate var leastRounds: Int { hasRefunds ? 2 : 1 }
    }

    /// What a run came to.
    public struct Totals: Sendable {
        /// The stores that were killed, by their numbers, once for each kill.
        public var killedStores: [Int] = []
        /// Kills of merchants.
        public var killedMerchants = 0
        /// Purchases that were confirmed and are in the ledger.
        public var purchases = 0
        /// Purchases that were refused because the account was locked or may not pay.
        public var refused = 0
        /// Redemptions at the merchants.
        public var redemptions = 0
        /// Purchases that were refused because the device had been signed out.
        public var signedOut = 0
        /// Refunds.
        public var refunds = 0
        /// How long each lock, payment ban and sign-out took until it was answered. From then on it held everywhere.
        public var locks: [Duration] = []
        /// The times of those that met no kill.
        public var quietLocks: [Duration] = []
        /// What is wrong, one sentence each.
        public var wrong: [String] = []

        /// The numbers in a line.
        public var line: String {
            "kills of stores \(killedStores.count), of merchants \(killedMerchants); purchases \(purchases), refused \(refused), "
                + "signed out \(signedOut), redemptions \(redemptions), refunds \(refunds), wrong \(wrong.count); "
                + "locks \(Self.text(locks)); those without a kill \(Self.text(quietLocks))"
        }

        /// What a run with refunds did too seldom to show anything, one sentence each. The first actions and kills come
        /// to as much as is expected.
        public var missing: [String] {
            let counts: [(name: String, count: Int, least: Int)] = [
                ("kills of stores", killedStores.count, 2), ("kills of merchants", killedMerchants, 1),
                ("purchases", purchases, 1), ("refused purchases", refused, 1),
                ("purchases after a sign-out", signedOut, 1), ("redemptions", redemptions, 1), ("refunds", refunds, 1),
                ("locks without a kill", quietLocks.count, 1),
            ]
            return counts.filter { $0.count < $0.least }.map {
                "\($0.count) \($0.name), expected at least \($0.least)"
            }
        }
    }

    /// Whether nginx, PostgreSQL and an S3 server are there.
    public static var isPossible: Bool {
        NginxProcess.executable != nil && Backend.address != nil && S3Server.address != nil
    }

    let cluster: StoreCluster
    private let plan: Plan
    let findings = Findings()
    let totals = Kept()

    /// What the tasks of a run add to.
    final class Kept: Sendable {
        struct State {
            var totals = Totals()
            var redeemed: Set<String> = []
            var refunded: Set<String> = []
            /// The kills so far.
            var absences: [Absence] = []
        }
        let state = Mutex(State())
    }

    /// Runs it on a cluster of its own.
    /// - Parameter goesOn: asked again and again; after false the run ends as after its time.
    /// - Throws: ``KillTestError`` when something did what no kill explains.
    public static func run(
        _ programs: Programs, _ plan: Plan, goesOn: @escaping @Sendable () -> Bool = { true }
    ) async throws -> Totals {
        let result = Mutex(Totals())
        let webhooks = WebhookLog()
        try await LoopbackServer.with(webhooks.router) { hook in
            try await TemporaryDirectory.with { directory in
                try await Backend.postgresql.withServerDatabase { url, prefix in
                    guard let url else { return }
                    let cluster = try await StoreCluster.start(
                        programs, folder: directory.url, databaseURL: url, schemaPrefix: prefix,
                        webhook: hook.absoluteString + "hook")
                    do {
                        let totals = try await ClusterRun(cluster: cluster, plan: plan).execute(webhooks, goesOn)
                        result.withLock { $0 = totals }
                    } catch {
                        let logs = cluster.logs
                        await cluster.stop()
                        throw KillTestError("seed \(plan.seed): \(error)\n\(logs)")
                    }
                    await cluster.stop()
                }
            }
        }
        return result.withLock { $0 }
    }

    private init(cluster: StoreCluster, plan: Plan) {
        self.cluster = cluster
        self.plan = plan
    }

    private func execute(_ webhooks: WebhookLog, _ goesOn: @escaping @Sendable () -> Bool) async throws -> Totals {
        let control = PatientClient(addresses: await cluster.stores.controlPorts(), findings: findings)
        let device = PatientClient(addresses: [cluster.sandbox], findings: findings)
        let receiver = try await control.settle(
            "PUT", "/control/v1/sandbox/notification-urls/\(StoreProcess.bundleID)",
            json: ["url": cluster.notifications])
        guard receiver.status == 200 else { throw KillTestError("no notifications: \(receiver.text)") }
        let customers = try await withThrowingTaskGroup(of: ClusterCustomer.self) { group in
            for number in 0..<plan.customers {
                group.addTask { try await ClusterCustomer.signUp(number, device, control) }
            }
            return try await group.reduce(into: [ClusterCustomer]()) { $0.append($1) }
        }
        try await checkNumbers()
        try await uploadAcross()
        let api = try await makeKey(control)
        if let customer = customers.first { try await visit(customer) }
        let end = ContinuousClock.now + plan.time
        let isOver: @Sendable () -> Bool = { ContinuousClock.now >= end || !goesOn() }
        let done = try await withThrowingTaskGroup(of: ClusterCustomer?.self) { group in
            group.addTask {
                try await self.kill(until: isOver)
                return nil
            }
            for (number, customer) in customers.enumerated() {
                group.addTask { try await self.work(customer, number, control, api, until: isOver) }
            }
            return try await group.reduce(into: [ClusterCustomer]()) { if let customer = $1 { $0.append(customer) } }
        }
        try await compare(done, control, webhooks)
        try await checkSignatures(done, api)
        try await checkNumbers()
        var totals = totals.state.withLock { $0.totals }
        totals.wrong += findings.all
        return totals
    }

    // MARK: Visits

    /// Opens a page at each store. The proxy, which gives other requests to the stores in turn, must lead to that store
    /// each time.
    private func visit(_ customer: ClusterCustomer) async throws {
        for (number, store) in cluster.stores.enumerated() {
            let sandbox = await store.sandbox
            let opened = try await HTTPReply.fromCurrent {
                try await HTTPReply(
                    "POST", "\(sandbox)/device/v1/subscriptions/page", token: customer.token, body: Array("{}".utf8))
            }
            guard let url = opened.json["url"] as? String else {
                throw KillTestError("no page at store \(number): \(opened.status) \(opened.text.prefix(300))")
            }
            for _ in cluster.stores {
                let page = try await HTTPReply.fromCurrent { try await HTTPReply("GET", url) }
                findings.check(
                    page.status == 200,
                    "the proxy answers for a page of store \(number): \(page.status) \(page.text.prefix(200))")
            }
        }
    }

    // MARK: Kills

    private enum Victim: Sendable {
        case store(Int)
        case merchant(Int)
    }

    /// Kills two stores at once, so that one is left, then a merchant, then every process by itself, and again. Begins
    /// when a lock was answered without a kill.
    private func kill(until isOver: @Sendable () -> Bool) async throws {
        try await until { totals.state.withLock { !$0.totals.quietLocks.isEmpty } }
        var chance = SeededGenerator(seed: plan.seed)
        var next: [[Victim]] = []
        var rounds = 0
        while rounds < plan.leastRounds || !isOver() {
            rounds += 1
            try await Task.sleep(for: .milliseconds(Int.random(in: plan.pause, using: &chance)))
            if next.isEmpty {
                let (stores, merchants) = (cluster.stores.indices, cluster.merchants.indices)
                let single = stores.map { [Victim.store($0)] } + merchants.map { [Victim.merchant($0)] }
                next = single.shuffled(using: &chance)
                next.append([.merchant(Int.random(in: merchants, using: &chance))])
                next.append(stores.shuffled(using: &chance).prefix(2).map { Victim.store($0) })
            }
            let victims = next.removeLast()
            let away = Duration.milliseconds(Int.random(in: 500...2_000, using: &chance))
            let absence = totals.state.withLock { state in
                state.absences.append(Absence(begun: .now))
                return state.absences.count - 1
            }
            for victim in victims {
                switch victim {
                case .store(let number):
                    guard await cluster.stores[number].kill() else {
                        throw KillTestError("store \(number) died by itself")
                    }
                    totals.state.withLock { $0.totals.killedStores.append(number) }
                case .merchant(let number):
                    guard await cluster.merchants[number].kill() else {
                        throw KillTestError("a merchant died by itself")
                    }
                    totals.state.withLock { $0.totals.killedMerchants += 1 }
                }
            }
            try await Task.sleep(for: away)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for victim in victims {
                    group.addTask {
                        switch victim {
                        case .store(let number): try await cluster.stores[number].start()
                        case .merchant(let number): try await cluster.merchants[number].start()
                        }
                    }
                }
                try await group.waitForAll()
            }
            totals.state.withLock { $0.absences[absence].end() }
        }
    }

    // MARK: Customers

    private func work(
        _ customer: ClusterCustomer, _ number: Int, _ control: PatientClient, _ api: StoreAPIKey,
        until isOver: @Sendable () -> Bool
    ) async throws -> ClusterCustomer {
        var (customer, redeemed) = (customer, [String]())
        var chance = SeededGenerator(seed: plan.seed &+ UInt64(number) &+ 1)
        let token = try await cluster.setup.token(UserID(rawValue: customer.user))
        // Also when the time is over: on a slow machine they may do little else.
        var first = number < Plan.firstDraws.count ? Plan.firstDraws[number] : []
        while !first.isEmpty || !isOver() {
            let draw = first.isEmpty ? Int.random(in: 0..<100, using: &chance) : first.removeFirst()
            switch draw {
            case 0..<8: try await shutOut(&customer, "paymentsAllowed", during: false, control)
            case 8..<14: try await shutOut(&customer, "locked", during: true, control)
            case 14..<24: try await verify(try await customer.receipt(), of: customer, at: customer.client)
            case 24..<28: try await customer.restore()
            case 28..<40:
                guard let transaction = try await customer.buyUnfinished("coins") else {
                    findings.add("\(customer.email) could not buy")
                    break
                }
                try await redeem(transaction, of: customer, token, api, &chance)
                try await customer.finish(transaction)
                redeemed.append(transaction)
            case 40..<44 where plan.hasRefunds:
                guard let transaction = redeemed.popLast() else { break }
                try await refund(transaction, control)
            // Seldom, since a sign-in costs more than anything else.
            case 44: try await signOut(&customer, control)
            default:
                if try await customer.buy("gems") == nil { findings.add("\(customer.email) could not buy") }
            }
        }
        return customer
    }

    private func verify(_ receipt: String, of customer: ClusterCustomer, at client: PatientClient) async throws {
        let reply = try await client.settle("POST", "/verifyReceipt", json: ["receipt-data": receipt])
        guard reply.status == 200, reply.json["status"] as? Int == 0 else {
            findings.add("a receipt of \(customer.email) is not valid: \(reply.status) \(reply.text.prefix(200))")
            return
        }
    }

    /// Brings a purchase to a merchant as a store has signed it: as a signed transaction, or in the app receipt.
    private func redeem(
        _ transaction: String, of customer: ClusterCustomer, _ token: String, _ api: StoreAPIKey,
        _ chance: inout SeededGenerator
    ) async throws {
        let merchant = cluster.merchants[Int.random(in: cluster.merchants.indices, using: &chance)]
        let reply: MerchantCaller.Reply
        if Bool.random(using: &chance) {
            guard let signed = try await signedTransaction(transaction, api, at: customer.client) else { return }
            reply = try await MerchantCaller(merchant).settle(
                .redemptions, as: token, signed, type: "application/jose")
        } else {
            let receipt = Data(base64Encoded: try await customer.receipt()) ?? Data()
            reply = try await MerchantCaller(merchant).settle(
                .redemptions, as: token, Array(receipt), type: "application/octet-stream")
        }
        guard reply.status == 200, try reply.decoded(RedemptionAnswer.self).confirms(transactionID: transaction)
        else {
            findings.add("\(transaction) could not be redeemed: \(reply.status) \(reply.code ?? "")")
            return
        }
        totals.state.withLock { state in
            state.totals.redemptions += 1
            state.redeemed.insert(transaction)
        }
    }

    private func refund(_ transaction: String, _ control: PatientClient) async throws {
        let reply = try await control.settle(
            "POST", "/control/v1/sandbox/transactions/\(transaction)/refund", json: ["reason": "other"])
        // 409: an earlier attempt whose answer was lost.
        guard reply.status == 200 || reply.status == 409 else {
            findings.add("\(transaction) could not be refunded: \(reply.status) \(reply.text.prefix(200))")
            return
        }
        totals.state.withLock { state in
            state.totals.refunds += 1
            state.refunded.insert(transaction)
        }
    }

    // MARK: The verdict

    private func compare(
        _ customers: [ClusterCustomer], _ control: PatientClient, _ webhooks: WebhookLog
    ) async throws {
        let stores = await cluster.stores.sandboxes().map { PatientClient(addresses: [$0], findings: findings) }
        var seen: Set<String> = []
        for customer in customers {
            let ledger = try await cluster.stores[0].ledger(of: customer.email).map(\.transactionId)
            customer.compare(with: ledger, findings)
            findings.check(seen.isDisjoint(with: ledger), "a transaction of \(customer.email) is another's, too")
            seen.formUnion(ledger)
            let receipt = try await customer.receipt()
            for store in stores { try await verify(receipt, of: customer, at: store) }
            try await verify(receipt, of: customer, at: cluster.merchants)
        }
        let (redeemed, refunded) = totals.state.withLock { state in
            state.totals.purchases = seen.count
            return (state.redeemed, state.refunded)
        }
        // One event for each redemption, and one for each refund of what was redeemed.
        let expected = redeemed.count + refunded.count
        await webhooks.wait(within: plan.patience) { $0 >= expected }
        var events: [String: Int] = [:]
        for event in webhooks.events { events[event.transaction ?? "", default: 0] += 1 }
        for transaction in redeemed where events[transaction] != (refunded.contains(transaction) ? 2 : 1) {
            findings.add("the merchants' backend heard of \(transaction) \(events[transaction] ?? 0) times")
        }
        let check = try await cluster.setup.command(["check"])
        if check.status != 0 { findings.add("the merchants' books do not balance: \(check.output)") }
    }
}
