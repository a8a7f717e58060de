import Foundation
import Merchant
import MerchantWire
import TestSupport
import Testing

@testable import MerchantServer

/// On SQLite, where a restore changes one file for another.
@Suite struct MerchantRestoreTests {
    private func backup(of place: MerchantPlace) throws -> MerchantBackup {
        try MerchantBackup(of: place, bucket: nil, now: { Date() }, logger: .silent)
    }

    private func give(_ amount: Int64, to user: UserID, _ merchant: Merchant) async throws {
        _ = try await merchant.adjust(
            AdjustmentRequest(key: "\(amount)", currency: "gold", amount: amount, note: nil), of: user)
    }

    @Test func aRestoreAndACommandKeepOffOneAnother() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let place = try MerchantPlace(
                folder: directory.url.appendingPathComponent("books"), databaseURL: nil, schema: "unused")
            let copy = directory.url.appendingPathComponent("copy")
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
                #expect(
                    refusal?.detail.contains("is being restored into \(place.folder.path) (process \(getpid()))")
                        == true)
            }
            let left = try await place.withMerchant(logger: .silent) { try await $0.balances(of: "ann").balances }
            #expect(left.map(\.amount) == [1])
        }
    }

    @Test func aPlaceThatIsHalfRestoredIsNotBegunAnew() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folder = directory.url.appendingPathComponent("books")
            let place = try MerchantPlace(folder: folder, databaseURL: nil, schema: "unused")
            let half = try place.makeFolder(MerchantPlace.restoreFolder)
            let refusal = await #expect(throws: MerchantServerError.self) {
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
}
