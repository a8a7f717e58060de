import Foundation
import KillTestApp
import Merchant
import MerchantWire
import Synchronization
import TestSupport

/// One run: a merchant, and clients that redeem, spend, tell news, upload and download without a pause while it is
/// killed and started again; then peace, and the comparison of the books, the webhooks and the files with what the
/// clients were told.
///
/// First it is killed from outside at random moments, as `cornerstore` itself; then it kills itself at every named
/// step.
package final class MerchantKillRun: Sendable {
    /// How much is killed.
    package struct Plan: Sendable {
        /// The merchant is killed at each step each of these times that it comes there; the first time is 1.
        package var times: ClosedRange<Int>
        package var random: Int
        package var clients: Int
        package var seed: UInt64

        package init(times: ClosedRange<Int>, random: Int, clients: Int, seed: UInt64) {
            self.times = times
            self.random = random
            self.clients = clients
            self.seed = seed
        }
    }

    private struct State {
        var chance: SeededGenerator
        var isOver = false
        var hasFailed = false
        var contested = 0
        var totals = KillTotals()
    }

    private let setup: MerchantSetup
    private let merchant: MerchantProcess
    private let webhooks: WebhookLog
    private let plan: Plan
    private let state: Mutex<State>

    private init(_ setup: MerchantSetup, _ webhooks: WebhookLog, _ plan: Plan) throws {
        self.setup = setup
        self.webhooks = webhooks
        self.plan = plan
        merchant = try MerchantProcess(setup)
        state = Mutex(State(chance: SeededGenerator(seed: plan.seed)))
    }

    /// Runs it on a merchant of its own.
    /// - Parameter goesOn: asked before each kill; after false there are no more.
    /// - Throws: ``KillTestError`` when the merchant did what no kill explains.
    package static func run(
        _ backend: Backend, _ programs: Programs, _ plan: Plan, goesOn: @escaping @Sendable () -> Bool = { true }
    ) async throws -> KillTotals {
        try await TemporaryDirectory.with { directory in
            try await backend.withLocation { location in
                var database: String?
                var schema = "unused"
                if case .postgresql(let url, let name, _) = location { (database, schema) = (url, name) }
                let webhooks = WebhookLog()
                let totals = Mutex(KillTotals())
                let plain = try await MerchantSetup(
                    programs, folder: directory.url, databaseURL: database, schema: schema,
                    items: (0..<plan.clients).map(MerchantKillClient.item))
                try await LoopbackServer.with(webhooks.router) { url in
                    var setup = plain
                    setup.webhook = url.absoluteString + "hook"
                    let run = try MerchantKillRun(setup, webhooks, plan)
                    do {
                        try await run.execute(goesOn)
                    } catch {
                        await run.merchant.stop()
                        throw KillTestError(
                            "seed \(plan.seed), \(backend): \(error)\n\(ServerProcess.end(of: setup.log))")
                    }
                    totals.withLock { $0 = run.state.withLock { $0.totals } }
                }
                return totals.withLock { $0 }
            }
        }
    }

    private func execute(_ goesOn: @escaping @Sendable () -> Bool) async throws {
        try await merchant.start()
        let key = try await setup.makeKey("backend")
        var clients: [MerchantKillClient] = []
        for number in 0..<plan.clients {
            clients.append(
                try await MerchantKillClient(
                    setup, merchant, number: number, key: key, seed: plan.seed &+ UInt64(number) &+ 1
                ) { [weak self] in self?.contested() ?? "" })
        }
        let logs = try await withThrowingTaskGroup(of: MerchantKillLog?.self) { group in
            for client in clients {
                group.addTask { try await self.work(client) }
            }
            group.addTask {
                do {
                    try await self.killAtRandom(goesOn)
                    try await self.killAtPoints(goesOn)
                    try await self.merchant.start()
                } catch {
                    await self.end()
                    throw error
                }
                self.state.withLock { $0.isOver = true }
                return nil
            }
            return try await group.reduce(into: [MerchantKillLog]()) { logs, log in logs += [log].compactMap { $0 } }
        }
        try await judge(logs, key)
    }

    private func work(_ client: MerchantKillClient) async throws -> MerchantKillLog {
        var client = client
        do {
            try await client.begin()
            while needsMore(of: client) { try await client.act() }
        } catch {
            await end()
            throw error
        }
        return client.log
    }

    /// The clients work until the last kill, and on a slow machine after it, so that each run has more redemptions than
    /// kills to compare.
    private func needsMore(of client: MerchantKillClient) -> Bool {
        let redeemed = client.log.redeemed.count
        return state.withLock { state in
            guard state.isOver else { return true }
            return !state.hasFailed && redeemed * plan.clients <= state.totals.merchant
        }
    }

    private func end() async {
        state.withLock { state in
            state.isOver = true
            state.hasFailed = true
        }
        await merchant.giveUp()
    }

    /// Each is handed out twice, mostly to two clients at the same time.
    private func contested() -> String {
        let number = state.withLock { state in
            state.contested += 1
            return (state.contested + 1) / 2
        }
        return "29" + String(repeating: "0", count: 14 - String(number).count) + String(number)
    }

    // MARK: Killing

    private func killAtRandom(_ goesOn: @Sendable () -> Bool) async throws {
        for _ in 0..<plan.random where goesOn() && !state.withLock({ $0.isOver }) {
            try await merchant.start()
            let delay = state.withLock { Double.random(in: 0..<250, using: &$0.chance) }
            try await Task.sleep(for: .microseconds(Int(delay * 1_000)))
            guard await merchant.kill() else { throw KillTestError("the merchant ended by itself") }
            state.withLock { $0.totals.merchant += 1 }
        }
    }

    private func killAtPoints(_ goesOn: @Sendable () -> Bool) async throws {
        _ = await merchant.kill()
        var points = MerchantStep.allCases.flatMap { step in
            plan.times.map { KillPoint(name: step.rawValue, count: $0) }
        }
        state.withLock { points.shuffle(using: &$0.chance) }
        for point in points where goesOn() && !state.withLock({ $0.isOver }) {
            guard try await merchant.die(at: point, within: .seconds(60)) else {
                throw KillTestError("the merchant never came to \(point.text)")
            }
            state.withLock { state in
                state.totals.merchant += 1
                state.totals.merchantPoints.insert(point.name)
            }
        }
    }

    // MARK: Afterwards

    private func judge(_ logs: [MerchantKillLog], _ key: String) async throws {
        let caller = MerchantCaller(merchant)
        var histories: [UserID: [LedgerEntry]] = [:]
        for log in logs { histories[log.user] = try await caller.history(of: log.user, key: key) }
        let expected = logs.reduce(0) { $0 + $1.redeemed.count + $1.refunded.count + $1.spent.count }
        await webhooks.wait(within: .seconds(60)) { $0 >= expected }
        var verdict = MerchantVerdict(
            logs: logs, histories: histories, events: webhooks.events, credits: MerchantSetup.credits)
        verdict.wrong += webhooks.changed.map { "the webhook \($0) came with two bodies" }
        verdict.wrong += try await leftovers(logs, caller, key)
        guard await merchant.stop() else { throw KillTestError("the merchant did not stop in peace") }
        let (status, output) = try await setup.command(["check"])
        if status != 0 { verdict.wrong.append("the books do not balance: \(output)") }
        let result = verdict
        let repeated = webhooks.count - webhooks.events.count
        state.withLock { $0.totals.add(result, repeated: repeated) }
    }

    /// Files that nobody needs, and content that is not as it was uploaded.
    private func leftovers(_ logs: [MerchantKillLog], _ caller: MerchantCaller, _ key: String) async throws -> [String]
    {
        var wrong: [String] = []
        let list = try await caller.settle(.adminContent, as: key).decoded(ContentList.self)
        for log in logs {
            let newest = list.items.first { $0.item == log.item }
            if newest?.digest != log.uploads.last || newest?.version != Int64(log.uploads.count) {
                wrong.append("\(log.item) is not as it was uploaded last")
            }
        }
        func files(_ folder: String) -> [String] {
            let url = setup.data.appendingPathComponent(folder)
            return (FileManager.default.enumerator(at: url, includingPropertiesForKeys: [.isRegularFileKey]) ?? .init())
                .compactMap { $0 as? URL }
                .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
                .map(\.lastPathComponent)
        }
        wrong += files("uploads").filter { $0 != ".lock" }.map { "\($0) is left of an upload" }
        let uploads = Set(logs.flatMap(\.uploads))
        wrong += Set(files("content")).symmetricDifference(uploads).sorted().map {
            "\($0) is in the folder of content and was not uploaded, or the other way around"
        }
        return wrong
    }
}
