import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite("Commands for what the control port shows", .timeLimit(.minutes(1))) struct OperatorCommandTests {
    private static let tester = "tester@sandbox.example"

    /// Buys as an app does. StoreKit's queue is one for a process, so each purchase is one of its own.
    private static func buy(_ product: String, at store: RunningStore) async throws -> ChildProcess.Result {
        try await Program.run(["buy", product, "--data", store.data, "--json"])
    }

    @Test func aPurchaseIsFoundShownAndSaved() async throws {
        try await RunningStore.with { store async throws in
            let bought = try await Self.buy("com.example.app.pro", at: store).output.object()
            let id = try #require(bought["transactionId"] as? String)
            let shown = try await store.run("transaction show \(id) --json").output.object()
            #expect(shown["email"] as? String == Self.tester)
            #expect(await store.run("transaction show \(id)").output.contains("sandbox-"))
            let hits = try await store.run("search \(id) --json").output.objects()
            #expect(hits.map { $0["kind"] as? String } == ["transaction"])
            let file = store.directory.path("saved.receipt")
            for line in [
                "transaction receipt \(id) --out \(file)",
                "account receipt \(Self.tester) --app com.example.app --out \(file)",
            ] {
                #expect(await store.run(line).status == 0, "\(line)")
                let data = try Data(contentsOf: URL(fileURLWithPath: file))
                #expect(data.count > 500, "\(line)")
            }
            let finished = try await store.run("transaction list --kind nonConsumable --state finished --json").output
                .objects()
            #expect(finished.map { $0["transactionId"] as? String } == [id])
            #expect(await store.run("transaction list --state lost").status == 2)
        }
    }

    @Test func anAttemptThatFailsIsListed() async throws {
        try await RunningStore.with { store async throws in
            #expect(await store.run("payment-rule add once --count 1").status == 0)
            #expect(await store.run("payment-rule add other --minimum 1000").status == 0)
            // An empty name does not stand for all rules.
            let empty = await Capture.run(
                ["payment-rule", "remove", ""], environment: ["CORNERSTORE_DATA": store.data])
            #expect(empty.status == 2 && empty.errors.contains("empty"))
            #expect(try await Self.buy("com.example.app.coins", at: store).status == 1)
            let attempts = try await store.run("attempt list --account \(Self.tester) --json").output.objects()
            #expect(attempts.map { $0["state"] as? String } == ["declined"])
            #expect(await store.run("attempt").output.contains("declined"))
            #expect(!(await store.run("payment-rule remove other").output.contains("other")))
            #expect(await store.run("payment-rule remove other").status == 1)
        }
    }

    @Test func anAccountIsShownSignedOutAndCleared() async throws {
        try await RunningStore.with { store async throws in
            #expect(try await Self.buy("com.example.app.pro", at: store).status == 0)
            #expect(await store.run("promote com.example.app.coins --account \(Self.tester)").status == 0)
            let shown = await store.run("account show \(Self.tester)").output
            #expect(shown.contains("Owned") && shown.contains("com.example.app.pro") && shown.contains("Promotions"))
            let waiting = try await store.run("promotion list --account \(Self.tester) --json").output.objects()
            let promotion = try #require(waiting.first?["promotionId"] as? String)
            #expect(
                await store.run("promotion withdraw \(promotion) --account \(Self.tester)").output
                    == "No promoted purchase waits.\n")
            let listed = try await store.run("account list --start TEST --json").output.objects()
            #expect(listed.map { $0["email"] as? String } == [Self.tester])
            #expect(listed.first?["lastPurchaseDate"] is String)
            #expect(await store.run("account list --flag locked").output == "No accounts in sandbox.\n")
            #expect(await store.run("account sign-out \(Self.tester)").output.hasPrefix("Signed out. 1 "))
            let cleared = try await store.run("account clear-history \(Self.tester) --json").output.object()
            #expect(cleared["transactions"] as? Int == 1)
            #expect(await store.run("transaction").output == "No transactions in sandbox.\n")
            let refused = await store.run("account clear-history nobody@example.com")
            #expect(refused.status == 1 && refused.errors.contains("No account"))
        }
    }

    @Test func theCatalogAndItsSecretsAreShown() async throws {
        try await RunningStore.with { store async throws in
            let app = try await store.run("app show com.example.app --json").output.object()
            #expect((app["products"] as? [[String: Any]])?.count == 2)
            let one = await store.run("app show com.example.app --product com.example.app.pro").output
            #expect(one.contains("4.99 USD") && one.contains("line") && !one.contains("coins"))
            #expect(await store.run("app problems").output.contains("No problems."))
            #expect(await store.run("app grace com.example.none").status == 1)
            let secret = await store.run("app secret com.example.app").output.trimmingCharacters(in: .newlines)
            #expect(await store.run("app list").output.contains(secret) && secret.count == 32)
            let tester = try String(contentsOfFile: store.data + "/sandbox-tester.json", encoding: .utf8).object()
            #expect(await store.run("server tester").output.contains(try #require(tester["password"] as? String)))
        }
    }

    @Test func faultsAndCodesAreTakenBackOneByOne() async throws {
        try await RunningStore.with { store async throws in
            #expect(await store.run("fault order purchases paymentNotAllowed --count 2").status == 0)
            #expect(await store.run("fault order finish 503").status == 0)
            #expect(try await Self.buy("com.example.app.coins", at: store).status == 1)
            #expect(await store.run("fault hits").output.contains("paymentNotAllowed"))
            let left = await store.run("fault remove purchases").output
            #expect(left.contains("finish") && !left.contains("purchases"))
            #expect(await store.run("fault choices").output.contains("cut-after:BYTES"))
            let code = await store.run("code add com.example.app.pro").output.trimmingCharacters(in: .newlines)
            #expect(await store.run("code withdraw \(code)").status == 0)
            #expect(await store.run("code list").output == "No codes.\n")
            #expect(await store.run("code withdraw \(code)").status == 1)
        }
    }

    @Test func keysAreMadeListedAndRevoked() async throws {
        try await RunningStore.with { store async throws in
            let file = store.directory.path("club.p8")
            let made = try await store.run("key make --app com.example.app --out \(file) --json").output.object()
            let key = try #require(made["keyId"] as? String)
            #expect(made["keyFile"] as? String == file && made["bundleId"] as? String == "com.example.app")
            #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("-----BEGIN PRIVATE KEY-----"))
            let again = await store.run("key make --app com.example.app --out \(file)")
            #expect(again.status == 1 && again.errors.contains("exists already"))
            #expect(await store.run("key make --app com.example.none --out \(file).other").status == 1)
            #expect(await store.run("key").output.contains(key))
            #expect(await store.run("key revoke \(key)").output == "The key \(key) is revoked.\n")
            #expect(await store.run("key revoke nothing").status == 1)
        }
    }

    @Test func notificationsAreSetTestedListedAndSentAgain() async throws {
        try await RunningStore.with { store async throws in
            #expect(await store.run("notification").output == "No notifications in sandbox.\n")
            #expect(await store.run("notification test").status == 1)
            #expect(await store.run("notification url set http://example.com").status == 1)
            let url = await store.run("notification url set http://127.0.0.1:1/a --redirect https://b.example").output
            #expect(url.contains("http://127.0.0.1:1/a") && url.contains("https://b.example"), "\(url)")
            let sent = try await store.run("notification test --json").output.object()
            let id = try #require(sent["notificationUUID"] as? String)
            #expect(sent["notificationType"] as? String == "TEST" && sent["bundleId"] as? String == "com.example.app")
            #expect(await store.run("notification list").output.contains(id))
            #expect(await store.run("notification list --type TEST").output.contains(id))
            #expect(await store.run("notification list --type REFUND").output == "No notifications in sandbox.\n")
            #expect(await store.run("notification list --type LOST").status == 1)
            #expect(await store.run("notification show \(id)").output.contains("TEST"))
            let resent = try await store.run("notification resend \(id) --json").output.object()
            #expect(resent["state"] as? String == "waiting" && resent["notificationUUID"] as? String == id)
            #expect(await store.run("notification show nothing").status == 1)
            let sample = try await store.run("notification sample RESCIND_CONSENT --json").output.object()
            #expect(sample["isSample"] as? Bool == true && sent["isSample"] as? Bool == false)
            #expect(await store.run("notification list").output.contains("RESCIND_CONSENT (sample)"))
            let refused = await store.run("notification sample DID_RENEW/BILLING_RECOVERY")
            #expect(refused.status == 1 && refused.errors.contains("cornerstore subscription recover ACCOUNT"))
            #expect(await store.run("notification sample SOMETHING").errors.contains("EXTERNAL_PURCHASE_TOKEN/CREATED"))
            let old = try await store.run("notification url set http://127.0.0.1:1/a --v1 --json").output.object()
            #expect(old["version"] as? Int == 1)
            #expect(await store.run("notification test").status == 1)
            #expect(await store.run("notification url remove").output == "Removed.\n")
            #expect(await store.run("notification url").output.hasPrefix("No app of sandbox"))
        }
    }

    @Test func rateLimitsAreSetShownAndEnded() async throws {
        try await RunningStore.with { store async throws in
            #expect(await store.run("rate-limit").output == "Nothing is limited in sandbox.\n")
            let apples = try await store.run("rate-limit apple --json").output.object()
            let numbers = try #require(apples["requestsPerHour"] as? [String: Int])
            #expect(numbers.count == 11 && numbers["history"] == 18_000 && numbers["extendAll"] == 360)
            #expect(apples["bundleId"] as? String == "com.example.app")
            #expect(await store.run("rate-limit set order 3 --app com.example.app").status == 0)
            let shown = await store.run("rate-limit show").output
            #expect(shown.contains(/order +3\n/) && shown.contains(/history +18000\n/), "\(shown)")
            #expect(await store.run("rate-limit --environment production").output.hasPrefix("Nothing is limited"))
            #expect(await store.run("rate-limit apple --app com.example.none").status == 1)
            #expect(await store.run("rate-limit off").output == "Nothing is limited.\n")
            #expect(try await store.run("rate-limit --json").output.objects().isEmpty)
        }
    }

    @Test func theServerIsShown() async throws {
        try await RunningStore.with { store async throws in
            let settings = try await store.run("server settings --json").output.object()
            #expect((settings["addresses"] as? [String: String])?["control"] == store.addresses.control)
            #expect(await store.run("server").output.contains("SQLite"))
            #expect(await store.run("transaction show 1").status == 1)
            #expect(
                await store.run("server requests --limit 1").output.contains("/control/v1/{environment}/transactions"))
            #expect(await store.run("server sheets").output == "No payment sheet waits.\n")
            #expect(await store.run("clock freeze").status == 0)
            let audit = try await store.run("server audit --json").output.objects()
            #expect(audit.map { $0["operation"] as? String } == ["PUT /control/v1/{environment}/clock"])
            #expect(audit.first?["operatorName"] as? String == "command line")
        }
    }

    @Test func eventsAreFollowed() async throws {
        try await RunningStore.with { store async throws in
            let hasEnded = Mutex(false)
            async let followed = {
                let result = await store.run("events --count 2 --json")
                hasEnded.withLock { $0 = true }
                return result
            }()
            // A change that comes before the command follows is not told to it. The first event may be the rest of one
            // change, its entry in the audit log.
            while !hasEnded.withLock({ $0 }) { #expect(await store.run("clock advance 1h").status == 0) }
            let result = await followed
            #expect(result.status == 0 && result.output.contains("sandbox.clock"), "\(result)")
            #expect(await store.run("events --count 0").status == 2)
            let stopping = try RawServer { connection, _ in
                _ = connection.read()
                connection.write(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nevent: changed\ndata: {\"topics\":[\"catalog\"]}\n\n")
            }
            defer { stopping.close() }
            let ended = await store.run("events --count 2 --control \(stopping.url)")
            #expect(ended.status == 1 && ended.output == "catalog\n" && ended.errors.contains("ended the connection"))
        }
    }

    /// The store finishes open requests before it stops, so a stream has to end by itself.
    @Test func eventsEndWhenTheStoreStops() async throws {
        let (texts, tell) = AsyncStream.makeStream(of: String.self)
        try await RunningStore.with { store async throws in
            let port = UInt16(URL(string: store.addresses.control)?.port ?? 0)
            let (connected, isConnected) = AsyncStream.makeStream(of: Void.self)
            Task {
                let text = try? await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write("GET /control/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    let head = connection.read(until: "retry: 1000")
                    isConnected.finish()
                    return head + connection.read(until: "\r\n0\r\n\r\n")
                }
                tell.yield(text ?? "")
                tell.finish()
            }
            for await _ in connected {}
        }
        var all = ""
        for await text in texts { all += text }
        #expect(all.hasPrefix("HTTP/1.1 200") && all.hasSuffix("0\r\n\r\n"), "\(all)")
    }
}
