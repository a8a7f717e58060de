import Foundation
import StoreServer
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct MerchantSettingsTests {
    @Test func theMerchantsDataIsSeparate() async throws {
        try await TemporaryDirectory.with { directory in
            let roots = directory.url.appendingPathComponent("roots")
            try FileManager.default.createDirectory(at: roots, withIntermediateDirectories: true)
            for root in ["receipt-root.der", "jws-root.der"] {
                try Data(root.utf8).write(to: roots.appendingPathComponent(root))
            }
            let flags: [ServeSetting: String] = [
                .data: directory.url.path, .database: "postgres://localhost/x", .schemaPrefix: "shop",
                .blobs: "s3://packages/a", .merchantPort: "0", .webhook: "https://backend.example/hook",
                .consumption: "neutral", .accountTokens: "true",
            ]
            let settings = try ServeSettings(
                flags: flags, files: ["a.storekit"], productsFiles: [],
                environment: [
                    "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush",
                    "CORNERSTORE_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                ], file: nil)
            let store = try settings.configuration()
            let merchant = try #require(try settings.merchant()).configuration(beside: store, apps: ["com.example.a"])
            #expect(merchant.dataDirectory.path == store.dataDirectory.path + "/merchant" && merchant.port == 0)
            #expect(merchant.databaseURL == store.databaseURL && merchant.schema == "shop_merchant")
            #expect(store.bucket?.prefix == "a/" && merchant.bucket?.prefix == "a/merchant/")
            #expect(merchant.bundleIDs == ["com.example.a"] && merchant.policy.environments == [.production, .sandbox])
            #expect(merchant.stores.map(\.roots.count) == [2])
            #expect(merchant.webhooks != nil && merchant.policy.sendsWebhooks)
            let answers = try #require(merchant.policy.consumption)
            #expect(answers.preference == nil && merchant.policy.setsAccountTokens)
            try FileManager.default.removeItem(at: roots)
            let error = #expect(throws: CommandError.self) {
                try MerchantSettings(port: 0).configuration(beside: store, apps: [])
            }
            #expect(error?.detail.contains("receipt-root.der") == true)
        }
    }
}
