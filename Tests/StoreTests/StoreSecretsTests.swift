import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct StoreSecretsTests {
    private static let bundles: [BundleID] = ["com.example.one", "com.example.two"]
    private static let date = Date(timeIntervalSince1970: 1_770_000_000)

    /// Gives the code of the ``StoreSecretsError`` that a function throws; nil when it throws none.
    private func code(_ body: () async throws -> some Any) async throws -> StoreSecretsError.Code? {
        do {
            _ = try await body()
            return nil
        } catch let error as StoreSecretsError {
            return error.code
        }
    }

    private func withApps(
        _ backend: Backend, _ body: (Database, StoreDatabases) async throws -> Void
    ) async throws {
        try await backend.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
            try await body(apps, StoreDatabases(apps: apps, sandbox: apps, production: apps))
        }
    }

    private func sharedSecrets(_ apps: Database) async throws -> [String] {
        try await apps.read { connection in
            try connection.query("SELECT shared_secret FROM apps ORDER BY bundle_id").map { try $0.string(0) }
        }
    }

    // MARK: Keys

    @Test(arguments: Backend.available) func theFirstStartSealsWhatIsPlain(_ backend: Backend) async throws {
        try await withApps(backend) { apps, databases async throws in
            let plain = try await AppRegistry.open(databases)
            try await plain.register(Self.bundles, at: 1)
            let secrets = plain.all.map(\.sharedSecret)
            let addressKey = RandomBytes.make(32)
            try await apps.write { _ = try ContentLibrary.keptAddressKey(orNew: addressKey, .plain, $0) }
            #expect(try await sharedSecrets(apps) == secrets)

            let key = StoreKey()
            for _ in 0..<2 {
                let sealing = try await StoreSecrets.open(apps, key: key)
                let registry = try await AppRegistry.open(databases, secrets: sealing)
                #expect(Array(registry.all.map(\.sharedSecret).prefix(2)) == secrets)
                let opened = try await apps.write { try ContentLibrary.keptAddressKey(orNew: [1], sealing, $0) }
                #expect(opened == addressKey)
                try await registry.register(["com.example.zoo"], at: 2)
                let texts = try await sharedSecrets(apps)
                #expect(texts.count == 3 && texts.allSatisfy { $0.hasPrefix("sealed:") })
            }
            let kept = try await apps.read { try $0.queryOne("SELECT secret FROM content_key")?.bytes(0) }
            #expect(kept?.count == 61)
        }
    }

    @Test(arguments: Backend.available) func onlyTheRightKeyOpens(_ backend: Backend) async throws {
        try await withApps(backend) { apps, databases async throws in
            #expect(try await StoreSecrets.open(apps, key: nil).isSealing == false)
            let key = StoreKey()
            let secrets = try await StoreSecrets.open(apps, key: key)
            try await AppRegistry.open(databases, secrets: secrets).register(Self.bundles, at: 1)
            #expect(try await code { try await StoreSecrets.open(apps, key: key) } == nil)
            #expect(try await code { try await StoreSecrets.open(apps, key: nil) } == .keyMissing)
            #expect(try await code { try await StoreSecrets.open(databases, key: nil) } == .keyMissing)
            #expect(try await code { try await StoreSecrets.open(apps, key: StoreKey()) } == .keyWrong)
            #expect(try await code { try await AppRegistry.open(databases) } == .keyMissing)
            // These databases are not held for this process, as SQLite's never are.
            #expect(try await code { try await StoreSecrets.open(databases, key: key) } == .keyUnused)
            #expect(try await code { try await StoreSecrets.plain.authority.load() != nil } == .keyMissing)
        }
    }

    @Test(arguments: Backend.available) func exchangedAndDamagedSecretsAreRefused(_ backend: Backend) async throws {
        try await withApps(backend) { apps, databases async throws in
            let secrets = try await StoreSecrets.open(apps, key: StoreKey())
            let registry = try await AppRegistry.open(databases, secrets: secrets)
            try await registry.register(Self.bundles, at: 1)
            let texts = try await sharedSecrets(apps)
            try await apps.write { connection in
                for (bundle, text) in zip(Self.bundles, texts.reversed()) {
                    try connection.execute(
                        "UPDATE apps SET shared_secret = $2 WHERE bundle_id = $1", [bundle.rawValue, text])
                }
            }
            #expect(
                try await code { try await AppRegistry.open(databases, secrets: secrets) } == .secretDamaged)
            // The registry in use stays as it was.
            #expect(try await code { try await registry.reload() } == .secretDamaged)
            #expect(registry[Self.bundles[0]]?.sharedSecret.count == 32)

            #expect(try await secrets.create("a", [1]))
            #expect(try await secrets.create("b", [2]))
            #expect(try await !secrets.create("b", [3]))
            try await apps.write { connection in
                try connection.execute(
                    """
                    UPDATE store_secrets SET sealed = (SELECT sealed FROM store_secrets WHERE name = 'a')
                    WHERE name = 'b'
                    """)
            }
            #expect(try await secrets.load("a")?.octets == [1])
            #expect(try await code { try await secrets.load("b")?.octets } == .secretDamaged)
        }
    }

    @Test(arguments: Backend.available) func aSecretIsReplacedOnceFromEachState(_ backend: Backend) async throws {
        try await withApps(backend) { apps, _ async throws in
            let secrets = try await StoreSecrets.open(apps, key: StoreKey())
            #expect(try await secrets.load("a")?.revision == nil)
            #expect(try await !secrets.replace("a", [1], ifRevision: 1))
            #expect(try await secrets.value("a") { [1] } == [1])
            #expect(try await secrets.value("a") { [2] } == [1])
            let revision = try await secrets.load("a")?.revision ?? 0
            #expect(try await secrets.replace("a", [3], ifRevision: revision))
            #expect(try await !secrets.replace("a", [4], ifRevision: revision))
            #expect(try await secrets.load("a")?.octets == [3])
        }
    }

    @Test(arguments: Backend.available) func oneOfSeveralFirstStartsIsKept(_ backend: Backend) async throws {
        try await withApps(backend) { apps, _ async throws in
            let key = StoreKey()
            let found = try await withThrowingTaskGroup(of: (isKept: Bool, text: [UInt8]).self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let secrets = try await StoreSecrets.open(apps, key: key)
                        let isKept = try await secrets.authority.create(["root.pem": "\(number)"])
                        return (isKept: isKept, text: try await secrets.value("tester") { [UInt8(number)] })
                    }
                }
                var found: [(isKept: Bool, text: [UInt8])] = []
                for try await result in group { found.append(result) }
                return found
            }
            #expect(found.filter { $0.isKept }.count == 1)
            #expect(Set(found.map { $0.text }).count == 1)
        }
    }

    @Test(arguments: Backend.available) func anotherKeySealsEverything(_ backend: Backend) async throws {
        try await withApps(backend) { apps, databases async throws in
            let (old, new) = (StoreKey(), StoreKey())
            #expect(try await code { try await StoreSecrets.reseal(apps, from: old, to: new) } == .keyUnused)
            let before = try await StoreSecrets.open(apps, key: old)
            let registry = try await AppRegistry.open(databases, secrets: before)
            try await registry.register(Self.bundles, at: 1)
            let addressKey = RandomBytes.make(32)
            try await apps.write { _ = try ContentLibrary.keptAddressKey(orNew: addressKey, before, $0) }
            _ = try await before.create("a", [1])

            #expect(try await code { try await StoreSecrets.reseal(apps, from: new, to: old) } == .keyWrong)
            // The check and one secret.
            #expect(try await StoreSecrets.reseal(apps, from: old, to: new) == 2)
            #expect(try await code { try await StoreSecrets.open(apps, key: old) } == .keyWrong)
            let after = try await StoreSecrets.open(apps, key: new)
            #expect(try await after.load("a")?.octets == [1])
            #expect(try await AppRegistry.open(databases, secrets: after).all == registry.all)
            #expect(
                try await apps.write { try ContentLibrary.keptAddressKey(orNew: [1], after, $0) } == addressKey)
        }
    }

    // MARK: Two processes

    @Test(arguments: Backend.available) func changesOfAnotherProcessAreReadAgain(_ backend: Backend) async throws {
        try await withApps(backend) { apps, databases async throws in
            let secrets = try await StoreSecrets.open(apps, key: StoreKey())
            let (one, other) = (
                try await AppRegistry.open(databases, secrets: secrets),
                try await AppRegistry.open(databases, secrets: secrets)
            )
            try await one.register(Self.bundles, at: 1)
            #expect(other.all.isEmpty)
            try await other.reload()
            #expect(other.all == one.all && other.all.count == 2)

            let (keys, otherKeys) = (try await APIKeys.open(databases), try await APIKeys.open(databases))
            let made = try await keys.make(for: Self.bundles[0], at: 2)
            #expect(otherKeys[made.key.keyID] == nil)
            try await otherKeys.reload()
            #expect(otherKeys[made.key.keyID]?.revokedAt == nil && otherKeys.all == keys.all)
            _ = try await keys.revoke(made.key.keyID, at: 3)
            try await otherKeys.reload()
            #expect(otherKeys[made.key.keyID]?.revokedAt == 3)
        }
    }

    @Test(arguments: Backend.available) func theAuthorityIsTakenOverAndReplacedForAll(_ backend: Backend) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folder = directory.url.appendingPathComponent("authority")
            try await SharedAuthority.copy(to: folder)
            let files = AuthorityFiles(directory: folder)
            let old = try await CertificateAuthority.open(files, at: Self.date)
            try await withApps(backend) { apps, _ async throws in
                let key = StoreKey()
                let one = try await StoreSecrets.open(apps, key: key).authority
                let other = try await StoreSecrets.open(apps, key: key).authority
                let first = try await CertificateAuthority.open(one, importing: files, at: Self.date)
                let second = try await CertificateAuthority.open(other, at: Self.date)
                func certificates(_ authority: CertificateAuthority) -> [[UInt8]] {
                    authority.certificates.map { $0.der }
                }
                #expect(certificates(first) == certificates(old) && certificates(second) == certificates(old))

                let rotated = try await first.rotatingLeaves(at: Self.date)
                let seen = try await second.reloaded()
                #expect(certificates(seen) == certificates(rotated))
                #expect(certificates(rotated) != certificates(old) && rotated.receiptRoot == old.receiptRoot)
                // The second has not heard of it, and begins again from the new leaves.
                let url = "http://store.example/ocsp"
                let reissued = try await second.reissuing(forOCSP: url)
                #expect(reissued.ocspURL == url && reissued.revision == rotated.revision + 1)
                let leaf = reissued.receiptSigner(for: .sandbox).certificates[0]
                #expect(leaf == rotated.receiptSigner(for: .sandbox).certificates[0])
                #expect(leaf != old.receiptSigner(for: .sandbox).certificates[0])
                // Nothing is left to do for the first.
                #expect(try await first.reissuing(forOCSP: url).revision == reissued.revision)
                // The folder still has the old leaves, and the same roots.
                _ = try await CertificateAuthority.open(one, importing: files, at: Self.date)

                let stranger = directory.url.appendingPathComponent("stranger")
                _ = try await CertificateAuthority.open(directory: stranger, at: Self.date)
                let error = await #expect(throws: ReceiptAuthorityError.self) {
                    _ = try await CertificateAuthority.open(
                        one, importing: AuthorityFiles(directory: stranger), at: Self.date)
                }
                #expect(error?.code == .differs)
            }
        }
    }
}
