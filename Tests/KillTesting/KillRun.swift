import Foundation
import KillTestApp
import Synchronization
import TestSupport

/// One run: a store, a few devices with an account each, and kills; then one launch of each device in peace, and the
/// comparison of the ledger with what the apps delivered.
///
/// First the app dies at every named point, then at random moments while the store is killed as well. A run is the same
/// for the same seed, but for what the system's scheduler makes of it.
public final class KillRun: Sendable {
    /// How much is killed.
    public struct Plan: Sendable {
        /// The names of the points at which the app is killed.
        public var points: [String]
        /// The app is killed at each of the points each of these times that it comes there; the first time is 1.
        public var times: ClosedRange<Int>
        /// Kills of the app at random moments.
        public var random: Int
        /// Kills of the store.
        public var store: Int
        /// Devices at work at the same time.
        public var devices: Int
        /// The seed of all random choices.
        public var seed: UInt64

        /// Creates a plan.
        public init(
            points: [String] = KillPoint.allNames, times: ClosedRange<Int>, random: Int, store: Int, devices: Int,
            seed: UInt64
        ) {
            self.points = points
            self.times = times
            self.random = random
            self.store = store
            self.devices = devices
            self.seed = seed
        }
    }

    private struct State {
        var points: [KillPoint] = []
        var chance: SeededGenerator
        var randomLeft: Int
        var storeLeft: Int
        var isStopped = false
        var totals = KillTotals()
    }

    private let store: StoreProcess
    private let programs: Programs
    private let plan: Plan
    private let points = Points()
    private let state: Mutex<State>

    private init(_ programs: Programs, _ store: StoreProcess, _ plan: Plan) {
        self.programs = programs
        self.store = store
        self.plan = plan
        state = Mutex(
            State(chance: SeededGenerator(seed: plan.seed), randomLeft: plan.random, storeLeft: plan.store))
    }

    /// Runs it on a store of its own.
    ///
    /// - Parameter goesOn: asked before each launch and each kill of the store; after false there are no more kills.
    /// - Throws: ``KillTestError`` when a program did what no kill explains.
    public static func run(
        _ backend: Backend, _ programs: Programs, _ plan: Plan, goesOn: @escaping @Sendable () -> Bool = { true }
    ) async throws -> KillTotals {
        try await StoreProcess.with(backend, programs, seed: plan.seed) { store in
            let run = KillRun(programs, store, plan)
            try await run.execute(goesOn)
            return run.state.withLock { $0.totals }
        }
    }

    private func execute(_ goesOn: @escaping @Sendable () -> Bool) async throws {
        state.withLock { state in
            let all = plan.points.flatMap { name in
                plan.times.map { KillPoint(name: name, count: $0) }
            }
            state.points = all.shuffled(using: &state.chance)
        }
        var devices: [KillDevice] = []
        for number in 0..<plan.devices {
            devices.append(
                try await KillDevice(
                    programs, store, folder: store.folder.appendingPathComponent("device\(number)"),
                    email: "tester\(number)@example.com", seed: plan.seed &+ UInt64(number) &+ 1))
        }
        devices = try await each(devices) { try await self.killAtPoints(&$0, goesOn) }
        devices = try await atRandom(devices, goesOn)
        for device in devices {
            var device = device
            _ = try await device.launch([], .ends, restores: true)
            // Once more, since a launch removes what the one before it has finished.
            _ = try await device.launch([], .ends, restores: false)
            let verdict = try await device.verdict()
            state.withLock { $0.totals.add(verdict, of: device.email) }
        }
    }

    private func atRandom(
        _ devices: [KillDevice], _ goesOn: @escaping @Sendable () -> Bool
    ) async throws -> [KillDevice] {
        async let storeIsDone: Void = stopping { try await self.killStore(goesOn) }
        let changed = try await stopping {
            try await self.each(devices) { try await self.killAtRandom(&$0, goesOn) }
        }
        points.end()
        try await storeIsDone
        return changed
    }

