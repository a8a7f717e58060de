import Foundation
import KillTestApp
import Synchronization
import TestSupport

/// Apps with a subscription that are killed again and again while the store's clock renews it, the customers change
/// their plans, and the store is killed as well. In the end, the ledger, the receipts and what the apps gave agree.
public final class SubscriptionKillRun: Sendable {
    /// What came of it.
    public struct Totals: Sendable {
        /// The kills of the apps.
        public var kills = 0
        /// The kills of the store.
        public var store = 0
        /// The subscription periods in the ledger.
        public var periods = 0
        /// The periods of another plan than the one before.
        public var changes = 0
        /// What is missing, doubled, not finished or not in the receipt.
        public var wrong: [String] = []
    }

    private struct State {
        var totals = Totals()
        /// The launches of all apps that have ended.
        var launches = 0
        var isOver = false
    }

    private static let devices = 2
    /// The points that an app without downloads and restores comes to.
    private static let points = KillPoint.allNames.filter { name in
        !KillPoint.downloadNames.contains(name) && !name.contains("restor") && !name.hasSuffix("-wait")
    }
    /// How far one step moves the clock, in seconds: 20 days.
    private static let step = 20.0 * 86_400

    private let store: StoreProcess
    private let patience: Duration
    private let state = Mutex(State())

    private init(_ store: StoreProcess, _ patience: Duration) { (self.store, self.patience) = (store, patience) }

    /// Runs it on a store of its own.
    ///
    /// - Parameters:
    ///   - launches: how often each app is launched, at all but the first time to be killed.
    ///   - seed: the seed of all random choices.
    ///   - patience: how long a launch may take.
    /// - Throws: ``KillTestError`` when a program did what no kill explains.
    public static func run(
        _ backend: Backend, _ programs: Programs, launches: Int, seed: UInt64, patience: Duration = .seconds(45)
    ) async throws -> Totals {
        try await StoreProcess.with(backend, programs, seed: seed) { store in
            let run = SubscriptionKillRun(store, patience)
            try await run.execute(programs, launches, seed)
            return run.state.withLock { $0.totals }
        }
    }

