import Foundation
import KillTestApp
import TestSupport

/// An app that calls `exit()` right after it added a payment or finished a transaction, launched again and again.
public enum ExitRun {
    /// What a run came to.
    public struct Result: Sendable {
        /// The ledger compared with the app's log.
        public var verdict: Verdict
        /// Launches that ended with `exit()` at their point.
        public var exits: Int
        /// Payments that were added. An app that is told of an earlier transaction may exit before it adds its own.
        public var added: Int
    }

    /// Runs it on a store of its own: half of the launches exit after `add`, half after `finishTransaction`.
    ///
    /// - Throws: ``KillTestError`` when a program did what no exit explains.
    public static func run(_ backend: Backend, _ programs: Programs, launches: Int) async throws -> Result {
        try await StoreProcess.with(backend, programs) { try await run(programs, $0, launches: launches) }
    }

    private static func run(_ programs: Programs, _ store: StoreProcess, launches: Int) async throws -> Result {
        var device = try await KillDevice(
            programs, store, folder: store.folder.appendingPathComponent("device"), email: "tester@example.com", seed: 1
        )
        for launch in 0..<launches {
            let point = launch % 2 == 0 ? KillPoint.App.afterFinish : .added
            let order = Order(name: "exit\(launch)", product: StoreProcess.consumables[0], quantity: 1)
            _ = try await device.launch([order], .exits(KillPoint(name: point.rawValue, count: 1)), restores: false)
        }
        _ = try await device.launch([], .ends, restores: false)
        let log = try AppLog.read(device.log)
        return Result(
            verdict: try await device.comparison(),
            exits: log.count { $0 == .launched } - log.count { $0 == .ended },
            added: Self.added(log).count)
    }

    private static func added(_ log: [AppLog.Event]) -> Set<String> {
        var orders: Set<String> = []
        for case .journaled(let order) in log { orders.insert(order) }
        return orders
    }
}
