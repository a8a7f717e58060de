import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import PurchaseVault
@testable import StoreKit

@Suite("A purchase vault", .timeLimit(.minutes(1)))
struct PurchaseVaultTests {
    private typealias Bench = VaultBench

    @Test func `a purchase is present once at the next launch`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([.init(product: Bench.sepia, id: "1")])
            let vault = try await bench.open()
            #expect(vault.report == VaultReport(incidents: [], generation: 0))
            #expect(try await vault.record(bench.bought(Bench.sepia, id: "1")) == .unlocked(Bench.sepia))
            #expect(try await vault.record(bench.bought(Bench.sepia, id: "1")) == .alreadyRecorded)
            #expect(
                try await vault.record(bench.bought(Bench.coins, id: "2", quantity: 3)) == .credited(30, of: "coins"))
            #expect(try await vault.record(bench.bought(Bench.coins, id: "2", quantity: 3)) == .alreadyRecorded)
            vault.close()
            let again = try await bench.open()
            #expect(again.report == VaultReport(incidents: [], generation: 2))
            #expect(again.isUnlocked(Bench.sepia) && !again.isUnlocked(Bench.mono) && !again.isUnlocked(Bench.coins))
            #expect(again.unlockedProducts == [Bench.sepia])
            #expect(again.balance("coins") == 30 && again.balance("gems") == 0)
            #expect(try await again.record(bench.bought(Bench.coins, id: "2", quantity: 3)) == .alreadyRecorded)
            #expect(again.balance("coins") == 30)
        }
    }

    @Test func `a spend happens once for its key, and never below zero`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let vault = try await bench.open()
            try await vault.record(bench.bought(Bench.coins, id: "1"))
            #expect(try vault.spend(4, of: "coins", key: "level 1") == .spent(left: 6))
            #expect(try vault.spend(4, of: "coins", key: "level 1") == .alreadySpent)
            #expect(vault.balance("coins") == 6)
            for (amount, currency, key, code) in [
                (5, "coins", "level 1", VaultError.Code.keyReused), (4, "gems", "level 1", .keyReused),
                (7, "coins", "level 2", .insufficientBalance), (1, "gems", "level 2", .insufficientBalance),
                (0, "coins", "level 2", .invalidSpend), (-5, "coins", "level 2", .invalidSpend),
                (1, "coins", "", .invalidSpend), (1, "", "k", .invalidSpend),
                (1, "coins", String(repeating: "k", count: 256), .invalidSpend),
            ] {
                let error = #expect(throws: VaultError.self) { try vault.spend(amount, of: currency, key: key) }
                #expect(error?.code == code)
            }
            #expect(try vault.spend(6, of: "coins", key: "level 2") == .spent(left: 0))
            vault.close()
            let again = try await bench.open()
            #expect(again.balance("coins") == 0 && again.report.isClean)
            #expect(try again.spend(6, of: "coins", key: "level 2") == .alreadySpent)
            // Used up, and forgotten but for its number.
            #expect(try await again.record(bench.bought(Bench.coins, id: "1")) == .alreadyRecorded)
            #expect(again.balance("coins") == 0)
        }
    }

    @Test func `spent credits take no space`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let vault = try await bench.open()
            var sizes: [Int] = []
            for number in 1...8 {
                try await vault.record(bench.bought(Bench.coins, id: "\(number)"))
                try vault.spend(10, of: "coins", key: "\(number)")
                sizes.append(try Data(contentsOf: bench.file).count)
            }
            #expect(sizes[7] - sizes[0] < 2000)
            #expect(vault.balance("coins") == 0)
        }
    }

    @Test func `only the latest thousand keys are remembered`() throws {
        var contents = VaultContents(device: UUID())
        contents.credits = [.init(productID: Bench.coins, transactionID: "1", evidence: "e")]
        let purchase = InAppPurchase(
            quantity: 1000, productID: Bench.coins, transactionID: "1", purchaseDate: .now, originalTransactionID: "1",
            originalPurchaseDate: nil, productType: 1, expiresDate: nil, itemID: nil, webOrderLineItemID: nil,
            cancellationDate: nil, isTrialPeriod: nil, isInIntroOfferPeriod: nil, promotionalOfferID: nil,
            otherAttributes: [])
        let proof = try #require(VaultProof(purchase))
        var ledger = VaultLedger(contents, grants: Bench.grants, proofs: ["e": [proof]])
        #expect(ledger.balance("coins") == 10_000)
        for number in 0...VaultLimits.spends { _ = try ledger.spend(1, of: "coins", key: "\(number)", at: Bench.start) }
        #expect(ledger.contents.spends.count == VaultLimits.spends)
        #expect(try ledger.spend(1, of: "coins", key: "1", at: Bench.start) == .alreadySpent)
        #expect(try ledger.spend(1, of: "coins", key: "0", at: Bench.start) == .spent(left: 8998))
    }

    // MARK: Evidence

    @Test func `only genuine evidence of this app, device and store is recorded`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([.init(product: Bench.mono, id: "77")])
            let vault = try await bench.open()
            func refuses(_ code: VaultError.Code, _ transaction: SKPaymentTransaction) async {
                let error = await #expect(throws: VaultError.self) { try await vault.record(transaction) }
                #expect(error?.code == code, "\(error?.detail ?? "")")
            }
            let genuine = try bench.transactionReceipt(Bench.coins, id: "1")
            func coins(_ receipt: Data?) -> SKPaymentTransaction {
                bench.delivered(Bench.coins, id: "1", receipt: receipt)
            }
            await refuses(.noEvidence, coins(nil))
            await refuses(.evidenceRefused, coins(Data("receipt of 1".utf8)))
            await refuses(
                .evidenceRefused, coins(try bench.transactionReceipt(Bench.coins, id: "1", bundleID: "com.other")))
            await refuses(.evidenceRefused, coins(try bench.transactionReceipt(Bench.coins, id: "1", device: UUID())))
            await refuses(
                .evidenceRefused, coins(try bench.transactionReceipt(Bench.coins, id: "1", device: .some(nil))))
            await refuses(
                .evidenceRefused, coins(try bench.transactionReceipt(Bench.coins, id: "1", environment: .production)))
            // Genuine, and of something else.
            await refuses(.noEvidence, coins(try bench.transactionReceipt(Bench.coins, id: "2")))
            await refuses(.noEvidence, coins(try bench.transactionReceipt(Bench.gems, id: "1")))
            await refuses(.noEvidence, bench.delivered(Bench.sepia, id: "77", receipt: nil))
            // A restored copy is not credited again.
            await refuses(
                .evidenceRefused, coins(try bench.transactionReceipt(Bench.coins, id: "1", original: "0")))
            await refuses(.notPaid, bench.delivered(Bench.coins, id: "1", receipt: genuine, state: .deferred))
            await refuses(.notPaid, bench.delivered(Bench.coins, id: nil, receipt: genuine, state: .purchasing))
            await refuses(.unknownProduct, bench.delivered("com.example.app.other", id: "1", receipt: genuine))
            var text = String(decoding: genuine, as: UTF8.self)
            text = text.replacing("\"environment\" = \"Sandbox\"", with: "\"environment\" = \"Production\"")
            #expect(text != String(decoding: genuine, as: UTF8.self))
            #expect(vault.balance("coins") == 0 && vault.unlockedProducts == [])
            #expect(!FileManager.default.fileExists(atPath: try bench.file.path))
            #expect(try await vault.record(coins(genuine)) == .credited(10, of: "coins"))
            vault.close()

            // A sandbox receipt that says it is production's.
            try bench.layReceipt([], environment: .production)
            let production = try await PurchaseVault(try bench.configuration(.production))
            let error = await #expect(throws: VaultError.self) {
                try await production.record(transactionReceipt: Data(text.utf8))
            }
            #expect(error?.code == .evidenceRefused && error?.detail.contains("environment") == true)
            let real = try bench.transactionReceipt(Bench.coins, id: "5", environment: .production)
            #expect(try await production.record(transactionReceipt: real) == .credited(10, of: "coins"))
        }
    }

    @Test func `receipts of another root, app or device prove nothing`() async throws {
        try await TemporaryDirectory.with { directory in
            let bench = try await VaultBench(directory)
            let stranger = try await VaultBench(
                directory, device: "stranger",
                authority: try await CertificateAuthority.open(
                    directory: directory.url.appendingPathComponent("other"), at: Bench.start))
            let url = try bench.configuration().receiptURL
            let purchases = [Bench.Purchase(product: Bench.sepia, id: "1")]
            let forged = try stranger.layReceipt(purchases, device: try bench.device)
            try bench.layReceipt(purchases)
            let vault = try await bench.open()
            func refuses(_ receipt: Data) async throws {
                try receipt.write(to: url)
                let error = await #expect(throws: VaultError.self) { try await vault.recordReceipt() }
                #expect(error?.code == .evidenceRefused)
            }
            try await refuses(forged)
            try await refuses(try bench.layReceipt(purchases, device: UUID()))
            try await refuses(try bench.layReceipt(purchases, bundleID: "com.other"))
            var damaged = try bench.layReceipt(purchases)
            damaged[damaged.count / 2] ^= 1
            try await refuses(damaged)
            try FileManager.default.removeItem(at: url)
            let error = await #expect(throws: VaultError.self) { try await vault.recordReceipt() }
            #expect(error?.code == .noEvidence)
            #expect(vault.unlockedProducts == [])
        }
    }

    @Test func `a restored transaction is proved by the first one in the receipt`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([.init(product: Bench.sepia, id: "9", original: "1")])
            let vault = try await bench.open()
            let first = bench.delivered(Bench.sepia, id: "1", receipt: nil)
            let restored = bench.delivered(Bench.sepia, id: "12", receipt: nil, state: .restored, original: first)
            #expect(try await vault.record(restored) == .unlocked(Bench.sepia))
            #expect(try await vault.record(first) == .alreadyRecorded)
            let other = bench.delivered(Bench.mono, id: "13", receipt: nil, state: .restored, original: first)
            await #expect(throws: VaultError.self) { try await vault.record(other) }
        }
    }

    @Test func `a subscription expires by the clock, and a renewal extends it`() async throws {
        try await VaultBench.with { bench in
            let day = 86_400.0
            try bench.layReceipt([
                .init(product: Bench.club, id: "1", expires: bench.now + 30 * day),
                .init(product: Bench.club, id: "0", original: "1", expires: bench.now - day),
            ])
            let vault = try await bench.open()
            #expect(try await vault.recordReceipt() == [.unlocked(Bench.club)])
            #expect(vault.isUnlocked(Bench.club))
            bench.now += 30 * day
            #expect(!vault.isUnlocked(Bench.club))
            try bench.layReceipt([.init(product: Bench.club, id: "2", original: "1", expires: bench.now + 30 * day)])
            #expect(try await vault.recordReceipt() == [.unlocked(Bench.club)])
            #expect(vault.isUnlocked(Bench.club))
        }
    }

    @Test func `a refunded purchase is revoked, and an older receipt does not restore it`() async throws {
        try await VaultBench.with { bench in
            let old = try bench.layReceipt([.init(product: Bench.sepia, id: "1"), .init(product: Bench.mono, id: "2")])
            let vault = try await bench.open()
            #expect(Set(try await vault.recordReceipt()) == [.unlocked(Bench.sepia), .unlocked(Bench.mono)])
            let later = Bench.start + 1000
            try bench.layReceipt(
                [.init(product: Bench.sepia, id: "1", cancelled: later), .init(product: Bench.mono, id: "2")], at: later
            )
            #expect(try await vault.recordReceipt() == [.revoked(Bench.sepia)])
            try old.write(to: bench.configuration().receiptURL)
            #expect(try await vault.recordReceipt() == [])
            vault.close()
            let again = try await bench.open()
            #expect(again.unlockedProducts == [Bench.mono])
            // The refund itself was taken back.
            try bench.layReceipt([.init(product: Bench.sepia, id: "1")], at: later + 1000)
            #expect(try await again.recordReceipt() == [.unlocked(Bench.sepia)])
        }
    }

    @Test func `a refunded renewal is revoked, though the period before it was not refunded`() async throws {
        try await VaultBench.with { bench in
            let day = 86_400.0
            let first = Bench.Purchase(product: Bench.club, id: "1", expires: bench.now - day)
            var renewal = Bench.Purchase(product: Bench.club, id: "2", original: "1", expires: bench.now + 30 * day)
            let paid = try bench.layReceipt([first, renewal])
            var vault = try await bench.open()
            #expect(try await vault.recordReceipt() == [.unlocked(Bench.club)])
            renewal.cancelled = bench.now
            // The second receipt shows the same refund, and does not make the vault forget it.
            for (seconds, changes) in [(1.0, [VaultChange.revoked(Bench.club)]), (2, [])] {
                try bench.layReceipt([first, renewal], at: Bench.start + seconds)
                #expect(try await vault.recordReceipt() == changes)
                #expect(!vault.isUnlocked(Bench.club))
            }
            vault.close()
            vault = try await bench.open()
            #expect(vault.report.isClean)
            try paid.write(to: bench.configuration().receiptURL)
            #expect(try await vault.recordReceipt() == [])
            #expect(!vault.isUnlocked(Bench.club))
            // A new period is paid.
            let next = Bench.Purchase(product: Bench.club, id: "3", original: "1", expires: bench.now + 20 * day)
            try bench.layReceipt([first, renewal, next], at: Bench.start + 3)
            #expect(try await vault.recordReceipt() == [.unlocked(Bench.club)])
            #expect(vault.isUnlocked(Bench.club))
        }
    }

    @Test func `a refund of one plan leaves the other plans of the group unlocked`() async throws {
        try await VaultBench.with { bench in
            let later = Bench.start + 1000
            let basic = Bench.Purchase(product: Bench.club, id: "1")
            let old = try bench.layReceipt([basic])
            var refunded = basic
            refunded.cancelled = later
            let premium = Bench.Purchase(product: Bench.mono, id: "2", original: "1")
            try bench.layReceipt([refunded, premium], at: later)
            let vault = try await bench.open()
            #expect(try await vault.recordReceipt() == [.unlocked(Bench.mono)])
            #expect(vault.unlockedProducts == [Bench.mono])
            vault.close()

            // Earlier versions noted the refund by the original transaction.
            let seal = VaultSeal(key: [UInt8](try Data(contentsOf: bench.key)), owner: "\(Bench.bundleID)\nsandbox")
            let plain = try #require(seal.open(try Data(contentsOf: bench.file), as: .vault))
            var contents = try JSONDecoder().decode(VaultContents.self, from: plain)
            #expect(contents.revoked == ["\(Bench.club) 1": later])
            contents.revoked = ["1": later]
            try seal.seal(JSONEncoder().encode(contents), as: .vault).write(to: bench.file)
            let again = try await bench.open()
            try old.write(to: bench.configuration().receiptURL)
            #expect(try await again.recordReceipt() == [])
            #expect(again.unlockedProducts == [Bench.mono])
        }
    }

    @Test func `evidence that no longer verifies is reported and ignored until it verifies again`()
        async throws
    {
        try await TemporaryDirectory.with { directory in
            let bench = try await VaultBench(directory)
            try bench.layReceipt([.init(product: Bench.sepia, id: "1")])
            let vault = try await bench.open()
            try await vault.recordReceipt()
            try await vault.record(bench.bought(Bench.coins, id: "2"))
            vault.close()
            let other = try await CertificateAuthority.open(
                directory: directory.url.appendingPathComponent("other"), at: Bench.start)
            try Data(other.receiptRoot).write(to: bench.root)
            let doubted = try await bench.open()
            #expect(doubted.unlockedProducts == [] && doubted.balance("coins") == 0)
            let products = doubted.report.incidents.map { incident -> String in
                if case .evidenceRefused(let product, _) = incident { product } else { "\(incident)" }
            }
            #expect(Set(products) == [Bench.sepia, Bench.coins])
            doubted.close()
            try Data(bench.authority.receiptRoot).write(to: bench.root)
            let again = try await bench.open()
            #expect(again.unlockedProducts == [Bench.sepia] && again.balance("coins") == 10 && again.report.isClean)
        }
    }

    // MARK: Processes

    @Test func `only one process can open the vault`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let vault = try await bench.open()
            let error = await #expect(throws: VaultError.self) { try await bench.open() }
            #expect(error?.code == .inUse)
            vault.close()
            let second = try await bench.open()
            try await second.record(bench.bought(Bench.coins, id: "1"))
            let closed = #expect(throws: VaultError.self) { try vault.spend(1, of: "coins", key: "k") }
            #expect(closed?.code == .closed)
        }
    }

    @Test func `files are readable by the owner only, and an exposed key is refused with advice`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let vault = try await bench.open()
            try await vault.record(bench.bought(Bench.coins, id: "1"))
            vault.close()
            for file in [try bench.file, try bench.mark, try bench.key] {
                let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            chmod(try bench.key.path, 0o644)
            let error = await #expect(throws: VaultError.self) { try await bench.open() }
            #expect(error?.code == .exposedKey && error?.detail.contains("chmod") == true)
        }
    }

    @Test func `a key that cannot be read is not replaced`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([.init(product: Bench.sepia, id: "1")])
            let vault = try await bench.open()
            try await vault.recordReceipt()
            vault.close()
            let key = try Data(contentsOf: bench.key)
            // A file with a lease does not open at once, not even for root: F_SETSIG and F_SETLEASE of fcntl(2), which
            // the C library shows only to those who ask for its own names. SIGURG is a signal that nobody notices.
            let descriptor = try open(bench.key.path, O_RDWR | O_CLOEXEC)
            guard fcntl(descriptor, 10, SIGURG) == 0, fcntl(descriptor, 1024, F_WRLCK) == 0 else {
                close(descriptor)
                try Test.cancel("The file system of \(bench.folder.path) gives no leases, so the file can be read.")
            }
            let error = await #expect(throws: VaultError.self) { try await bench.open() }
            close(descriptor)
            #expect(error?.code == .storage)
            #expect(try Data(contentsOf: bench.key) == key)
            let again = try await bench.open()
            #expect(again.report.isClean && again.unlockedProducts == [Bench.sepia])
        }
    }

    @Test func `a vault without roots or an app does not open`() async throws {
        try await VaultBench.with { bench in
            var configuration = try bench.configuration()
            configuration.roots = []
            let error = await #expect(throws: VaultError.self) { try await PurchaseVault(configuration) }
            #expect(error?.code == .notConfigured)
            let nobody = StoreKitConfiguration(
                store: nil, bundleIdentifier: nil, deviceFolder: bench.folder,
                sheet: AutomaticPaymentSheet(answer: .cancel, credentials: nil))
            #expect(throws: VaultError.self) { try VaultConfiguration(storeKit: nobody, grants: [:]) { Bench.start } }
        }
    }

    @Test func `an amount that is too large for an integer is refused`() async throws {
        try await VaultBench.with { bench in
            try bench.layReceipt([])
            let configuration = try bench.configuration(grants: [Bench.coins: .credit(.max / 2, of: "coins")])
            let vault = try await PurchaseVault(configuration)
            let error = await #expect(throws: VaultError.self) {
                try await vault.record(bench.bought(Bench.coins, id: "1", quantity: 3))
            }
            #expect(error?.code == .evidenceRefused)
            for id in 2...6 { try await vault.record(bench.bought(Bench.coins, id: "\(id)")) }
            #expect(vault.balance("coins") == .max)
        }
    }
}
