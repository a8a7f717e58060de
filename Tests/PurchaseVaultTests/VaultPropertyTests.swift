import Foundation
import StoreKit
import Synchronization
import TestSupport
import Testing

@testable import PurchaseVault

@Suite("A vault over crashes", .timeLimit(.minutes(1)))
struct VaultPropertyTests {
    private typealias Bench = VaultBench

    struct Crash: Error {}

    /// Ends the writing before one step, once.
    private final class Fuse: Sendable {
        private let step = Mutex<VaultFiles.Step?>(nil)
        func light(_ step: VaultFiles.Step?) { self.step.withLock { $0 = step } }

        func check(_ step: VaultFiles.Step) throws {
            let burns = self.step.withLock { lit in
                guard lit == step else { return false }
                lit = nil
                return true
            }
            if burns { throw Crash() }
        }
    }

    /// What the vault must hold.
    private struct Model: Equatable {
        var coins = 0
        var credited: Set<Int> = []
        var keys: Set<Int> = []
        var unlocked: Set<String> = []
    }

    private enum Operation {
        case credit(id: Int, quantity: Int)
        case unlock(String)
        case spend(amount: Int, key: Int)

        func apply(to model: inout Model) {
            switch self {
            case .credit(let id, let quantity):
                if model.credited.insert(id).inserted { model.coins += 10 * quantity }
            case .unlock(let product): model.unlocked.insert(product)
            case .spend(let amount, let key):
                guard !model.keys.contains(key), amount <= model.coins else { return }
                model.keys.insert(key)
                model.coins -= amount
            }
        }
    }

    private func perform(_ operation: Operation, _ vault: PurchaseVault, _ bench: VaultBench) async throws {
        switch operation {
        case .credit(let id, let quantity):
            try await vault.record(bench.bought(Bench.coins, id: "\(id)", quantity: Int64(quantity)))
        case .unlock(let product):
            try await vault.record(bench.bought(product, id: product == Bench.sepia ? "s" : "m"))
        case .spend(let amount, let key):
            try vault.spend(amount, of: "coins", key: "\(key)")
        }
    }

    private func seen(_ vault: PurchaseVault) -> (Int, Set<String>) {
        (vault.balance("coins"), Set(vault.unlockedProducts))
    }

    /// A quantity is of the id, so that a repeated transaction is the same one.
    private func next(_ generator: inout SeededGenerator) -> Operation {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<4:
            let id = Int.random(in: 1...12, using: &generator)
            return .credit(id: id, quantity: id % 3 + 1)
        case 4: return .unlock([Bench.sepia, Bench.mono].randomElement(using: &generator) ?? Bench.sepia)
        default:
            let key = Int.random(in: 1...30, using: &generator)
            return .spend(amount: key % 7 + 1, key: key)
        }
    }

    @Test(arguments: [1, 2, 3, 4])
    func `random changes, launches and crashes at each step lose nothing and double nothing`(seed: UInt64) async throws
    {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            var generator = SeededGenerator(seed: seed)
            let fuse = Fuse()
            var model = Model()
            var vault = try await PurchaseVault(try bench.configuration()) { try fuse.check($0) }
            var crashes = 0
            for _ in 0..<60 {
                let operation = next(&generator)
                var after = model
                operation.apply(to: &after)
                let before = crashes
                if Bool.random(using: &generator) {
                    fuse.light(VaultFiles.Step.all.randomElement(using: &generator))
                }
                do {
                    try await perform(operation, vault, bench)
                    model = after
                } catch let error as VaultError where error.code == .storage {
                    crashes += 1
                } catch let error as VaultError where error.code == .insufficientBalance {
                    #expect(after == model)
                }
                fuse.light(nil)
                guard crashes > before || Int.random(in: 0..<6, using: &generator) == 0 else {
                    #expect(seen(vault) == (model.coins, model.unlocked))
                    continue
                }
                vault.close()
                vault = try await PurchaseVault(try bench.configuration()) { try fuse.check($0) }
                #expect(vault.report.isClean, "\(vault.report)")
                if crashes > before {
                    // Either it was written or not; done again, it is done once.
                    let found = seen(vault)
                    #expect(found == (model.coins, model.unlocked) || found == (after.coins, after.unlocked))
                    try await perform(operation, vault, bench)
                    model = after
                }
                #expect(seen(vault) == (model.coins, model.unlocked))
            }
            #expect(crashes > 5)
        }
    }

    @Test(arguments: VaultFiles.Step.all.map { "\($0.purpose) \($0.write)" })
    func `a crash at each step of the first write, and continuing without a relaunch`(name: String) async throws {
        let step = try #require(VaultFiles.Step.all.first { "\($0.purpose) \($0.write)" == name })
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let fuse = Fuse()
            var vault = try await PurchaseVault(try bench.configuration()) { try fuse.check($0) }
            fuse.light(step)
            await #expect(throws: VaultError.self) { try await vault.record(bench.bought(Bench.coins, id: "1")) }
            // The app goes on, as after a full disk.
            try await vault.record(bench.bought(Bench.coins, id: "1"))
            fuse.light(step)
            #expect(throws: VaultError.self) { try vault.spend(3, of: "coins", key: "k") }
            try vault.spend(3, of: "coins", key: "k")
            #expect(vault.balance("coins") == 7)
            vault.close()
            vault = try await bench.open()
            #expect(vault.report.isClean && vault.balance("coins") == 7)
        }
    }

    @Test func `a crash during a repair is repaired at the next launch`() async throws {
        for step in VaultFiles.Step.all {
            try await VaultBench.with { bench in
                try bench.layReceipt([])
                var vault = try await bench.open()
                try await vault.record(bench.bought(Bench.coins, id: "1"))
                try Bench.copy(bench.file, to: bench.aside("vault"))
                try vault.spend(4, of: "coins", key: "a")
                vault.close()
                try Bench.copy(bench.aside("vault"), to: bench.file)
                let fuse = Fuse()
                fuse.light(step)
                await #expect(throws: VaultError.self) {
                    try await PurchaseVault(try bench.configuration()) { try fuse.check($0) }
                }
                vault = try await bench.open()
                #expect(vault.balance("coins") == 6, "\(step)")
                vault.close()
            }
        }
    }

    @Test func `the files of a killed write are removed`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let vault = try await bench.open()
            try await vault.record(bench.bought(Bench.coins, id: "1"))
            vault.close()
            let folder = try bench.configuration().folder
            let leftover = folder.appendingPathComponent(".purchases.vault.\(UUID().uuidString)")
            try Data("half".utf8).write(to: leftover)
            let again = try await bench.open()
            #expect(!FileManager.default.fileExists(atPath: leftover.path) && again.balance("coins") == 10)
        }
    }
}
