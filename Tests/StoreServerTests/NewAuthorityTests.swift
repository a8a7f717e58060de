import Foundation
import StoreReceipts
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct NewAuthorityTests {
    private static let date = Date(timeIntervalSince1970: 1_770_000_000)

    @Test(arguments: Backend.available)
    func aStoreThatHasSoldTakesOverAnAuthorityAndMakesNone(_ backend: Backend) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let (folder, none) = (directory.url.appendingPathComponent("a"), directory.url.appendingPathComponent("b"))
            try await SharedAuthority.copy(to: folder)
            try await backend.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
                let secrets = try await StoreSecrets.open(apps, key: StoreKey())
                let error = await #expect(throws: ReceiptAuthorityError.self) {
                    _ = try await CurrentAuthority.open(secrets, folder: none, mayMake: false, at: Self.date)
                }
                #expect(error?.code == .missing)
                #expect(error?.detail.contains("start first the process with the old data directory") == true)
                let isMade = try await secrets.authority.load() != nil
                #expect(!isMade)
                // Afterwards the other finds it in the database.
                for place in [folder, none] {
                    _ = try await CurrentAuthority.open(secrets, folder: place, mayMake: false, at: Self.date)
                }
            }
        }
    }

    @Test func aTransactionInOneEnvironmentIsASale() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            let before = try await server.application.databases.haveTransactions()
            let bought = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
            let after = try await server.application.databases.haveTransactions()
            #expect(bought.status == 200 && !before && after)
        }
    }
}
