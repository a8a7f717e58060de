import Foundation
import Logging
import Merchant
import MerchantServer
import MerchantWire
import TestSupport
import Testing

@testable import CornerstoreCommands

/// What support staff and operators see, on both engines.
@Suite(.timeLimit(.minutes(1))) struct MerchantUserCommandTests {
    private struct Shop {
        let place: MerchantPlace

        func run(
            _ line: String, webhook: String? = nil
        ) async -> (status: Int32, output: String, errors: String) {
            var environment = ["CORNERSTORE_MERCHANT_DATA": place.folder.path]
            environment["CORNERSTORE_MERCHANT_WEBHOOK"] = webhook
            environment["CORNERSTORE_MERCHANT_DATABASE"] = place.databaseURL
            environment["CORNERSTORE_MERCHANT_SCHEMA"] = place.schema
            return await Capture.run(
                ["merchant"] + line.split(separator: " ").map(String.init), environment: environment)
        }

        func adjust(_ user: UserID, _ currency: CurrencyID, _ amounts: [Int64]) async throws {
            try await place.withMerchant(logger: .silent) { merchant in
                for (index, amount) in amounts.enumerated() {
                    _ = try await merchant.adjust(
                        AdjustmentRequest(
                            key: "\(currency)-\(index)", currency: currency, amount: amount, note: "a gift"),
                        of: user)
                }
            }
        }

        /// How many events wait to be sent.
        func waitingEvents() async throws -> Int? {
            let database = try await place.openDatabase(logger: .silent)
            let count = try await database.read {
                try $0.queryOne("SELECT count(*) FROM webhook_events WHERE state = 'waiting'")?.int(0)
            }
            await database.close()
            return count
        }

        /// Makes credits that have ended, and that no server has taken out yet.
        func end(_ currency: CurrencyID, _ amount: Int64, of user: UserID) async throws {
            let database = try await place.openDatabase(logger: .silent)
            try await database.write {
                try $0.execute(
                    "INSERT INTO credit_lots (user_id, currency, expires_at, reference, remaining) VALUES ($1, $2, 1, 'a season', $3)",
                    [user.rawValue, currency.rawValue, amount])
            }
            await database.close()
        }

        func kill(_ events: [String]) async throws {
            let database = try await place.openDatabase(logger: .silent)
            try await database.write { connection in
                for (index, event) in events.enumerated() {
                    try connection.execute(
                        """
                        INSERT INTO webhook_events (event_id, type, body, created_at, state, due_at, attempts, reason)
                        VALUES ($1, 'balance.changed', '{}', $2, 'dead', 0, 24, 'HTTP 500')
                        """, [event, Int64(1_790_000_000_000 + index)])
                }
            }
            await database.close()
        }
    }

    private func with(_ backend: Backend, _ body: (Shop) async throws -> Void) async throws {
        try await backend.withServerDatabase { url, prefix in
            try await TemporaryDirectory.with { directory in
                try await body(
                    Shop(
                        place: try MerchantPlace(folder: directory.url, databaseURL: url, schema: "\(prefix)_merchant"))
                )
            }
        }
    }

    @Test(arguments: Backend.available) func aNewUserIsShownAtOnce(_ backend: Backend) async throws {
        try await with(backend) { shop in
            try await shop.adjust("ann", "gold", [100, -30] + Array(repeating: 1, count: 12))
            try await shop.adjust("ann", "gems", [5])
            let text = await shop.run("user ann").output
            for line in [
                "ann\n", "gems      5\n", "gold      82\n", "History of gold, the newest 10\n", "History of gems\n",
            ] {
                #expect(text.contains(line), "\(line) in \(text)")
            }
            #expect(text.contains("adjustment  +5      5        gems-0     a gift"), "\(text)")
            let document = try await shop.run("user ann --json").output.object()
            #expect(document["userId"] as? String == "ann" && document["flags"] as? [String] == [])
            let history = try #require(document["history"] as? [[String: Any]])
            #expect(history.map { $0["currency"] as? String } == ["gems", "gold"])
            #expect((history.last?["entries"] as? [Any])?.count == 10 && history.last?["next"] as? Int == 5)

            let unknown = await shop.run("user anne")
            #expect(unknown.status == 0 && unknown.output.contains("has no purchases"))
            #expect(await shop.run("user \(String(repeating: "a", count: 256))").status == 1)
        }
    }

    @Test(arguments: Backend.available) func creditsAreAddedAndRemovedByCommand(_ backend: Backend) async throws {
        try await with(backend) { shop in
            #expect(await shop.run("products put coins --app com.a --kind consumable --credits 1:gold").status == 0)
            for _ in 0..<2 {
                let given = await shop.run("adjust ann --give 100 --currency gold --note gift --key a")
                #expect(given.status == 0 && given.output.hasPrefix("ann has 100 gold (+100, entry 1).\n"), "\(given)")
                #expect(given.errors.contains("had no gold before"))
            }
            let reused = await shop.run("adjust ann --give 99 --currency gold --note gift --key a")
            #expect(
                reused.status == 1 && reused.errors.contains("The key a was already used for a different adjustment"),
                "\(reused)")
            let tooMuch = await shop.run("adjust ann --take 101 --currency gold")
            #expect(tooMuch.status == 1 && tooMuch.errors.contains("fewer than 101 gold"), "\(tooMuch)")
            #expect(try await shop.waitingEvents() == 0)

            let taken = await shop.run("adjust ann --take 30 --currency gold --json", webhook: "https://example.com")
            let entry = try JSONDecoder().decode(LedgerEntry.self, from: Data(taken.output.utf8))
            #expect(entry.amount == -30 && entry.balance == 70 && entry.entry == 2 && entry.kind == .adjustment)
            #expect(entry.reference?.count == 36 && taken.errors.isEmpty, "\(taken)")
            #expect(try await shop.waitingEvents() == 1)
            #expect(await shop.run("history ann").output.contains("gift"))
            #expect(await shop.run("check").status == 0)
        }
    }

    @Test(arguments: Backend.available) func historyIsReadInPages(_ backend: Backend) async throws {
        try await with(backend) { shop in
            try await shop.adjust("ann", "gold", Array(repeating: 1, count: 201))
            let first = await shop.run("history ann")
            #expect(
                first.output.split(separator: "\n").count == 202
                    && first.output.contains("For older entries: --before 2"))
            let second = await shop.run("history ann --currency gold --before 2 --json")
            let page = try JSONDecoder().decode(HistoryPage.self, from: Data(second.output.utf8))
            #expect(page.entries.map(\.entry) == [1] && page.next == nil && page.currency == "gold")
            #expect(await shop.run("history ann --before 1").output == "No older entries.\n")
            let misspelt = await shop.run("history ann --currency glod")
            #expect(misspelt.status == 1 && misspelt.errors.contains("Did you mean gold?"), "\(misspelt.errors)")
            #expect(await shop.run("history anne").errors.contains("never had credits"))
            try await shop.adjust("ann", "gems", [1])
            let several = await shop.run("history ann")
            #expect(several.status == 2 && several.errors.contains("gems, gold"), "\(several.errors)")
        }
    }

    @Test(arguments: Backend.available) func expiredCreditsAreListedBelowTheEntries(_ backend: Backend) async throws {
        try await with(backend) { shop in
            try await shop.adjust("ann", "gold", [100])
            #expect(await !shop.run("history ann").output.contains("expired"))
            try await shop.end("gold", 40, of: "ann")
            for command in ["history ann", "user ann"] {
                let text = await shop.run(command).output
                #expect(text.contains("40 of these credits have expired, so the balance is 60."), "\(text)")
            }
            #expect(await !shop.run("history ann --before 2").output.contains("expired"))
        }
    }

    @Test(arguments: Backend.available) func namesCannotMoveTheTerminalsCursor(_ backend: Backend) async throws {
        try await with(backend) { shop in
            try await shop.adjust("ann", "go\u{1B}[31m\nld", [7])
            try await shop.end("go\u{1B}[31m\nld", 8, of: "ann")
            let check = await shop.run("check")
            #expect(check.status == 1 && check.output.contains("users have 7 go[31mld."), "\(check.output)")
            #expect(check.output.contains("ann/go[31mld: 8 credits have an expiry date"), "\(check.output)")
            for command in ["check", "user ann", "history ann"] {
                #expect(await !shop.run(command).output.contains("\u{1B}[31m"), "\(command)")
            }
        }
    }

    @Test(arguments: Backend.available) func sandboxCreditsAreShownSeparately(_ backend: Backend) async throws {
        try await with(backend) { shop async throws in
            #expect(await shop.run("products put coins --app com.a --kind consumable --credits 1:gold").status == 0)
            #expect(
                await shop.run("adjust ann --give 5 --currency gold --environment sandbox").output.contains(
                    "5 gold (sandbox)"))
            let page = await shop.run("history ann --json").output
            #expect(try JSONDecoder().decode(HistoryPage.self, from: Data(page.utf8)).environment == .sandbox)
            #expect(await shop.run("adjust ann --give 7 --currency gold").output.contains("ann has 7 gold (+7"))
            let text = await shop.run("user ann").output
            for line in [
                "gold            7\n", "gold (sandbox)  5\n", "History of gold\n", "History of gold (sandbox)\n",
            ] {
                #expect(text.contains(line), "\(line) in \(text)")
            }
            let both = await shop.run("history ann --currency gold --json").output
            #expect(try JSONDecoder().decode(HistoryPage.self, from: Data(both.utf8)).entries.map(\.amount) == [7])
            #expect(await shop.run("check").output.contains("users have 7 gold, 5 gold (sandbox)"))
        }
    }

    @Test(arguments: Backend.available) func deadEventsAreSentAgain(_ backend: Backend) async throws {
        try await with(backend) { shop in
            #expect(await shop.run("products put coins --app com.a --kind consumable --credits 1:gold").status == 0)
            #expect(await shop.run("webhooks dead").output == "No dead events.\n")
            let secrets = [await shop.run("webhooks secret").output, await shop.run("webhooks secret").output]
            for secret in secrets {
                _ = try WebhookSecret(secret.trimmingCharacters(in: .newlines))
                #expect(secret.utf8.count == "whsec_".utf8.count + 44 + 1)
            }
            #expect(secrets[0] != secrets[1])
            let unsent = await shop.run("webhooks test")
            #expect(unsent.status == 2 && unsent.errors.contains("CORNERSTORE_MERCHANT_WEBHOOK"), "\(unsent)")
            try await shop.kill((0..<203).map { "event-\($0)" })
            let listed = await shop.run("webhooks").output
            #expect(
                listed.contains("event-0    balance.changed  2026-09-21T14:13:20Z  24        HTTP 500"), "\(listed)")
            #expect(listed.contains("There may be more"))
            #expect(await shop.run("webhooks replay event-1 event-2").output == "2 events are queued again.\n")
            let again = await shop.run("webhooks replay event-1")
            #expect(again.status == 1 && again.errors.contains("event-1"), "\(again.errors)")
            let json = await shop.run("webhooks dead --json").output
            let list = try JSONDecoder().decode(DeadWebhookList.self, from: Data(json.utf8))
            #expect(list.events.count == 200 && list.events.first?.eventID == "event-0")
            #expect(await shop.run("webhooks replay --all").output == "201 events are queued again.\n")
            #expect(await shop.run("webhooks replay --all").output == "No dead events.\n")
            let waiting = try await shop.place.withMerchant(logger: .silent) {
                try await $0.outbox.takeDueEvents(limit: 500, retries: 500, now: .max, leaseEnd: .max)
            }
            #expect(Set(waiting.map(\.eventID)).count == 203 && waiting.allSatisfy { $0.attempts == 0 })
        }
    }

    @Test(arguments: Backend.available) func eventsOfAllStatesAreListedShownAndSent(_ backend: Backend) async throws {
        try await with(backend) { shop in
            #expect(await shop.run("products put coins --app com.a --kind consumable --credits 1:gold").status == 0)
            #expect(await shop.run("webhooks list").output == "No events.\n")
            try await shop.kill(["event-0", "event-1"])
            let listed = await shop.run("webhooks list --state dead --limit 1").output
            #expect(listed.contains("event-1") && !listed.contains("event-0  "), "\(listed)")
            #expect(listed.contains("For more: --before event-1"), "\(listed)")
            #expect(await shop.run("webhooks list --before event-1").output.contains("event-0"))
            #expect(await shop.run("webhooks send event-0").output == "1 event is queued.\n")
            let json = await shop.run("webhooks show event-0 --json").output
            let shown = try JSONDecoder().decode(WebhookEventDescription.self, from: Data(json.utf8))
            #expect(shown.event.state == .waiting && shown.event.attempts == 0 && shown.body == "{}")
            #expect(await shop.run("webhooks show event-1").output.contains("dead"))
            for line in ["webhooks show none", "webhooks send none"] {
                let unknown = await shop.run(line)
                #expect(unknown.status == 1 && unknown.errors.contains("No event has the id none"), "\(unknown)")
            }
            #expect(await shop.run("webhooks list --limit 0").status == 2)
            #expect(await shop.run("webhooks list --state lost").status == 2)
        }
    }

    @Test func eventsOfCommandsAreListedInTheirOrder() async throws {
        try await with(.sqlite) { shop in
            #expect(await shop.run("products put coins --app com.a --kind consumable --credits 1:gold").status == 0)
            for number in 1...6 {
                let line = "adjust ann --give \(number) --currency gold"
                #expect(await shop.run(line, webhook: "http://127.0.0.1:1/hook").status == 0)
            }
            let json = await shop.run("webhooks list --json").output
            let times = try JSONDecoder().decode(WebhookEventList.self, from: Data(json.utf8)).events.map(\.createdAt)
            #expect(times.count == 6 && times == times.sorted(by: >))
        }
    }

    @Test(arguments: Backend.available) func usersPurchasesAndKeysAreListed(_ backend: Backend) async throws {
        try await with(backend) { shop in
            #expect(await shop.run("key make backend --scope users --scope keys").status == 0)
            #expect(await shop.run("users").output == "No users.\n")
            try await shop.adjust("ann", "gold", [1])
            try await shop.adjust("bob", "gold", [1])
            let first = await shop.run("users --limit 1").output
            #expect(first.contains("ann") && first.contains("For more: --after ann"), "\(first)")
            #expect(await shop.run("users b").output.contains("bob"))
            let json = await shop.run("users --after ann --json").output
            #expect(
                try JSONDecoder().decode(UserList.self, from: Data(json.utf8))
                    == UserList(users: [UserSummary(userID: "bob", lastRedeemedAt: nil)], next: nil))
            #expect(await shop.run("redemptions").output == "No redeemed purchases.\n")
            #expect(await shop.run("redemptions ann").output == "No redeemed purchases.\n")
            #expect(await shop.run("redemptions ann --before x").status != 0)
            #expect(await shop.run("transaction 7").output == "Nobody has redeemed this transaction.\n")
            #expect(await shop.run("transaction 7/8").errors.contains("Invalid identifier"))
            #expect(await shop.run("webhooks list --purchase p").output == "No events.\n")
            #expect(await shop.run("notifications").output == "No notifications.\n")
            #expect(await shop.run("notifications --before x").status != 0)
            #expect(await shop.run("notifications --limit 0").status == 2)
            let keys = await shop.run("key list --json").output
            let list = try JSONDecoder().decode(APIKeyList.self, from: Data(keys.utf8))
            #expect(list.keys.map(\.name) == ["backend"] && list.keys[0].scopes == ["keys", "users"])
        }
    }
}
