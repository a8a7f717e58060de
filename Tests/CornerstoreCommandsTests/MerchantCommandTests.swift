import Foundation
import MerchantServer
import MerchantWire
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct MerchantCommandTests {
    private static let products = """
        app: com.example.books
        products:
          - {id: coins, kind: consumable, grants: [{credits: 10, currency: coins}]}
        """

    @Test func productsKeysAndBooksAreKeptInTheDataDirectory() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let file = directory.path("products.yaml")
            try Data(Self.products.utf8).write(to: URL(fileURLWithPath: file))
            func run(_ line: String) async -> (status: Int32, output: String, errors: String) {
                await Capture.run(
                    ["merchant"] + line.split(separator: " ").map(String.init),
                    environment: ["CORNERSTORE_DATA": directory.path("data")])
            }
            #expect(await run("products load \(file)").output == "Loaded.\n")
            #expect(await run("products load \(file)").output == "No changes.\n")
            #expect(
                await run("products list").output == """
                    product  kind        grants
                    coins    consumable  10 coins

                    """)
            let json = await run("products list --json").output
            #expect(json.contains(#""revision" : "#))

            let token = await run("token --user ann")
            #expect(token.status == 0)
            #expect(token.output.split(separator: ".").count == 3)

            let key = await run("key make backend --scope users --scope ledger")
            #expect(key.status == 0 && key.output.count > 40)
            let again = await run("key make backend --scope users")
            #expect(again.status == 1 && again.errors.contains("Revoke"))
            #expect(await run("key list").output == "backend  active  ledger users\n")
            #expect(await run("key revoke backend").output == "The key backend is revoked.\n")
            #expect(await run("key revoke backend").status == 1)

            let check = await run("check")
            #expect(check.status == 0)
            #expect(check.output == "0 accounts, 0 entries; users have no credits.\nThe books balance.\n")
            let bad = await run("products load \(directory.path("none.yaml"))")
            #expect(bad.status == 1)
        }
    }

    @Test func optionsThatNameNoMerchantOrStoreAreRefused() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let none = directory.path("none")
            for line in [
                "check", "key list", "key revoke backend", "products list", "products show coins",
                "products remove coins", "content list", "webhooks dead", "webhooks replay --all", "user ann",
                "history ann",
            ] {
                let result = await Capture.run(
                    ["merchant"] + line.split(separator: " ").map(String.init) + ["--data", none])
                #expect(result.status == 2 && result.errors.contains("There is no merchant in"), "\(line)")
                #expect(!FileManager.default.fileExists(atPath: none), "\(line)")
            }
            let serve = ["merchant", "serve", "--bundle-id", "com.example.books", "--port", "0", "--data", none]
            for store in ["Apples", "ftp://store.example.com", ""] {
                let result = await Capture.run(serve + ["--store", store])
                #expect(result.status == 2 && result.errors.contains("store must be apple"), "\(store)")
            }
            let root = await Capture.run(serve + ["--store", "apple", "--root", directory.path("no.der")])
            #expect(root.status != 0)
        }
    }

    @Test func theSettingsAreThoseOfTheEnvironmentAndHaveNoSecret() async throws {
        var environment = [
            "CORNERSTORE_MERCHANT_STORE": "apple", "CORNERSTORE_MERCHANT_BUNDLE_ID": "com.example.books",
            "CORNERSTORE_MERCHANT_WEBHOOK": "https://example.com/hook?key=hidden",
            "CORNERSTORE_MERCHANT_USER_RATE": "5:7", "CORNERSTORE_WEBHOOK_SECRET": WebhookSecret.make(),
        ]
        let json = await Capture.run(["merchant", "settings", "--json"], environment: environment)
        let settings = try JSONDecoder().decode(SettingsReport.self, from: Data(json.output.utf8))
        #expect(settings.bundleIDs == ["com.example.books"] && settings.stores == ["apple"])
        #expect(settings.rates?.user == .init(burst: 7, perSecond: 5) && settings.environments == [.production])
        #expect(settings.webhook == "https://example.com/hook" && !json.output.contains("whsec"))
        let text = await Capture.run(["merchant", "settings"], environment: environment).output
        #expect(text.contains("5 a second, 7 at once") && !text.contains("hidden"), "\(text)")
        environment["CORNERSTORE_MERCHANT_USER_RATE"] = "x"
        let wrong = await Capture.run(["merchant", "settings"], environment: environment)
        #expect(wrong.status == 2 && wrong.errors.contains("user-rate"), "\(wrong.errors)")
    }
}
