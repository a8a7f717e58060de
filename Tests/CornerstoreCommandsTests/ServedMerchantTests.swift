import Foundation
import MerchantWire
import Store
import StoreServer
import TestSupport
import Testing

@testable import CornerstoreCommands
@testable import Merchant

/// The merchant inside `cornerstore serve`, as programs.
@Suite(.enabled(if: Program.folder != nil, "cornerstore is not built"), .timeLimit(.minutes(1)))
struct ServedMerchantTests {
    private static let products = """
        app: com.example.app
        products:
          - {id: com.example.app.coins, kind: consumable, grants: [{credits: 10, currency: coins}]}
        """

    private func catalog(_ directory: TemporaryDirectory) throws -> String {
        try write(RunningStore.catalog, "App.storekit", directory) + "=com.example.app"
    }

    private func write(_ text: String, _ name: String, _ directory: TemporaryDirectory) throws -> String {
        try Data(text.utf8).write(to: directory.url.appendingPathComponent(name))
        return directory.path(name)
    }

    /// Asks the merchant as a user.
    private func ask(
        _ serve: ServeProcess, _ path: String, token: String, receipt: String? = nil
    ) async throws -> PlainHTTP.Answer {
        let merchant = try #require(serve.report["merchant"])
        let body = try receipt.map { path in
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            return try JSONSerialization.data(withJSONObject: ["receipt": bytes.base64EncodedString()])
        }
        return try await PlainHTTP.send(
            body == nil ? "GET" : "POST", merchant + path, body: body, headers: [("Authorization", "Bearer \(token)")],
            limit: 1 << 20)
    }

    @Test func aStoreWithoutFilesTellsItsMerchantOfRegisteredApps() async throws {
        try await TemporaryDirectory.with { directory in
            var configuration = StoreServerConfiguration(
                dataDirectory: directory.url.appendingPathComponent("data"), catalogFiles: [], controlPort: 0,
                sandboxPort: 0, productionPort: 0, storefrontPort: 0)
            configuration.passwordCost = PasswordCost(rounds: 16)
            let both = try await StoreAndMerchant.open(
                configuration, merchant: MerchantSettings(port: 0), now: { Date() },
                logger: ServeAction.logger(.critical))
            let verifier = try #require(both.merchant).merchant.verifier
            #expect(!verifier.takes("com.example.new"))
            _ = try await both.store.managed.register(
                "com.example.new", name: nil, sellsInAppPurchases: true, by: "anna")
            #expect(verifier.takes("com.example.new"))
            await both.merchant?.close()
            await both.store.close()
        }
    }

