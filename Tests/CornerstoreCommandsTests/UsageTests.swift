import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct UsageTests {
    @Test(arguments: [
        "bogus", "buy", "buy a --quantity 0", "buy a --quantity 11", "buy a --environment mars", "clock set",
        "clock set 2026-02-30T12:00:00Z", "clock set 2026-01-31T25:00:00Z",
        "clock set yesterday",
        "clock advance soon",
        "clock advance 3x", "fault order", "fault order purchases many", "serve a.storekit --sandbox-port many",
        "receipt verify",
        "transaction list --limit 0", "transaction list --limit 1001", "purchase approve not-a-key",
        "account change a@example.com",
        "account change a@example.com --payments maybe", "catalog convert a --to xml", "catalog check", "demo --never",
        "clock --control nonsense", "serve --bundle-id com.example", "product create gadget a", "product submit",
        "app set", "app checklist tax", "app group 1", "product history --limit 0", "serve =com.example",
        "serve a.storekit b.storekit --bundle-id com.example",
        "serve a.storekit --merchant-port 65536", "serve a.storekit --node 64", "serve a.storekit --drain-delay 61",
        "serve a.storekit --password-cost 8", "serve a.storekit --password-cost 1000",
        "serve a.storekit --password-cost 262144",
        "serve a.storekit --sandbox-port 65536",
        "serve a.storekit --log-level loud", "serve a.storekit --log-format xml",
        "serve a.storekit --user-guess-rate 0", "merchant serve --store apple --address-guess-rate often",
        "serve a.storekit --consumption maybe", "serve a.storekit --samples",
        "serve a.storekit --samples --consumption silent",
        "serve a.storekit --production-renewal-lead 25h", "serve a.storekit --sandbox-renewal-lead soon",
        "serve a.storekit --production-retry-days 60", "serve a.storekit --sandbox-retry-days 3,2",
        "serve a.storekit --database mysql://x", "fault order finish 503 --count 0",
        "payment-rule add a --count 0", "payment-rule add a --minimum -5",
        "content init", "content init a/b", "content check a --above first",
        "content build a --version 1.x",
        "review show not-an-id", "review list --limit 0", "review list --limit 201", "review list --item x",
        "review answer 8C5B3A5E-0000-0000-0000-000000000000", "review hide 8C5B3A5E-0000-0000-0000-000000000000",
        "review answer 8C5B3A5E-0000-0000-0000-000000000000 Thanks --remove",
        "merchant serve --port 65536", "merchant serve --store-data /nonexistent", "merchant serve --conflict never",
        "merchant token", "merchant key make a", "merchant key make a --scope everything",
        "merchant check --database mysql://x", "merchant check --schema A-B",
        "merchant serve --refunds never", "merchant serve --log-level loud", "merchant products put a",
        "merchant products put a --kind gadget --credits 1:x",
        "merchant products put a --kind consumable --credits 100",
        "merchant products put a --kind consumable --credits x:gold",
        "merchant products put a --kind consumable --credits 1:gold:soon",
        "merchant products put a --on-sale --off-sale", "merchant products show", "merchant content put issue-12",
        "merchant webhooks replay", "merchant webhooks replay a --all", "merchant user",
        "merchant history ann --before 0", "merchant adjust ann --give 1", "merchant adjust ann --currency gold",
        "merchant adjust ann --currency gold --give 1 --take 1", "merchant notifications --limit 0", "key make",
        "key revoke", "notification list --limit 0", "notification list --limit 201",
        "notification list --state lost", "notification show", "notification resend", "notification url set",
        "notification test --environment mars", "rate-limit set", "rate-limit set history", "rate-limit set history 0",
        "rate-limit set books 1", "rate-limit set history 1000000001", "rate-limit apple --environment mars",
        "notification sample", "price-increase accept pro", "price-increase decline", "authority reseal",
        "store accept-loss", "store accept-loss --database mysql://x",
        "authority reseal --new-key no-such-file", "buy a --offer b", "buy a --offer-jws b",
        "buy a --account b --password-file - --offer c --offer-jws -",
        "buy --item 7 --offer b --offer-jws c", "key sign-offer a --offer b", "key sign-offer a --key b --key-file c",
        // A device needs the data directory itself.
        "buy a --control http://127.0.0.1:1", "redeem a --control http://127.0.0.1:1",
        "restore --control http://127.0.0.1:1",
    ])
    func wrongUsageEndsWithTwoAndSaysWhy(_ line: String) async {
        let result = await Capture.run(line.split(separator: " ").map(String.init))
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(!result.errors.isEmpty)
        #expect(!result.errors.contains("CommandError"))
    }

    /// Not “missing value”, which says nothing to who gave one.
    @Test(arguments: [
        "buy a --quantity -1", "fault order finish 503 --count -1", "payment-rule add a --count -1",
        "transaction list --limit -1", "notification list --limit -1", "serve a.storekit --sandbox-port -1",
        "serve a.storekit --node -1", "serve a.storekit --sandbox-renewal-lead -1h",
        "serve a.storekit --production-retry-days -1",
        "merchant serve --port -1", "merchant history ann --before -1",
        "merchant adjust ann --currency gold --take 0", "merchant adjust ann --currency gold --give -1",
    ])
    func aNegativeValueIsAWrongValue(_ line: String) async throws {
        let words = line.split(separator: " ").map(String.init)
        let option = words[words.count - 2].dropFirst(2)
        let result = await Capture.run(words)
        #expect(result.status == 2)
        let first = try #require(result.errors.split(separator: "\n").first)
        #expect(first.contains(option) && !first.contains("issing"), "\(first)")
        #expect(["from", " to ", "or more"].contains { first.contains($0) }, "\(first)")
    }

    @Test(arguments: [
        "buy com.example.a", "clock", "fault", "app list", "account list", "purchase", "transaction list",
        "payment-rule", "key", "notification", "notification test", "notification url", "authority", "authority rotate",
        "rate-limit", "rate-limit apple", "rate-limit off", "notification sample RESCIND_CONSENT",
        "clock --control http://127.0.0.1:1", "receipt inspect no-such-file", "serve no-such-file.storekit",
        "catalog check no-such-file", "merchant products load no-such-file", "merchant check --config no-such-file",
        "merchant serve --config no-such-file",
        "catalog convert no-such-file --to yaml", "serve a.storekit --config no-such-file",
        "content build no-such-folder",
        "key sign-offer a --offer b --key c --key-file no-such-file",
        "content check no-such-file", "store restore no-such-folder", "store backup copy --config no-such-file",
        "store accept-loss --database postgres://127.0.0.1:1/none",
    ])
    func whatCannotBeDoneEndsWithOneAndSaysWhy(_ line: String) async throws {
        let result = await Capture.run(
            line.split(separator: " ").map(String.init), environment: ["CORNERSTORE_DATA": "/nonexistent/cornerstore"])
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        let first = try #require(result.errors.split(separator: "\n").first)
        #expect(first.hasPrefix("cornerstore: "))
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        "", "--help", "--version", "help serve", "demo", "serve", "buy", "restore", "queue", "receipt",
        "receipt inspect", "receipt verify",
        "clock", "clock set",
        "fault", "fault order", "payment-rule", "account", "account create", "app list", "transaction list", "purchase",
        "catalog",
        "catalog check", "catalog convert", "content", "content init", "content build", "content check",
        "merchant", "merchant products", "merchant content", "merchant webhooks", "store",
    ])
    func helpIsOnStandardOutput(_ line: String) async {
        var arguments = line.split(separator: " ").map(String.init)
        if !line.isEmpty, !line.hasPrefix("-"), !line.hasPrefix("help") { arguments.append("--help") }
        let result = await Capture.run(arguments)
        #expect(result.status == 0)
        #expect(!result.output.isEmpty)
        #expect(result.errors.isEmpty)
    }

    @Test(arguments: [
        "demo", "serve", "buy", "restore", "queue", "receipt verify", "clock", "fault", "transaction list", "account",
        "catalog convert", "content init", "content build", "content check", "merchant serve", "merchant token",
        "merchant key make", "merchant key list", "merchant key revoke", "merchant check", "merchant products",
        "merchant products list", "merchant products show", "merchant products put", "merchant products remove",
        "merchant products load", "merchant content", "merchant content list", "merchant content put",
        "merchant webhooks secret", "merchant webhooks test", "merchant webhooks dead", "merchant webhooks replay",
        "merchant user", "merchant history", "merchant adjust", "merchant notifications",
        "merchant sweep",
        "merchant backup", "subscriptions", "subscriptions list", "subscriptions cancel", "subscriptions enable",
        "subscriptions change", "subscriptions page",
        "merchant restore", "product", "product list", "product create", "product set", "product submit",
        "product history", "app register", "app checklist", "catalog import", "catalog export",
        "key", "key make", "key list", "key revoke", "key sign-offer", "notification", "notification list",
        "notification show",
        "notification resend", "notification test", "notification sample", "notification url", "notification url show",
        "notification url set", "notification url remove", "rate-limit", "rate-limit show", "rate-limit apple",
        "rate-limit set", "rate-limit off", "authority", "authority show", "authority rotate", "authority key",
        "authority reseal", "store", "store backup", "store restore", "store accept-loss",
    ])
    func helpHasExamples(_ command: String) throws {
        #expect(try CommandText.discussion(of: command).contains("  cornerstore \(command)"))
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionScriptsAreMade(_ shell: String) async {
        let result = await Capture.run(["--generate-completion-script", shell])
        #expect(result.status == 0)
        #expect(result.output.contains("cornerstore"))
        #expect(result.output.contains("transaction"))
    }
}
