import Foundation
import StoreReceipts
import TestSupport
import Testing

@testable import PurchaseVault
@testable import StoreKit

@Suite("A tampered vault", .timeLimit(.minutes(1)))
struct TamperingTests {
    private typealias Bench = VaultBench

    /// Sepia unlocked, and 10 coins of transaction 1, of which `spending` are gone.
    private func filled(_ bench: VaultBench, spending: Int = 0) async throws {
        try bench.layReceipt([.init(product: Bench.sepia, id: "7")])
        let vault = try await bench.open()
        try await vault.recordReceipt()
        try await vault.record(bench.bought(Bench.coins, id: "1"))
        if spending > 0 { try vault.spend(spending, of: "coins", key: "first") }
        vault.close()
    }

    private func expectNothing(_ bench: VaultBench, _ incidents: [VaultIncident]) async throws {
        let vault = try await bench.open()
        #expect(vault.report.incidents == incidents)
        #expect(vault.unlockedProducts == [] && vault.balance("coins") == 0)
        // The receipt still proves what it proves.
        #expect(try await vault.recordReceipt() == [.unlocked(Bench.sepia)])
        vault.close()
        let again = try await bench.open()
        #expect(again.report.isClean && again.unlockedProducts == [Bench.sepia])
        again.close()
    }