    @Test(arguments: Backend.available)
    func whatTheStoreSellsIsRedeemedBesideIt(_ backend: Backend) async throws {
        try await backend.withServerDatabase { url, prefix in
            try await TemporaryDirectory.with { directory in
                var options = [try catalog(directory)]
                var place = ["--data", directory.path("data/merchant")]
                if let url {
                    options += ["--database", url, "--schema-prefix", prefix]
                    place += ["--database", url, "--schema", "\(prefix)_merchant"]
                }
                let serve = try await ServeProcess(options, data: directory.path("data"))
                defer { _ = serve.stop() }
                let written = try String(contentsOfFile: serve.data + "/addresses.json", encoding: .utf8).object()
                #expect(written["merchant"] as? String == serve.report["merchant"])

                func merchant(_ line: String) async throws -> ChildProcess.Result {
                    try await Program.run(["merchant"] + line.split(separator: " ").map(String.init) + place)
                }
                let receipt = directory.path("receipt")
                let bought = try await Program.run(
                    ["buy", "com.example.app.coins", "--quantity", "2", "--receipt-out", receipt, "--data", serve.data])
                #expect(bought.status == 0, "\(bought.all)")
                let token = try await Program.run(
                    ["merchant", "token", "--user", "ann", "--data", directory.path("data/merchant")]
                ).output.trimmingCharacters(in: .newlines)
                // It sells nothing yet, and follows without being started again.
                let early = try await ask(serve, "/v1/redemptions", token: token, receipt: receipt)
                #expect(String(decoding: early.body, as: UTF8.self).contains("unknown_product"))
                let made = try await merchant("key make backend --scope products")
                let key = made.output.trimmingCharacters(in: .newlines)
                let file = try write(Self.products, "products.yaml", directory)
                #expect(try await merchant("products load \(file)").output == "Loaded.\n")
                // Who asks for the whole list has it read anew; others hear of a change within a second.
                let listed = try await ask(serve, "/admin/v1/products", token: key)
                #expect(String(decoding: listed.body, as: UTF8.self).contains("com.example.app.coins"))
                if url != nil {
                    // Not into a database that nobody looks at.
                    let elsewhere = try await Program.run(["merchant", "products", "list"] + place.prefix(2))
                    #expect(elsewhere.status == 2 && elsewhere.errors.contains("--database"), "\(elsewhere.all)")
                }
                let first = try await ask(serve, "/v1/redemptions", token: token, receipt: receipt)
                #expect(first.status == 200, "\(String(decoding: first.body, as: UTF8.self))")
                let second = try await ask(serve, "/v1/redemptions", token: token, receipt: receipt)
                #expect(first.body == second.body)
                let answer = try JSONDecoder().decode(RedemptionAnswer.self, from: Data(first.body))
                let id = try #require(answer.redeemed.first).transactionID
                for line in ["transaction \(id) --app com.example.app", "transaction \(id)"] {
                    let shown = try await merchant(line)
                    #expect(shown.output.contains("/t/\(id)") && shown.output.contains("grant"), "\(shown.all)")
                }
                let balances = try await ask(serve, "/v1/balances", token: token)
                #expect(String(decoding: balances.body, as: UTF8.self).contains(#""amount":20"#))
                let check = try await merchant("check")
                #expect(check.status == 0 && check.output.contains("20 coins"), "\(check.all)")

                #expect(serve.stop() == 0)
                #expect(!FileManager.default.fileExists(atPath: serve.data + "/addresses.json"))
            }
        }
    }

    /// A product, its content and a corrected version of it reach users of a running server, by commands alone.
    @Test(arguments: Backend.available)
    func whatIsPutInIsDeliveredAtOnce(_ backend: Backend) async throws {
        try await backend.withServerDatabase { url, prefix in
            try await TemporaryDirectory.with { directory in
                var options = [try catalog(directory)]
                let folder = directory.path("data/merchant")
                var file = "data: \(folder)\n"
                if let url {
                    options += ["--database", url, "--schema-prefix", prefix]
                    file += "database: \(url)\nschema: \(prefix)_merchant\n"
                }
                let config = try write(file, "merchant.yaml", directory)
                let serve = try await ServeProcess(options, data: directory.path("data"))
                defer { _ = serve.stop() }
                func merchant(_ line: String) async throws -> String {
                    let words = line.split(separator: " ").map(String.init)
                    let result = try await Program.run(["merchant"] + words + ["--config", config])
                    #expect(result.status == 0, "\(line): \(result.errors)")
                    return result.output
                }
                let receipt = directory.path("receipt")
                let bought = try await Program.run(
                    ["buy", "com.example.app.pro", "--receipt-out", receipt, "--data", serve.data])
                #expect(bought.status == 0, "\(bought.all)")
                _ = try await merchant(
                    "products put com.example.app.pro --app com.example.app --kind nonConsumable --content issue-12")
                let token = try await merchant("token --user ann").trimmingCharacters(in: .newlines)
                let key = try await merchant("key make backend --scope products").trimmingCharacters(in: .newlines)
                // Who asks for the whole list has it read anew.
                _ = try await ask(serve, "/admin/v1/products", token: key)
                let redeemed = try await ask(serve, "/v1/redemptions", token: token, receipt: receipt)
                #expect(redeemed.status == 200, "\(String(decoding: redeemed.body, as: UTF8.self))")
                for (number, text) in ["The first version", "The second version"].enumerated() {
                    let issue = try write(text, "issue-12.epub", directory)
                    let put = try await merchant("content put issue-12 \(issue)")
                    #expect(put.contains("version  \(number + 1)\n"), "\(put)")
                    let delivered = try await ask(serve, "/v1/content/issue-12/file", token: token)
                    #expect(String(decoding: delivered.body, as: UTF8.self) == text)
                }
                let user = try await merchant("user ann")
                #expect(user.contains("content issue-12  active  com.example.app.pro"), "\(user)")
            }
        }
    }

