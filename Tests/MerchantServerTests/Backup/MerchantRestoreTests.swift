import Backups
import BlobStorage
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant
@testable import MerchantServer

/// On SQLite, where a restore changes one file for another.
@Suite(.timeLimit(.minutes(1))) struct MerchantRestoreTests {
    private func backup(of place: MerchantPlace) throws -> MerchantBackup {
        try MerchantBackup(of: place, bucket: nil, now: { Date() }, logger: .silent)
    }

    /// A place for a merchant in a folder of the test's own.
    private func withPlace(_ body: (MerchantPlace, URL) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await body(
                MerchantPlace(
                    folder: directory.url.appendingPathComponent("books"), databaseURL: nil, schema: "unused"),
                directory.url)
        }
    }

    private func give(_ amount: Int64, to user: UserID, _ merchant: Merchant) async throws {
        _ = try await merchant.adjust(
            AdjustmentRequest(key: "\(amount)", currency: "gold", amount: amount, note: nil), of: user)
    }

    @Test func aRestoreThatFailsLeavesTheKeysThatWereThere() async throws {
        try await withPlace { place, directory async throws in
            let copy = directory.appendingPathComponent("copy")
            let file = place.folder.appendingPathComponent(TokenKeySet.fileName)
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            _ = try await TokenKeySet.open(directory: place.folder)
            let old = try Data(contentsOf: file)
            _ = try await backup(of: place).make(at: copy, withContent: true)
            try FileManager.default.removeItem(at: file)
            _ = try await TokenKeySet.open(directory: place.folder)
            let new = try Data(contentsOf: file)
            #expect(new != old)
            // The server accepts such a file when it has public keys alone.
            #expect(chmod(file.path, 0o644) == 0)

            // The database that was put together goes away in the last moment.
            let restores = place.folder.appendingPathComponent(MerchantPlace.restoreFolder)
            let spoil: @Sendable (MerchantBackup.RestoreStep) -> Void = { step in
                guard step == .proved else { return }
                #expect((try? Data(contentsOf: file)) == old)
                try? FileManager.default.removeItem(at: restores)
            }
            await #expect(throws: MerchantServerError.self) {
                try await MerchantBackup.$onStep.withValue(spoil) {
                    try await backup(of: place).restore(from: copy, replaces: true)
                }
            }
            #expect(try Data(contentsOf: file) == new)
            _ = try await backup(of: place).restore(from: copy, replaces: true)
            #expect(try Data(contentsOf: file) == old)
        }
    }

    /// The store's clock was ahead when it dated the refund.
    @Test func aRefundInTheFutureCanBeRestored() async throws {
        try await withPlace { place, directory async throws in
            let copy = directory.appendingPathComponent("copy")
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            let ahead = now + 365 * 86_400_000
            func purchase(revokedAt: Int64?) -> VerifiedPurchase {
                VerifiedPurchase(
                    anchor: "test", environment: .production, bundleID: "com.example.books", productID: "pro",
                    statedKind: .nonConsumable, transactionID: "1", originalTransactionID: "1", quantity: 1,
                    purchasedAt: now, expiresAt: nil, webOrderLineItemID: nil, revokedAt: revokedAt, revokedShare: nil,
                    isUpgraded: false, accountToken: nil, signedAt: revokedAt ?? now)
            }
            let products = """
                app: com.example.books
                products: [{id: pro, kind: nonConsumable, grants: [{entitlement: pro}]}]
                """
            try await place.withMerchant(logger: .silent) { merchant in
                try await merchant.importProducts(
                    from: try ProductsFile(yaml: Array(products.utf8), file: "products.yaml"))
                _ = try await merchant.redeem(
                    VerifiedEvidence(
                        environment: .production, bundleID: "com.example.books", purchases: [purchase(revokedAt: nil)]),
                    for: "ann")
                try await merchant.apply(
                    VerifiedNotification(
                        notificationID: "refund", type: "REFUND", subtype: nil, signedAt: ahead,
                        purchase: purchase(revokedAt: ahead), renewal: nil))
            }
            _ = try await backup(of: place).make(at: copy, withContent: true)
            _ = try await backup(of: place).restore(from: copy, replaces: true)
            let rights = try await place.withMerchant(logger: .silent) { try await $0.entitlements(of: "ann") }
            #expect(rights.entitlements.map(\.state) == [.revoked])
        }
    }

    @Test func aRestoreAndACommandKeepOffOneAnother() async throws {
        try await withPlace { place, directory async throws in
            let copy = directory.appendingPathComponent("copy")
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            _ = try await backup(of: place).make(at: copy, withContent: true)

            // Two commands are beside each other, a restore is not.
            try await place.withMerchant(logger: .silent) { merchant in
                try await place.withMerchant(logger: .silent) { try await give(2, to: "ann", $0) }
                let refusal = await #expect(throws: MerchantServerError.self) {
                    try await backup(of: place).restore(from: copy, replaces: true)
                }
                #expect(refusal?.code == .dataDirectoryInUse && refusal?.detail.contains("Another command") == true)
                try await give(4, to: "ann", merchant)
            }
            let (atWork, begun) = AsyncStream.makeStream(of: MerchantServerError?.self)
            let look: @Sendable (MerchantBackup.RestoreStep) -> Void = { step in
                guard step == .loaded else { return }
                begun.yield(#expect(throws: MerchantServerError.self) { try place.lockForCommands(.shared) })
                begun.finish()
            }
            _ = try await MerchantBackup.$onStep.withValue(look) {
                try await backup(of: place).restore(from: copy, replaces: true)
            }
            for await refusal in atWork {
                #expect(refusal?.code == .dataDirectoryInUse)
                #expect(refusal?.detail.contains("is being restored into \(place.folder.path)") == true)
            }
            let left = try await place.withMerchant(logger: .silent) { try await $0.balances(of: "ann").balances }
            #expect(left.map(\.amount) == [1])
        }
    }

    @Test func aBackupThatLiesWhereRestoresArePutTogetherStays() async throws {
        try await withPlace { place, directory async throws in
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            let restores = place.folder.appendingPathComponent(MerchantPlace.restoreFolder)
            let copy = restores.appendingPathComponent("monday")
            _ = try await backup(of: place).make(at: copy, withContent: true)
            let refusal = await #expect(throws: MerchantServerError.self) {
                try await backup(of: place).restore(from: copy, replaces: true)
            }
            #expect(refusal?.detail.contains("Move the backup somewhere else") == true)
            // Nor does another one's restore take it away.
            let other = directory.appendingPathComponent("other")
            _ = try await backup(of: place).make(at: other, withContent: true)
            _ = try await backup(of: place).restore(from: other, replaces: true)
            #expect(FileManager.default.fileExists(atPath: copy.appendingPathComponent("backup.json").path))
        }
    }

    @Test func aBackupAndARestoreKeepOffOneAnother() async throws {
        try await withPlace { place, directory async throws in
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            let lock = try place.lockForCommands(.exclusive)
            let refusal = await #expect(throws: MerchantServerError.self) {
                try await backup(of: place).make(at: directory.appendingPathComponent("copy"), withContent: true)
            }
            #expect(refusal?.code == .dataDirectoryInUse)
            lock?.release()
            _ = try await backup(of: place).make(at: directory.appendingPathComponent("copy"), withContent: true)
        }
    }

    @Test func aPlaceThatIsHalfRestoredIsNotBegunAnew() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folder = directory.url.appendingPathComponent("books")
            let place = try MerchantPlace(folder: folder, databaseURL: nil, schema: "unused")
            let half = try place.makeFolder(MerchantPlace.restoreFolder)
            let refusal = await #expect(throws: MerchantPlaceError.self) {
                try await place.withMerchant(logger: .silent) { _ in }
            }
            #expect(refusal?.code == .halfRestored && refusal?.detail.contains(half.path) == true)
            #expect(!MerchantPlace.hasDatabase(folder))
            // Without it, or with a database there, nothing is in the way.
            try FileManager.default.removeItem(at: half)
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            _ = try place.makeFolder(MerchantPlace.restoreFolder)
            try await place.withMerchant(logger: .silent) { try await give(2, to: "ann", $0) }
        }
    }

    /// Puts a text in as an item's next version.
    private func put(_ text: String, _ item: ContentItemID, in place: MerchantPlace, _ folder: URL) async throws {
        let file = folder.appendingPathComponent("\(item).txt")
        try Data(text.utf8).write(to: file)
        _ = try await place.putContent(item, from: file, mediaType: nil, bucket: nil, logger: .silent) { _ in }
    }

    private func content(of place: MerchantPlace) async throws -> [String] {
        try await place.withMerchant(logger: .silent) { merchant in
            var texts: [String] = []
            for blob in try await merchant.contentBlobs().sorted(by: { $0.digest < $1.digest }) {
                let digest = try #require(BlobDigest(blob.digest))
                let size = try #require(try await merchant.blobs.size(of: digest))
                var bytes: [UInt8] = []
                for try await piece in try await merchant.blobs.bytes(of: digest, in: 0..<size) {
                    bytes += piece.readableBytesView
                }
                texts.append(String(decoding: bytes, as: UTF8.self))
            }
            return texts
        }
    }

    @Test func contentThatWasDamagedInItsPlaceIsMended() async throws {
        try await withPlace { place, directory async throws in
            let copy = directory.appendingPathComponent("copy")
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            for name in ["one", "two", "three"] {
                try await put("All of issue \(name).", ContentItemID(name), in: place, directory)
            }
            let texts = try await content(of: place)
            _ = try await backup(of: place).make(at: copy, withContent: true)

            let folder = place.folder.appendingPathComponent(MerchantPlace.contentFolder)
            let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
                .filter { $0.hasSuffix("/\(($0 as NSString).lastPathComponent)") && $0.count > 64 }.sorted()
            try #require(files.count == 3)
            func path(_ index: Int) -> String { folder.appendingPathComponent(files[index]).path }
            // One is short, one has other bytes, one is gone.
            #expect(truncate(path(0), 3) == 0)
            let bytes = try #require(FileManager.default.contents(atPath: path(1)))
            try Data(bytes.map { ~$0 }).write(to: URL(fileURLWithPath: path(1)))
            #expect(unlink(path(2)) == 0)
            _ = try await backup(of: place).restore(from: copy, replaces: true)
            #expect(try await content(of: place) == texts)
        }
    }

    @Test func whatABackupIsMadeOfIsTheServers() async throws {
        try await withPlace { place, directory async throws in
            try await place.withMerchant(logger: .silent) { try await give(1, to: "ann", $0) }
            // A killed backup's folder goes, another's that is being made stays, and so does what is none.
            let backups = directory.appendingPathComponent("backups")
            func left(_ name: String, hours: Double) throws -> String {
                let name = ".\(name).\(UUID().uuidString).new"
                let folder = backups.appendingPathComponent(name)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -3_600 * hours)], ofItemAtPath: folder.path)
                return name
            }
            _ = try left("monday", hours: 25)
            let recent = try left("tuesday", hours: 23)
            try FileManager.default.createDirectory(
                at: backups.appendingPathComponent(".mine.new"), withIntermediateDirectories: true)
            let running = try Backups.StagingFolder(
                beside: backups, name: ".x.\(UUID().uuidString).new"
            ) { _ in false }
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -100_000)], ofItemAtPath: running.url.path)
            // Public keys are no secret.
            let pem = TokenSamples.p256.publicKey.pemRepresentation
            let keys = try JSONSerialization.data(withJSONObject: [
                "issuer": "login", "audience": "app", "keys": [["id": "ec", "algorithm": "ES256", "publicKey": pem]],
            ])
            try keys.write(to: place.folder.appendingPathComponent(TokenKeySet.fileName))
            let before = ".monday.\(UUID().uuidString).new"
            let inside = try place.makeFolder(before)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -100_000)], ofItemAtPath: inside.path)
            _ = try await backup(of: place).make(
                at: place.folder.appendingPathComponent("sunday"), withContent: true)
            #expect(!FileManager.default.fileExists(atPath: inside.path))
            let copy = backups.appendingPathComponent("tuesday")
            _ = try await backup(of: place).make(at: copy, withContent: true)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: backups.path).sorted()
                    == [".mine.new", recent, running.url.lastPathComponent, "tuesday"].sorted())
            #expect(FileManager.default.contents(atPath: copy.path + "/" + TokenKeySet.fileName) == keys)
            // It looks as before: who puts content in here is told when a server keeps it in a bucket.
            #expect(!MerchantPlace.hasContent(place.folder))

            try await put("Issue one.", "one", in: place, directory)
            try FileManager.default.removeItem(at: place.folder.appendingPathComponent(MerchantPlace.contentFolder))
            let error = await #expect(throws: MerchantServerError.self) {
                try await backup(of: place).make(at: backups.appendingPathComponent("wednesday"), withContent: true)
            }
            #expect(error?.detail.contains("--blobs") == true, "\(error?.detail ?? "")")
            _ = try await backup(of: place).make(at: backups.appendingPathComponent("thursday"), withContent: false)
        }
    }
}
