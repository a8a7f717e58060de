import Foundation
import Merchant
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import MerchantServer

/// A merchant whose books have credits of the sandbox apart is told to join the environments.
@Suite(.timeLimit(.minutes(1))) struct JoinedEnvironmentsTests {
    @Test(arguments: Backend.available)
    func creditsOutOfReachKeepTheServerFromStarting(_ backend: Backend) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withServerDatabase { url, prefix in
                func open(joined: Bool) async throws -> MerchantApplication {
                    let configuration = MerchantServerConfiguration(
                        dataDirectory: directory.url.appendingPathComponent("merchant"), port: 0, databaseURL: url,
                        schema: "\(prefix)_merchant", stores: [], bundleIDs: ["com.example.books"],
                        policy: MerchantPolicy(
                            environments: [.production, .sandbox], joinsEnvironments: joined), rates: nil)
                    return try await MerchantApplication.open(configuration, now: { Date() }, logger: .silent)
                }
                /// Changes what ann has.
                func adjust(_ amount: Int64, _ environment: StoreEnvironment) async throws {
                    let apart = try await open(joined: false)
                    _ = try await apart.merchant.adjust(
                        AdjustmentRequest(
                            key: UUID().uuidString, currency: "coins", amount: amount, environment: environment),
                        of: "ann")
                    await apart.close()
                }
                try await adjust(5, .production)
                await (try open(joined: true)).close()
                try await adjust(7, .sandbox)
                for _ in 0..<2 {
                    let error = await #expect(throws: MerchantServerError.self) {
                        await (try open(joined: true)).close()
                    }
                    #expect(error?.code == .invalidConfiguration)
                    for words in ["ann has 7 coins", "Start without join-environments", "adjust"] {
                        #expect(error?.detail.contains(words) == true, "\(error?.detail ?? "")")
                    }
                }
                // As the words say.
                try await adjust(-7, .sandbox)
                try await adjust(7, .production)
                let joined = try await open(joined: true)
                #expect(try await joined.merchant.balances(of: "ann", in: .sandbox).amount(of: "coins") == 12)
                await joined.close()
            }
        }
    }

    @Test func `the commands that move unspendable credits can be copied`() {
        let balance = Balance(currency: "gold coins", amount: 1_500_000_000, environment: .sandbox)
        let text = MerchantApplication.unspendable(
            balance, of: "ann's $(id)", in: URL(fileURLWithPath: "/srv/my books"), schema: "books")
        for (option, environment) in [("--take", "sandbox"), ("--give", "production")] {
            let command =
                #"cornerstore merchant adjust 'ann'\''s $(id)' \#(option) 1000000000 --currency 'gold coins' "#
                + "--environment \(environment) --data '/srv/my books' --database URL --schema books"
            #expect(text.contains("“\(command)”"), "\(text)")
        }
        let simple = MerchantApplication.unspendable(
            Balance(currency: "coins", amount: 7, environment: .sandbox), of: "ann",
            in: URL(fileURLWithPath: "/srv/books"), schema: nil)
        #expect(
            simple.contains(
                "“cornerstore merchant adjust ann --take 7 --currency coins --environment sandbox --data /srv/books”"))
    }
}