    @Test func theMerchantSellsTheFilesProducts() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try write(Self.products, "products.yaml", directory)
            let serve = try await ServeProcess(
                [try catalog(directory), "--merchant-products", file], data: directory.path("data"))
            defer { _ = serve.stop() }
            let listed = try await Program.run(["merchant", "products", "list", "--data", serve.data + "/merchant"])
            #expect(listed.output.contains("com.example.app.coins  consumable  10 coins\n"))
        }
    }

    /// The merchant makes its own key of the store's API, and keeps it over a restart.
    @Test func anIdentifierIsRedeemedWithNothingConfigured() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try write(Self.products, "products.yaml", directory)
            let files = [try catalog(directory), "--merchant-products", file]
            let place = ["--data", directory.path("data/merchant")]
            for round in 1...2 {
                let serve = try await ServeProcess(files, data: directory.path("data"))
                defer { _ = serve.stop() }
                let bought = try await Program.run(["buy", "com.example.app.coins", "--json", "--data", serve.data])
                let id = try #require(try bought.output.object()["transactionId"] as? String, "\(bought.all)")
                let token = try await Program.run(["merchant", "token", "--user", "ann"] + place).output
                    .trimmingCharacters(in: .newlines)
                let merchant = try #require(serve.report["merchant"])
                let body = try JSONEncoder().encode(RedemptionRequest(transactionID: id))
                let answer = try await PlainHTTP.send(
                    "POST", merchant + "/v1/redemptions", body: body, headers: [("Authorization", "Bearer \(token)")],
                    limit: 1 << 20)
                #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
                let balances = try await ask(serve, "/v1/balances", token: token)
                #expect(String(decoding: balances.body, as: UTF8.self).contains("\"amount\":\(10 * round)"))
                let folder = directory.url.appendingPathComponent("data/merchant/store-keys")
                let keys = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(keys.count == 1)
                let key = folder.appendingPathComponent(try #require(keys.first))
                let attributes = try FileManager.default.attributesOfItem(atPath: key.path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            }
        }
    }

    /// Nobody can create a file in /proc, not even root.
    @Test func aKeyOfTheStoreThatCannotBeKeptIsRevoked() async throws {
        try await RunningStore.with { store in
            let merchant = store.directory.url.appendingPathComponent("merchant")
            try FileManager.default.createDirectory(at: merchant, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: merchant.appendingPathComponent(MerchantStoreKeys.folderName).path,
                withDestinationPath: "/proc/self")
            let application = store.application.store
            let keys = MerchantStoreKeys(
                application, merchant: merchant, addresses: store.addresses, logger: ServeAction.logger(.critical))
            for _ in 1...2 { #expect(await keys.access("com.example.app") == nil) }
            #expect(application.apiKeys.all.allSatisfy { $0.revokedAt != nil })
        }
    }

    /// Without being started again.
    @Test func theMerchantAcceptsAnAppThatIsAddedLater() async throws {
        func app(_ name: String) -> String {
            """
              - bundleID: com.example.\(name)
                name: \(name)
                products: [{productID: com.example.\(name).coins, type: Consumable, displayPrice: 0.99}]

            """
        }
        try await TemporaryDirectory.with { directory in
            let catalog = try write("cornerstore-catalog: 1\napps:\n" + app("one"), "catalog.yaml", directory)
            let serve = try await ServeProcess([catalog], data: directory.path("data"))
            defer { _ = serve.stop() }
            let place = ["--data", serve.data + "/merchant"]
            try Data(("cornerstore-catalog: 1\napps:\n" + app("one") + app("two")).utf8)
                .write(to: URL(fileURLWithPath: catalog), options: .atomic)
            let receipt = directory.path("receipt")
            var bought: ChildProcess.Result?
            // The store looks once a second.
            for _ in 0..<100 where bought?.status != 0 {
                bought = try await Program.run([
                    "buy", "com.example.two.coins", "--app", "com.example.two", "--receipt-out", receipt, "--data",
                    serve.data,
                ])
            }
            #expect(bought?.status == 0, "\(bought?.all ?? "")")
            let products = Self.products.replacingOccurrences(of: "com.example.app", with: "com.example.two")
            let file = try write(products, "products.yaml", directory)
            #expect(try await Program.run(["merchant", "products", "load", file] + place).status == 0)
            let token = try await Program.run(["merchant", "token", "--user", "ann"] + place).output
                .trimmingCharacters(in: .newlines)
            let answer = try await ask(serve, "/v1/redemptions", token: token, receipt: receipt)
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        }
    }

    @Test func aStoreAlone() async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try await ServeProcess([try catalog(directory), "--no-merchant"], data: directory.path("data"))
            #expect(serve.report["merchant"] == nil && serve.report["sandbox"] != nil)
            #expect(!FileManager.default.fileExists(atPath: serve.data + "/merchant"))
            #expect(serve.stop() == 0)
        }
    }

    @Test func confirmedPurchasesSurviveAKill() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try write(Self.products, "products.yaml", directory)
            let files = [try catalog(directory), "--merchant-products", file]
            let serve = try await ServeProcess(files, data: directory.path("data"))
            let receipt = directory.path("receipt")
            let bought = try await Program.run(
                ["buy", "com.example.app.coins", "--receipt-out", receipt, "--data", serve.data])
            #expect(bought.status == 0, "\(bought.all)")
            let place = ["--data", serve.data + "/merchant"]
            let token = try await Program.run(["merchant", "token", "--user", "ann"] + place).output
                .trimmingCharacters(in: .newlines)
            let first = try await ask(serve, "/v1/redemptions", token: token, receipt: receipt)
            #expect(first.status == 200)
            serve.kill()
            let next = try await ServeProcess(files, data: directory.path("data"))
            let again = try await ask(next, "/v1/redemptions", token: token, receipt: receipt)
            #expect(again.body == first.body)
            let check = try await Program.run(["merchant", "check"] + place)
            #expect(check.status == 0 && check.output.contains("users have 10 coins"), "\(check.all)")
            #expect(next.stop() == 0)
        }
    }

    /// Neither starts without the other.
    @Test func aPortThatIsTakenStopsBothAndIsNamed() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try catalog(directory)
            let serve = try await ServeProcess([file], data: directory.path("data"))
            defer { _ = serve.stop() }
            let free = ["control", "sandbox", "production", "merchant", "console"].map { ($0, "--\($0)-port") }
            for (name, option) in free {
                let taken = try #require(serve.report[name]?.split(separator: ":").last.map(String.init))
                let ports = free.flatMap { [$0.1, $0.1 == option ? taken : "0"] }
                let second = try await Program.run(
                    ["serve", file, "--data", directory.path("other"), "--json"] + ports)
                #expect(second.status == 1 && second.output.isEmpty, "\(second.all)")
                // The servers that stop may still log after it.
                let reason = try #require(
                    second.errors.split(separator: "\n").last { $0.hasPrefix("cornerstore: ") }, "\(second.errors)")
                #expect(reason.contains("Port \(taken) ") && reason.contains(option), "\(second.errors)")
                #expect(!FileManager.default.fileExists(atPath: directory.path("other/addresses.json")))
            }
            let third = try await ServeProcess([file], data: directory.path("other"))
            #expect(third.stop() == 0)
        }
    }

    @Test func anInvalidProductsFileStopsBoth() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try catalog(directory)
            let bad = try write("products: everything", "products.yaml", directory)
            let ports = ["control", "sandbox", "production", "merchant", "console"].flatMap { ["--\($0)-port", "0"] }
            let result = try await Program.run(
                ["serve", file, "--data", directory.path("data"), "--merchant-products", bad] + ports)
            #expect(result.status == 1 && result.errors.contains("products.yaml"), "\(result.all)")
            let serve = try await ServeProcess([file], data: directory.path("data"))
            #expect(serve.stop() == 0)
        }
    }
}
