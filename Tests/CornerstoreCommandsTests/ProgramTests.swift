import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.enabled(if: Program.folder != nil, "cornerstore is not built"), .timeLimit(.minutes(1))) struct ProgramTests {
    private static let storekitFiles: [String] = {
        guard let folder = Fixtures.url("storekit"),
            let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        else {
            return []
        }
        return names.filter { $0.hasSuffix(".storekit") }.sorted().map { folder.appendingPathComponent($0).path }
    }()

    private func catalog(_ directory: TemporaryDirectory) throws -> String {
        try Data(RunningStore.catalog.utf8).write(to: directory.url.appendingPathComponent("App.storekit"))
        return directory.path("App.storekit")
    }

    @Test(.enabled(if: !storekitFiles.isEmpty, "no fixtures"), arguments: storekitFiles)
    func everyFileIsServedAndBoughtFrom(_ file: String) async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try await ServeProcess([file], data: directory.path("data"))
            defer { _ = serve.stop() }
            let apps = try await Program.run(["app", "list", "--data", serve.data, "--json"]).output.objects()
            let products = try #require(apps.first?["productIds"] as? [String])
            let product = try #require(products.first)
            let bought = try await Program.run(["buy", product, "--data", serve.data, "--json"])
            #expect(bought.status == 0, "\(bought.all)")
            let report = try bought.output.object()
            let verified = try await Program.run(
                ["receipt", "verify", report["receiptFile"] as? String ?? "", "--data", serve.data, "--json"])
            #expect(verified.status == 0, "\(verified.all)")
            let inApp = try verified.output.object()["inApp"] as? [[String: String]]
            #expect(inApp?.contains { $0["transaction_id"] == report["transactionId"] as? String } == true)
        }
    }

    @Test func aPurchaseFromTheShell() async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try await ServeProcess(
                [try catalog(directory) + "=com.example.app"], data: directory.path("data"))
            defer { _ = serve.stop() }
            let receipt = directory.path("receipt")
            let options = ["--data", serve.data, "--json"]
            let coins = try await Program.run(
                ["buy", "com.example.app.coins", "--quantity", "3", "--receipt-out", receipt] + options)
            #expect(coins.status == 0, "\(coins.all)")
            let report = try coins.output.object()
            let id = try #require(report["transactionId"] as? String)
            #expect(
                coins.output == """
                    {
                      "originalTransactionId" : "\(id)",
                      "productId" : "com.example.app.coins",
                      "quantity" : 3,
                      "receiptFile" : "\(receipt)",
                      "state" : "purchased",
                      "transactionId" : "\(id)"
                    }

                    """)
            let ledger = try await Program.run(["transaction", "list"] + options).output.objects()
            #expect(ledger.map { $0["transactionId"] as? String } == [id])
            #expect(ledger.first?["finishedDate"] is String)
            #expect(ledger.first?["price"] as? String == "2.97")
            let refunded = try await Program.run(["transaction", "refund", id, "--reason", "app", "--data", serve.data])
            #expect(refunded.output == "Refunded. 2.97 USD for com.example.app.coins \(id).\n", "\(refunded.all)")
            #expect(
                try await Program.run(["receipt", "verify", receipt, "--bundle-id", "com.example.app"] + options).status
                    == 0)

            // The payment names the user, as the documentation says.
            let named = try await Program.run(
                ["buy", "com.example.app.coins", "--username", "6f1c0c8e-2b8e-4c39-9d1b-0d2f6a5b8c11"] + options)
            #expect(
                try named.output.object()["applicationUsername"] as? String == "6f1c0c8e-2b8e-4c39-9d1b-0d2f6a5b8c11",
                "\(named.all)")

            // Bought again, a non-consumable is delivered again.
            let pro = try await Program.run(["buy", "com.example.app.pro"] + options).output.object()
            let again = try await Program.run(["buy", "com.example.app.pro"] + options).output.object()
            #expect(again["originalTransactionId"] as? String == pro["originalTransactionId"] as? String)
        }
    }

    @Test func aRestoreFromTheShell() async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try await ServeProcess(
                [try catalog(directory) + "=com.example.app"], data: directory.path("data"))
            defer { _ = serve.stop() }
            let options = ["--data", serve.data, "--json"]
            func run(_ line: String) async throws -> [String: Any] {
                let result = try await Program.run(line.split(separator: " ").map(String.init) + options)
                #expect(result.status == 0, "\(line): \(result.all)")
                return try result.output.object()
            }
            func list(_ name: String, _ report: [String: Any]) -> [[String: Any]] {
                report[name] as? [[String: Any]] ?? []
            }
            let pro = try await run("buy com.example.app.pro")
            _ = try await run("buy com.example.app.coins")
            let second = "--device \(directory.path("second"))"
            var report = try await run("restore --keep \(second)")
            let kept = try #require(list("restored", report).first)
            #expect(list("restored", report).count == 1)
            #expect(kept["productId"] as? String == "com.example.app.pro" && kept["state"] as? String == "restored")
            #expect(kept["originalTransactionId"] as? String == pro["transactionId"] as? String)
            #expect(kept["transactionId"] as? String != pro["transactionId"] as? String)
            let receipt = try #require(report["receiptFile"] as? String)
            #expect(try await Program.run(["receipt", "verify", receipt] + options).status == 0)

            // It waits in the queue of that device, and of no other, until it is finished.
            report = try await run("queue \(second)")
            #expect(
                list("transactions", report).map { $0["transactionId"] as? String } == [
                    kept["transactionId"] as? String
                ])
            #expect(list("transactions", try await run("queue")).isEmpty)
            report = try await run("queue --finish \(second)")
            #expect(list("finished", report).count == 1 && list("transactions", report).isEmpty)
            #expect(list("transactions", try await run("queue \(second)")).isEmpty)
            #expect(list("restored", try await run("restore --username nobody \(second)")).isEmpty)
            #expect(list("restored", try await run("restore \(second)")).count == 1)
            // Nothing was bought.
            let ledger = try await Program.run(["transaction", "list"] + options).output.objects()
            #expect(ledger.count == 2)
            let refused = try await Program.run(["restore", "--app", "com.other", "--data", serve.data])
            #expect(refused.status == 1 && refused.errors.contains("com.example.app"))
            let text = try await Program.run(["restore", "--data", serve.data])
            #expect(text.output.contains("Restored one purchase.") && text.output.contains("com.example.app.pro"))
        }
    }

    @Test func refusalsOfAPurchase() async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try await ServeProcess(
                [try catalog(directory) + "=com.example.app"], data: directory.path("data"))
            defer { _ = serve.stop() }
            func run(_ line: String) async throws -> ChildProcess.Result {
                try await Program.run(line.split(separator: " ").map(String.init) + ["--data", serve.data])
            }
            func refused(_ line: String, _ status: Int32, _ words: String) async throws {
                let result = try await run(line)
                #expect(result.status == status, "\(line): \(result.all)")
                #expect(
                    result.output.isEmpty && result.errors.contains(words)
                        && result.errors.split(separator: "\n").contains { $0.hasPrefix("cornerstore: ") },
                    "\(result.errors)")
            }
            let password = directory.path("password")
            try Data("wrong-password\n".utf8).write(to: URL(fileURLWithPath: password))
            try await refused("buy com.example.app.none", 1, "com.example.app.coins")
            try await refused("buy com.example.app.coins --app com.other", 1, "com.example.app")
            try await refused("buy com.example.app.coins --environment production", 2, "--account")
            try await refused("buy com.example.app.coins --account tester@sandbox.example", 2, "--password-file")
            let other = directory.path("other")
            try await refused(
                "buy com.example.app.coins --account tester@sandbox.example --password-file \(password) --device \(other)",
                1, "password")
            #expect(try await run("payment-rule add no").status == 0)
            try await refused("buy com.example.app.coins", 1, "declined")
            #expect(try await run("payment-rule clear").status == 0)
            #expect(try await run("account change tester@sandbox.example --asks-to-buy on").status == 0)
            try await refused("buy com.example.app.coins", 1, "waiting for approval")
            let pending = try await run("purchase pending --json").output.objects()
            let key = try #require(pending.first?["key"] as? String)
            #expect(try await run("purchase approve \(key)").status == 0)
            #expect(try await run("account change tester@sandbox.example --asks-to-buy off").status == 0)
            let next = try await run("buy com.example.app.coins --json").output.object()
            #expect((next["alsoFinished"] as? [String])?.count == 1)
            let ledger = try await run("transaction list --json").output.objects()
            #expect(ledger.count == 2)
            #expect(ledger.allSatisfy { $0["finishedDate"] is String })
        }
    }

    @Test func oneProcessHoldsADataDirectory() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try catalog(directory)
            let serve = try await ServeProcess([file], data: directory.path("data"))
            let second = try await Program.run(["serve", file, "--data", serve.data])
            #expect(second.status == 1)
            #expect(second.errors.contains("in use"))
            #expect(serve.stop() == 0)
            #expect(!FileManager.default.fileExists(atPath: serve.data + "/addresses.json"))
            // Its keys and its tester outlive it.
            let tester = try Data(contentsOf: URL(fileURLWithPath: serve.data + "/sandbox-tester.json"))
            let third = try await ServeProcess([file], data: serve.data)
            #expect(try Data(contentsOf: URL(fileURLWithPath: serve.data + "/sandbox-tester.json")) == tester)
            #expect(third.stop() == 0)
        }
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await TemporaryDirectory.with { directory in
            let file = try catalog(directory)
            let serve = try await ServeProcess([file], data: directory.path("data"))
            defer { _ = serve.stop() }
            let port = try #require(serve.report["sandbox"]?.split(separator: ":").last.map(String.init))
            let second = try await Program.run(
                [
                    "serve", file, "--data", directory.path("other"), "--control-port", "0", "--sandbox-port", port,
                    "--production-port", "0", "--storefront-port", "0", "--merchant-port", "0", "--no-console",
                ])
            #expect(second.status == 1)
            #expect(second.errors.split(separator: "\n").last?.contains("--sandbox-port") == true, "\(second.errors)")
        }
    }

    /// The samples of a demo, and its steps. Together they are the whole demo, which one test would show for half a
    /// minute of the processor's time.
    private static let demos: [(samples: [String], steps: Int)] = [
        (["monkey-credits"], 11), (["photo-filters", "book-chapters"], 7), (["server-books", "cross-promotion"], 11),
        (["magazine"], 7),
    ]

    @Test(arguments: demos.map(\.samples)) func theDemonstrationSucceeds(_ samples: [String]) async throws {
        try await TemporaryDirectory.with { directory in
            let data = directory.url.appendingPathComponent("demo")
            try await SharedAuthority.copy(to: data.appendingPathComponent("authority"))
            let demo = ["demo", "--once", "--json", "--data", data.path] + samples.flatMap { ["--sample", $0] }
            let result = try await Program.run(demo)
            let report = try result.output.object()
            #expect(result.status == 0, "\(result.all)")
            #expect(report["passed"] as? Bool == true)
            let steps = try #require(report["steps"] as? [[String: Any]])
            #expect(steps.count == Self.demos.first { $0.samples == samples }?.steps)
            #expect(
                steps.allSatisfy {
                    ($0["checks"] as? [[String: Any]])?.allSatisfy { $0["passed"] as? Bool == true } == true
                })
            #expect(result.errors.isEmpty)
            // A second demo cannot buy the filter or use the free week again.
            let second = try await Program.run(demo)
            #expect(second.status == 2 && second.output.isEmpty, "\(second.all)")
            #expect(second.errors.contains(data.path) && second.errors.contains("--data"), "\(second.errors)")
        }
    }

    @Test func `a demo on pages prints its document when an app fails`() async throws {
        try await TemporaryDirectory.with { directory in
            let data = directory.url.appendingPathComponent("demo")
            try await SharedAuthority.copy(to: data.appendingPathComponent("authority"))
            let programs = directory.url.appendingPathComponent("programs")
            try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
            for sample in DemoSample.allCases {
                // The demo prepares the pages with this program. It runs on, and must not hold up the failure.
                let real = try #require(Program.folder).appendingPathComponent(sample.rawValue).path
                let program = sample == .serverBooks ? real : "/bin/false"
                try FileManager.default.createSymbolicLink(
                    atPath: programs.appendingPathComponent(sample.rawValue).path, withDestinationPath: program)
            }
            let result = try await Program.run(
                ["demo", "--web", "--json", "--data", data.path, "--programs", programs.path])
            #expect(result.status == 1, "\(result.all)")
            let report = try result.output.object()
            let problem = try #require(report["problem"] as? String, "\(result.all)")
            #expect(report["passed"] as? Bool == false && problem.contains("ended with exited(1)"))
            #expect(result.errors.contains(problem))
        }
    }
}