    @Test func `each flipped bit of the file and of the mark is detected`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            let key = [UInt8](try Data(contentsOf: bench.key))
            let seal = VaultSeal(key: key, owner: "\(Bench.bundleID)\nsandbox")
            for (file, purpose) in [(try bench.file, VaultSeal.Purpose.vault), (try bench.mark, .mark)] {
                var bytes = try Data(contentsOf: file)
                #expect(seal.open(bytes, as: purpose) != nil)
                for index in bytes.indices {
                    bytes[index] ^= UInt8(1 << (index % 8))
                    #expect(seal.open(bytes, as: purpose) == nil, "byte \(index)")
                    bytes[index] ^= UInt8(1 << (index % 8))
                }
                #expect(seal.open(bytes, as: purpose) != nil)
            }
        }
    }

    @Test(arguments: [0, 3, 7, 8, 15, 21, 500, -1, -16, -17])
    func `a changed file is reported, set aside and ignored`(position: Int) async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            var bytes = try Data(contentsOf: bench.file)
            bytes[position < 0 ? bytes.count + position : position] ^= 0x20
            try bytes.write(to: bench.file)
            try await expectNothing(bench, [.unreadable])
            #expect(try Data(contentsOf: bench.file.appendingPathExtension("unreadable")) == bytes)
        }
    }

    @Test(arguments: ["empty", "cut", "longer", "text", "another's", "the mark", "a folder", "of production"])
    func `a file that is not this app's vault is reported and ignored`(kind: String) async throws {
        try await TemporaryDirectory.with { directory in
            let bench = try await VaultBench(directory)
            try await filled(bench)
            let file = try bench.file
            let bytes = try Data(contentsOf: file)
            switch kind {
            case "empty": try Data().write(to: file)
            case "cut": try bytes.dropLast(1).write(to: file)
            case "longer": try (bytes + [0]).write(to: file)
            case "text": try Data(#"{"credits": 1000000}"#.utf8).write(to: file)
            case "the mark": try Bench.copy(bench.mark, to: file)
            case "a folder":
                try FileManager.default.removeItem(at: file)
                try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            case "of production":
                // The same key, and the vault of the other environment.
                try bench.layReceipt([], environment: .production)
                var configuration = try bench.configuration(.production)
                configuration.keyStore = FileVaultKeyStore(file: try bench.key)
                let production = try await PurchaseVault(configuration)
                let receipt = try bench.transactionReceipt(Bench.coins, id: "50", environment: .production)
                try await production.record(transactionReceipt: receipt)
                production.close()
                try Bench.copy(configuration.folder.appendingPathComponent("purchases.vault"), to: file)
            default:
                let other = try await VaultBench(directory, device: "other")
                try await filled(other)
                try Bench.copy(other.file, to: file)
            }
            try await expectNothing(bench, [.unreadable])
        }
    }

    @Test func `an older copy restores no spent credits, and unlocks stay`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            try Bench.copy(bench.file, to: bench.aside("vault"))
            var vault = try await bench.open()
            try vault.spend(6, of: "coins", key: "a")
            try vault.spend(1, of: "coins", key: "b")
            vault.close()
            for round in 0..<3 {
                try Bench.copy(bench.aside("vault"), to: bench.file)
                vault = try await bench.open()
                #expect(vault.report.incidents == [.rolledBack(generation: 2, last: 4 + round)])
                #expect(vault.balance("coins") == 3 && vault.unlockedProducts == [Bench.sepia])
                vault.close()
            }
            vault = try await bench.open()
            #expect(vault.report.isClean && vault.balance("coins") == 3)
            #expect(try await vault.record(bench.bought(Bench.coins, id: "1")) == .alreadyRecorded)
            #expect(vault.balance("coins") == 3)
        }
    }

    @Test func `credits missing from an older copy come back from receipts, up to the last balance`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            try Bench.copy(bench.file, to: bench.aside("vault"))
            var vault = try await bench.open()
            try await vault.record(bench.bought(Bench.coins, id: "2", quantity: 10))
            try vault.spend(50, of: "coins", key: "a")
            #expect(vault.balance("coins") == 60)
            vault.close()
            try Bench.copy(bench.aside("vault"), to: bench.file)
            vault = try await bench.open()
            #expect(vault.balance("coins") == 10)
            #expect(
                try await vault.record(bench.bought(Bench.coins, id: "2", quantity: 10)) == .credited(50, of: "coins"))
            #expect(try await vault.record(bench.bought(Bench.coins, id: "2", quantity: 10)) == .alreadyRecorded)
            #expect(vault.balance("coins") == 60)
            // What is bought anew counts whole.
            #expect(try await vault.record(bench.bought(Bench.coins, id: "3")) == .credited(10, of: "coins"))
            #expect(vault.balance("coins") == 70)
        }
    }

    @Test func `an older copy under other roots restores no spent credits`() async throws {
        try await TemporaryDirectory.with { directory in
            let bench = try await VaultBench(directory)
            try await filled(bench)
            try Bench.copy(bench.file, to: bench.aside("vault"))
            var vault = try await bench.open()
            try vault.spend(8, of: "coins", key: "a")
            vault.close()
            try Bench.copy(bench.aside("vault"), to: bench.file)
            let other = try await CertificateAuthority.open(
                directory: directory.url.appendingPathComponent("other"), at: Bench.start)
            try Data(other.receiptRoot).write(to: bench.root)
            vault = try await bench.open()
            #expect(vault.balance("coins") == 0)
            vault.close()
            try Data(bench.authority.receiptRoot).write(to: bench.root)
            vault = try await bench.open()
            #expect(vault.report.isClean && vault.balance("coins") == 0 && vault.unlockedProducts == [Bench.sepia])
            #expect(try await vault.record(bench.bought(Bench.coins, id: "1")) == .credited(2, of: "coins"))
        }
    }

    @Test func `changing the device identifier for a while restores no spent credits`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            try Bench.copy(bench.file, to: bench.aside("vault"))
            var vault = try await bench.open()
            let second = try bench.bought(Bench.coins, id: "2")
            try await vault.record(second)
            try vault.spend(20, of: "coins", key: "a")
            vault.close()
            try Bench.copy(bench.aside("vault"), to: bench.file)
            let vendor = bench.folder.appendingPathComponent("vendor-id")
            try Bench.copy(vendor, to: bench.aside("vendor"))
            try Data(UUID().uuidString.utf8).write(to: vendor)
            vault = try await bench.open()
            #expect(vault.report.incidents.last == .rebound(kept: [], dropped: [Bench.sepia]))
            vault.close()
            try Bench.copy(bench.aside("vendor"), to: vendor)
            vault = try await bench.open()
            #expect(try await vault.record(second) == .alreadyRecorded)
            #expect(vault.balance("coins") == 0)
        }
    }

    @Test func `after a vault is removed, spent credits stay spent, and new purchases count`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench, spending: 4)
            try FileManager.default.removeItem(at: bench.file)
            var vault = try await bench.open()
            #expect(vault.report.incidents == [.missing])
            #expect(vault.balance("coins") == 0 && vault.unlockedProducts == [])
            #expect(try await vault.recordReceipt() == [.unlocked(Bench.sepia)])
            vault.close()
            vault = try await bench.open()
            #expect(vault.report.isClean)
            #expect(try await vault.record(bench.bought(Bench.coins, id: "1")) == .credited(6, of: "coins"))
            #expect(try await vault.record(bench.bought(Bench.coins, id: "2")) == .credited(10, of: "coins"))
            #expect(vault.balance("coins") == 16)
        }
    }

    @Test(arguments: ["removed", "changed", "removed, with an older vault"])
    func `without the mark the balances are lost`(kind: String) async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            try Bench.copy(bench.file, to: bench.aside("vault"))
            var vault = try await bench.open()
            try vault.spend(9, of: "coins", key: "a")
            vault.close()
            if kind == "changed" {
                var bytes = try Data(contentsOf: bench.mark)
                bytes[bytes.count - 1] ^= 1
                try bytes.write(to: bench.mark)
            } else {
                try FileManager.default.removeItem(at: bench.mark)
            }
            if kind == "removed, with an older vault" { try Bench.copy(bench.aside("vault"), to: bench.file) }
            vault = try await bench.open()
            #expect(vault.report.incidents == [.unmarked])
            #expect(vault.balance("coins") == 0 && vault.unlockedProducts == [Bench.sepia])
            #expect(try await vault.record(bench.bought(Bench.coins, id: "1")) == .alreadyRecorded)
            #expect(try await vault.record(bench.bought(Bench.coins, id: "2")) == .credited(10, of: "coins"))
            vault.close()
            vault = try await bench.open()
            #expect(vault.report.isClean && vault.balance("coins") == 10)
        }
    }

    @Test func `an older mark is reported and changes nothing`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            try Bench.copy(bench.mark, to: bench.aside("mark"))
            var vault = try await bench.open()
            try vault.spend(3, of: "coins", key: "a")
            try vault.spend(3, of: "coins", key: "b")
            vault.close()
            try Bench.copy(bench.aside("mark"), to: bench.mark)
            vault = try await bench.open()
            #expect(vault.report.incidents == [.markRolledBack])
            #expect(vault.balance("coins") == 4 && vault.unlockedProducts == [Bench.sepia])
        }
    }

    @Test(arguments: [true, false])
    func `a lost or damaged key loses the balances, and no unlock`(isRemoved: Bool) async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            if isRemoved {
                try FileManager.default.removeItem(at: bench.key)
            } else {
                try Data("short".utf8).write(to: bench.key)
                chmod(try bench.key.path, 0o600)
            }
            try await expectNothing(bench, [.unreadable, .unmarked])
        }
    }

    // MARK: Backups and devices

    @Test func `a backup of the whole device is readable at once`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench, spending: 4)
            try Bench.copy(bench.folder, to: bench.aside("device"))
            var vault = try await bench.open()
            try vault.spend(1, of: "coins", key: "later")
            vault.close()
            try Bench.copy(bench.aside("device"), to: bench.folder)
            vault = try await bench.open()
            // Nothing on the device remembers: see Documentation/PurchaseVault.md.
            #expect(vault.report.isClean && vault.balance("coins") == 6 && vault.unlockedProducts == [Bench.sepia])
        }
    }

    @Test func `another device keeps the unlocks of its own receipt, and no balances`() async throws {
        try await TemporaryDirectory.with { directory in
            let first = try await VaultBench(directory, device: "first")
            first.now += 1
            try first.layReceipt([.init(product: Bench.sepia, id: "7"), .init(product: Bench.mono, id: "8")])
            let vault = try await first.open()
            try await vault.recordReceipt()
            try await vault.record(first.bought(Bench.coins, id: "1"))
            vault.close()

            let second = try await VaultBench(directory, device: "second")
            for (old, new) in [
                (try first.file, try second.file), (try first.mark, try second.mark), (try first.key, try second.key),
            ] {
                try Bench.copy(old, to: new)
            }
            try second.layReceipt([.init(product: Bench.sepia, id: "9", original: "7")])
            var moved = try await second.open()
            #expect(moved.report.incidents == [.rebound(kept: [Bench.sepia], dropped: [Bench.mono])])
            #expect(moved.unlockedProducts == [Bench.sepia] && moved.balance("coins") == 0)
            // The other device's receipt is of the other device, and its transaction was counted there.
            let error = await #expect(throws: VaultError.self) {
                try await moved.record(first.bought(Bench.coins, id: "1"))
            }
            #expect(error?.code == .evidenceRefused || error?.code == .noEvidence)
            #expect(try await moved.record(second.bought(Bench.coins, id: "1")) == .alreadyRecorded)
            #expect(try await moved.record(second.bought(Bench.coins, id: "2")) == .credited(10, of: "coins"))
            moved.close()
            moved = try await second.open()
            #expect(moved.report.isClean && moved.unlockedProducts == [Bench.sepia] && moved.balance("coins") == 10)
        }
    }

    @Test func `on another device without a receipt nothing is unlocked`() async throws {
        try await TemporaryDirectory.with { directory in
            let first = try await VaultBench(directory, device: "first")
            try await filled(first)
            let second = try await VaultBench(directory, device: "second")
            for (old, new) in [
                (try first.file, try second.file), (try first.mark, try second.mark), (try first.key, try second.key),
                // The receipt came along as well, and is the other device's.
                (try first.configuration().receiptURL, try second.configuration().receiptURL),
            ] {
                try Bench.copy(old, to: new)
            }
            let moved = try await second.open()
            #expect(moved.report.incidents == [.rebound(kept: [], dropped: [Bench.sepia])])
            #expect(moved.unlockedProducts == [] && moved.balance("coins") == 0)
        }
    }

    @Test func `the key alone unlocks nothing without evidence`() async throws {
        try await VaultBench.with { bench in
            try await filled(bench)
            let seal = VaultSeal(key: [UInt8](try Data(contentsOf: bench.key)), owner: "\(Bench.bundleID)\nsandbox")
            let plain = try #require(seal.open(try Data(contentsOf: bench.file), as: .vault))
            var contents = try JSONDecoder().decode(VaultContents.self, from: plain)
            let evidence = try #require(contents.credits.first?.evidence)
            contents.credits.append(.init(productID: Bench.gems, transactionID: "99", evidence: evidence))
            contents.unlocks.append(
                .init(productID: Bench.mono, originalTransactionID: "7", evidence: contents.unlocks[0].evidence))
            let sealed = try seal.seal(JSONEncoder().encode(contents), as: .vault)
            try sealed.write(to: bench.file)
            let vault = try await bench.open()
            // It is reported as an older copy: the mark names another file of this number.
            #expect(!vault.report.isClean)
            #expect(vault.balance("gems") == 0 && vault.balance("coins") == 10)
            #expect(vault.unlockedProducts == [Bench.sepia])
        }
    }
}