    /// Runs it; when it fails, nothing else goes on either.
    private func stopping<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            state.withLock { $0.isStopped = true }
            points.end()
            throw error
        }
    }

    private func each(
        _ devices: [KillDevice], _ body: @escaping @Sendable (inout KillDevice) async throws -> Void
    ) async throws -> [KillDevice] {
        try await withThrowingTaskGroup(of: KillDevice.self) { group in
            for device in devices {
                group.addTask {
                    var device = device
                    try await body(&device)
                    return device
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    // MARK: The app at its points

    private func killAtPoints(_ device: inout KillDevice, _ goesOn: @Sendable () -> Bool) async throws {
        while goesOn(), let point = state.withLock({ $0.points.popLast() }) {
            try await die(&device, at: point)
            if !goesOn() { return }
            // What is told of at a launch was left by the one before.
            for _ in 0..<3 where !wasHit(point.name) && point.count == 1 {
                try await die(&device, at: KillPoint(name: KillPoint.App.beforeGrant.rawValue, count: 1))
                try await die(&device, at: point)
            }
        }
    }

    private func wasHit(_ name: String) -> Bool { state.withLock { $0.totals.points.contains(name) } }

    private func die(_ device: inout KillDevice, at point: KillPoint) async throws {
        let isWaiting = point.name.hasSuffix("-\(Self.waiting)")
        let isOfDownloads = KillPoint.downloadNames.contains(point.name)
        // A download waits for the store when one was begun and the store is away.
        let isLater = isOfDownloads && isWaiting
        if isLater {
            _ = try await device.launch(
                device.hostedOrders(), .dies(KillPoint(name: Self.begun, count: 1)), restores: false)
        }
        let orders = isLater ? [] : isOfDownloads ? device.hostedOrders() : device.someOrders(2...3)
        let wasKilled = try await device.launch(
            orders, .dies(point), restores: !isLater && (point.name.contains("restor") || point.count > 1),
            isOnline: !isWaiting)
        guard wasKilled else { return }
        state.withLock { state in
            state.totals.named += 1
            state.totals.points.insert(point.name)
        }
    }

    /// The steps that come only when the store cannot be reached.
    private static let waiting = "wait"
    /// A download has been asked for.
    private static let begun = "download-transfer"

    // MARK: The app and the store at random

    private func killAtRandom(_ device: inout KillDevice, _ goesOn: @Sendable () -> Bool) async throws {
        // How long a launch takes here and now: moments are drawn from a little more than that.
        var usual = Duration.milliseconds(500)
        while goesOn(), let kills = nextLaunch() {
            let (part, restores) = state.withLock { state in
                (Double.random(in: 0..<1.2, using: &state.chance), Int.random(in: 0..<3, using: &state.chance) == 0)
            }
            let begin = ContinuousClock.now
            let wasKilled = try await device.launch(
                device.someOrders(1...3), kills ? .isKilled(after: usual * part) : .ends, restores: restores,
                onPoint: { [points] in points.passed($0) })
            if wasKilled {
                state.withLock { $0.totals.random += 1 }
            } else {
                usual = min(usual * 0.5 + (ContinuousClock.now - begin) * 0.5, .seconds(2))
                if kills { state.withLock { $0.randomLeft += 1 } }
            }
        }
    }

    /// Whether the next launch is to be killed; nil when all is done.
    private func nextLaunch() -> Bool? {
        state.withLock { state in
            guard !state.isStopped, state.randomLeft > 0 || state.storeLeft > 0 else { return nil }
            guard state.randomLeft > 0 else { return false }
            state.randomLeft -= 1
            return true
        }
    }

    /// Where an app is when the store is killed: it has begun to ask, most often to buy, or just had an answer.
    private static let exchanges = [
        "before-send", "before-send", "before-send", "before-collect", "before-finish", "before-finish",
        "before-restore", "before-list", "before-confirm", "after-send", "after-finish", "app-launched",
        "download-transfer", "download-granted", "download-received",
    ]
    /// How long after that, in milliseconds: to behind the end of most answers.
    private static let delays = 0.0..<40.0

    /// Kills the store when an app has just begun to speak to it, or at any moment, and starts it again.
    private func killStore(_ goesOn: @Sendable () -> Bool) async throws {
        while goesOn(), state.withLock({ !$0.isStopped && $0.storeLeft > 0 }) {
            let (exchange, delay) = state.withLock { state in
                (
                    Self.exchanges.randomElement(using: &state.chance) ?? "before-send",
                    Double.random(in: Self.delays, using: &state.chance)
                )
            }
            guard await points.next([exchange]) else { break }
            try await Task.sleep(for: .microseconds(Int(delay * 1000)))
            guard await store.kill() else { throw KillTestError("the store ended by itself") }
            state.withLock { $0.totals.store += 1 }
            try await store.start()
            state.withLock { $0.storeLeft -= 1 }
        }
        state.withLock { $0.storeLeft = 0 }
    }
}
