import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite("The managed catalog's commands", .timeLimit(.minutes(1))) struct ManagedCommandTests {
    private static let coins = "com.example.new.coins"

    /// Runs a line that must succeed, and gives its output. Words with spaces are passed apart.
    private func run(_ store: RunningStore, _ line: String, _ words: String...) async throws -> String {
        let arguments = line.split(separator: " ").map(String.init) + words + ["--by", "anna"]
        let result = await Capture.run(arguments, environment: ["CORNERSTORE_DATA": store.data])
        try #require(result.status == 0, "\(line): \(result.errors)")
        return result.output
    }

    /// Registers the app and creates a product that is Ready to Submit.
    private func prepare(_ store: RunningStore) async throws {
        _ = try await run(store, "app register com.example.new --name", "New App")
        _ = try await run(
            store, "product create consumable \(Self.coins) --price 0.99 --name", "en_US=Five coins", "--description",
            "en_US=For monkeys.")
    }

    @Test func aDraftIsCompletedAndSubmitted() async throws {
        try await RunningStore.with { store in
            #expect(await store.run("product").errors.contains("cornerstore app register"))
            let app = try await run(store, "app register com.example.new --name", "New App")
            #expect(app.contains("com.example.new") && app.contains("New App") && app.contains("enabled"))
            let draft = try await run(store, "product create consumable \(Self.coins)")
            #expect(draft.contains("Missing Metadata") && draft.contains("needs a price"))
            #expect(await store.run("product submit \(Self.coins)").errors.contains("It needs a price"))
            let ready = try await run(
                store, "product set \(Self.coins) --price 0.99 --name", "en_US=Five coins", "--description",
                "en_US=For monkeys.")
            #expect(ready.contains("Ready to Submit") && ready.contains("0.99 USD") && ready.contains("Five coins"))
            #expect(ready.contains("sandbox yes, production no"))
            _ = try await run(store, "product submit \(Self.coins)")
            #expect(await store.run("product show \(Self.coins)").output.contains("production yes"))
        }
    }

    @Test func aReviewerRejectsAndApproves() async throws {
        try await RunningStore.with { store in
            try await prepare(store)
            _ = try await run(store, "app set --review manual")
            let submitted = try await run(store, "product submit \(Self.coins) --app-version 1.2")
            #expect(submitted.contains("Waiting for Review"))
            _ = try await run(store, "product review \(Self.coins)")
            let rejected = try await run(store, "product reject \(Self.coins) --reason", "Too few.")
            #expect(rejected.contains("Rejected: Too few.") && rejected.contains("version 1.2"))
            _ = try await run(store, "product submit \(Self.coins)")
            #expect(try await run(store, "product approve \(Self.coins)").contains("production yes"))
            #expect(await store.run("product list").output.contains("Approved"))
            let history = await store.run("product history \(Self.coins)").output
            #expect(history.contains("anna") && history.contains("In Review → Rejected: Too few."))
            let changes = try await store.run("product history --json --limit 200").output.objects()
            #expect(changes.last?["action"] as? String == "register" && changes.count == 9)
        }
    }

    @Test func aProductIsRemovedRestoredAndDeleted() async throws {
        try await RunningStore.with { store in
            try await prepare(store)
            #expect(try await run(store, "product remove \(Self.coins)").contains("Developer Removed from Sale"))
            #expect(await store.run("product show \(Self.coins)").output.contains("sandbox no"))
            _ = try await run(store, "product restore \(Self.coins)")
            let revision = try await store.run("product show \(Self.coins) --json").output.object()["revision"] as? Int
            let stale = await store.run("product set \(Self.coins) --price 1.99 --revision \((revision ?? 0) - 1)")
            #expect(stale.status == 1 && stale.errors.contains("Another editor"))
            _ = try await run(store, "product delete \(Self.coins)")
            #expect(await store.run("product create consumable \(Self.coins)").errors.contains("never used again"))
        }
    }

    @Test func anAppGoesIntoTheStoreAndOutAgain() async throws {
        let yaml = """
            cornerstore-catalog: 1
            apps:
              - bundleID: com.example.new
                name: New
                products:
                  - productID: a
                    type: Consumable
                    displayPrice: 0.99

            """
        try await RunningStore.with(files: ["New.yaml": Data(yaml.utf8)]) { store in
            let file = store.directory.path("New.yaml")
            #expect(try await run(store, "catalog import \(file)").contains("1 new, 0 changed"))
            let out = store.directory.path("Out.yaml")
            _ = await store.run("catalog export --out \(out)")
            let document = try await store.run("catalog check \(out) --json").output.object()
            #expect(document["valid"] as? Bool == true)
            #expect(try await run(store, "catalog import \(out)").contains("0 new, 0 changed"))
            #expect(await store.run("catalog export --to storekit").output.contains("\"productID\" : \"a\""))
            // What a file describes is not managed.
            let served = await store.run("catalog import \(store.directory.path("App.storekit"))=com.example.app")
            #expect(served.status == 1 && served.errors.contains("App.storekit describes com.example.app"))
            #expect(await store.run("catalog import \(store.directory.path("App.storekit"))").status == 2)
        }
    }

    @Test func offersAreAddedChangedAndRemoved() async throws {
        try await RunningStore.with { store in
            _ = try await run(store, "app register com.example.new")
            _ = try await run(store, "app group 21000001 --name Club")
            _ = try await run(
                store, "product create autoRenewableSubscription club --group 21000001 --period P1M --price 3.99")
            func offers(_ key: String) async throws -> [[String: Any]] {
                let product = try await store.run("product show club --json").output.object()
                return (product["document"] as? [String: Any])?[key] as? [[String: Any]] ?? []
            }
            _ = try await run(store, "product offer club --introductory --payment free --period P1W")
            _ = try await run(store, "product offer club --introductory --payment free --period P2W")
            #expect(try await offers("introductoryOffers").map { $0["subscriptionPeriod"] as? String } == ["P2W"])
            for (id, price) in [("back", "1.99"), ("stay", "2.99"), ("back", "0.99")] {
                _ = try await run(
                    store,
                    "product offer club --id \(id) --payment payAsYouGo --period P1M --periods 3 --price \(price)")
            }
            let signed = try await offers("adHocOffers")
            #expect(signed.map { $0["offerID"] as? String } == ["back", "stay"])
            #expect(await store.run("product offer club --id none --remove").errors.contains("no such offer"))
            _ = try await run(store, "product offer club --id back --remove")
            _ = try await run(store, "product offer club --introductory --remove")
            #expect(try await offers("adHocOffers").map { $0["offerID"] as? String } == ["stay"])
            #expect(try await offers("introductoryOffers").isEmpty)
            let stale = await store.run("product offer club --id stay --remove --revision 1")
            #expect(stale.status == 1 && stale.errors.contains("Another editor"))
            for line in [
                "--id a", "--introductory --id a --remove", "--payment free --period P1W",
                "--id a --payment free --period P1W --price 1", "--id a --payment payUpFront --period P1W",
            ] { #expect(await store.run("product offer club \(line)").status == 2, "\(line)") }
        }
    }

    @Test func groupsSubscriptionsAndTheChecklist() async throws {
        try await RunningStore.with { store in
            _ = try await run(store, "app register com.example.new")
            _ = try await run(store, "app group 21000001 --name Club --display-name", "en_US=The Club")
            let line =
                "product create autoRenewableSubscription club --group 21000001 --period P1M --level 2 --price 3.99 --name"
            let club = try await run(store, line, "en_US=Club", "--description", "en_US=All.")
            #expect(club.contains("Ready to Submit") && club.contains("group 21000001"))
            let list = try await run(store, "app checklist tax --required yes")
            #expect(list.contains("missing"))
            #expect(await store.run("product show club").output.contains("sandbox no"))
            #expect(try await run(store, "app checklist tax --done yes").contains("by anna"))
            #expect(await store.run("product show club").output.contains("sandbox yes"))
            #expect(try await run(store, "app set --in-app-purchase off").contains("invalid identifiers"))
            let shown = try await store.run("app managed --json").output.object()
            #expect(shown["inAppPurchase"] as? Bool == false && shown["products"] as? Int == 1)
            _ = try await run(store, "product set club --name", "de=Klub", "--description", "de=Alles.")
            let document = try await store.run("product show club --json").output.object()
            #expect(document["locales"] as? [String] == ["en_US", "de"])
        }
    }
}