    private func execute(_ programs: Programs, _ launches: Int, _ seed: UInt64) async throws {
        var devices: [KillDevice] = []
        for number in 0..<Self.devices {
            devices.append(
                try await KillDevice(
                    programs, store, folder: store.folder.appendingPathComponent("device\(number)"),
                    email: "subscriber\(number)@example.com", seed: seed &+ UInt64(number)))
        }
        async let clock: Void = moveClock(seed)
        do {
            devices = try await withThrowingTaskGroup(of: KillDevice.self) { group in
                for (number, device) in devices.enumerated() {
                    group.addTask {
                        var device = device
                        try await self.killAgainAndAgain(&device, launches, seed &+ 100 &+ UInt64(number))
                        return device
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        } catch {
            state.withLock { $0.isOver = true }
            throw error
        }
        state.withLock { $0.isOver = true }
        try await clock
        // The orders of killed launches may all be lost. An app that still has its first plan changes it now.
        let last = Order(name: "last", product: StoreProcess.plans[1], quantity: 1)
        for device in devices {
            var device = device
            _ = try await device.launch([last], .ends, restores: false)
        }
        // All that is due is renewed before the answer, and nothing falls due after it.
        _ = try await store.ask("PUT", "sandbox/clock", Data("{\"freeze\":true}".utf8), status: 200)
        for device in devices {
            var device = device
            // Once more, since the store may have renewed something after the first launch.
            _ = try await device.launch([], .ends, restores: false)
            try await compare(device)
        }
    }

    private func killAgainAndAgain(_ device: inout KillDevice, _ launches: Int, _ seed: UInt64) async throws {
        var chance = SeededGenerator(seed: seed)
        for number in 0..<launches {
            // A plan to begin with, then the other one and back, which begins at once or with the next period.
            let plan = StoreProcess.plans[number / 3 % StoreProcess.plans.count]
            let orders = number % 3 == 0 ? [Order(name: "plan\(number)", product: plan, quantity: 1)] : []
            let fate: KillDevice.Fate
            if number == 0 {
                // So that each app has the first plan. An app that is killed before it adds its order never buys it.
                fate = .ends
            } else if number % 2 == 0, let name = Self.points.randomElement(using: &chance) {
                fate = .dies(KillPoint(name: name, count: 1))
            } else {
                fate = .isKilled(after: .milliseconds(Int.random(in: 0..<900, using: &chance)))
            }
            let wasKilled = try await device.launch(orders, fate, restores: false)
            state.withLock { state in
                state.launches += 1
                if wasKilled { state.totals.kills += 1 }
            }
        }
    }

    /// Moves the clock after each launch until the apps are done, and kills the store in every third step.
    private func moveClock(_ seed: UInt64) async throws {
        var chance = SeededGenerator(seed: seed &+ 1_000)
        var date = Date()
        var number = 0
        while state.withLock({ !$0.isOver }) {
            number += 1
            let launches = state.withLock { $0.launches }
            date += Self.step
            let text = ISO8601DateFormatter().string(from: date)
            if number % 3 == 0 {
                async let answered = store.setClock(text)
                try await Task.sleep(for: .milliseconds(Int.random(in: 5...80, using: &chance)))
                guard await store.kill() else { throw KillTestError("the store died by itself") }
                state.withLock { $0.totals.store += 1 }
                _ = await answered
                try await store.start()
            }
            guard await store.setClock(text) else { throw KillTestError("a step of the clock failed") }
            try await until(within: patience) { state.withLock { $0.isOver || $0.launches > launches } }
        }
    }

    // MARK: The comparison

    private func compare(_ device: KillDevice) async throws {
        let rows = try await store.ledger(of: device.email)
        var grants: [String: Int] = [:]
        var wrong: [String] = []
        var over: Set<String> = []
        // A choice of a plan for the next period is answered with the transaction of the current one. After a kill the
        // answer may come when the chosen period has begun, beside that period's own delivery.
        var choices: Set<String> = []
        let ends = Set(rows.compactMap(\.expiresDate))
        let renewals = Set(rows.filter { $0.purchaseDate.map(ends.contains) ?? false }.map(\.transactionId))
        for event in try AppLog.read(device.log) {
            switch event {
            case .asked(let order): choices.insert(order.name)
            case .failed(let order, _): choices.remove(order)
            case .granted(let transaction, let order):
                grants[transaction, default: 0] += 1
                if !renewals.contains(transaction) { choices.remove(order.name) }
            case .finished(let transaction), .removed(let transaction): over.insert(transaction)
            case .delivered(let transaction) where over.contains(transaction):
                over.remove(transaction)
                if choices.popFirst() == nil { wrong.append("\(transaction) came again after it was finished") }
            default: break
            }
        }
        for row in rows {
            let count = grants.removeValue(forKey: row.transactionId) ?? 0
            if count != 1 { wrong.append("\(row.transactionId) (\(row.productId)) was granted \(count) times") }
            if row.finishedDate == nil { wrong.append("\(row.transactionId) is not finished") }
        }
        wrong += grants.keys.map { "\($0) was granted, and is not in the ledger" }
        if Set(rows.map(\.originalTransactionId)).count > 1 { wrong.append("there are several subscriptions") }
        let file = device.folder.appendingPathComponent("device/apps/\(StoreProcess.bundleID)/sandboxReceipt")
        let receipt = try await store.verifiedTransactions(Data(contentsOf: file))
        if receipt != Set(rows.map(\.transactionId)) {
            wrong.append("the receipt has \(receipt.count) periods, the ledger \(rows.count)")
        }
        if !wrong.isEmpty {
            let log = (try? String(contentsOf: device.log, encoding: .utf8)) ?? ""
            wrong.append("its app noted: " + log.split(separator: "\n").joined(separator: "; "))
        }
        let (found, email) = (wrong, device.email)
        state.withLock { state in
            state.totals.periods += rows.count
            state.totals.changes += zip(rows, rows.dropFirst()).count { $0.productId != $1.productId }
            state.totals.wrong += found.map { "\(email): \($0)" }
        }
    }
}
