import ArgumentParser
import Foundation
import MerchantWire
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct MerchantProductsCommandTests {
    private struct Shop {
        let directory: TemporaryDirectory

        func run(_ line: String) async -> (status: Int32, output: String, errors: String) {
            await Capture.run(
                ["merchant", "products"] + line.split(separator: " ").map { $0 == "''" ? "" : String($0) },
                environment: ["CORNERSTORE_MERCHANT_DATA": directory.path("merchant")])
        }

        func product(_ line: String) async throws -> MerchantProduct {
            let result = await run(line + " --json")
            #expect(result.status == 0, "\(result.errors)")
            return try JSONDecoder().decode(MerchantProduct.self, from: Data(result.output.utf8))
        }
    }

    private func with(_ body: (Shop) async throws -> Void) async throws {
        try await TemporaryDirectory.with { try await body(Shop(directory: $0)) }
    }

    @Test func fieldsThatAreNotNamedStayUnchanged() async throws {
        try await with { shop in
            let new = try await shop.product(
                "put issue --app com.example.books --kind nonConsumable --content issue-12 --entitlement reader --credits 5:coins:1d12h"
            )
            let grants: [ProductGrant] = [
                .credits("coins", amount: 5, lifetime: 129_600), .entitlement("reader"), .content("issue-12"),
            ]
            #expect(
                new
                    == MerchantProduct(
                        bundleID: "com.example.books", productID: "issue", kind: .nonConsumable, grants: grants))
            // The app needs no name any longer.
            var expected = new
            expected.shelf = "magazines"
            #expect(try await shop.product("put issue --shelf magazines") == expected)
            expected.isOnSale = false
            #expect(try await shop.product("put issue --off-sale") == expected)
            expected.grants = [.credits("coins", amount: 7, lifetime: nil)]
            #expect(try await shop.product("put issue --credits 7:coins") == expected)
            (expected.isOnSale, expected.shelf) = (true, nil)
            #expect(try await shop.product("put issue --kind nonConsumable --on-sale --shelf ''") == expected)
            #expect(try await shop.product("show issue") == expected)
            let text = await shop.run("show issue").output
            #expect(text.contains("grants   7 coins\n") && text.contains("sale     on sale"), "\(text)")
        }
    }

    @Test func theListIsForPeople() async throws {
        try await with { shop in
            #expect(await shop.run("put coins --app com.a --kind consumable --credits 100:gold:30d").status == 0)
            #expect(await shop.run("list").output.hasPrefix("product  kind        grants\n"))
            let second = await shop.run("put club --app com.b --kind autoRenewableSubscription --entitlement club")
            #expect(second.errors.contains("com.b is a new app on this list"))
            #expect(await shop.run("remove club").output == "club of com.b is off sale.\n")
            #expect(
                await shop.run("").output == """
                    app    product  kind                       grants            sale
                    com.a  coins    consumable                 100 gold for 30d
                    com.b  club     autoRenewableSubscription  entitlement club  not on sale

                    """)
        }
    }

    @Test func aProductOfAFileIsRestoredByTheFile() async throws {
        try await with { shop in
            let file = shop.directory.path("books.yaml")
            let text =
                "app: com.a\nproducts:\n  - {id: coins, kind: consumable, grants: [{credits: 10, currency: coins}]}\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            #expect(await shop.run("load \(file)").output == "Loaded.\n")
            let changed = await shop.run("put coins --credits 11:coins")
            #expect(changed.status == 0 && changed.errors.contains("came from a file"), "\(changed.errors)")
            #expect(await shop.run("put coins --credits 12:coins").errors == "")
            #expect(await shop.run("load \(file)").output == "Loaded.\n")
            #expect(try await shop.product("show coins").grants == [.credits("coins", amount: 10, lifetime: nil)])
            let removed = await shop.run("remove coins")
            #expect(removed.status == 0 && removed.errors.contains("came from a file"))
            #expect(try await shop.product("show coins").isOnSale == false)
        }
    }

    @Test func mistakesAreNamedAndChangeNothing() async throws {
        try await with { shop in
            let nothing = await shop.run("put coins --kind consumable --credits 1:gold")
            #expect(nothing.status == 2 && nothing.errors.contains("There is no merchant in"), "\(nothing.errors)")
            for line in [
                "put coins --kind consumable --credits 100:gold", "put bonus --kind consumable --credits 5:gold",
            ] {
                #expect(await shop.run(line + " --app com.a").status == 0)
            }
            #expect(await shop.run("put coins --kind consumable --credits 1:gold --app com.b").status == 0)
            let before = await shop.run("list --json").output
            let cases: [(String, Int32, String)] = [
                ("show bonsu", 1, "Did you mean bonus?"), ("remove bonsu", 1, "Did you mean bonus?"),
                ("show something.else --app com.a", 1, "There are bonus, coins."),
                ("put bonus --lifetime 3", 2, "Unknown option '--lifetime'"),
                ("show bonus --app com.c", 1, "Did you mean com.a?"),
                ("show coins", 2, "Choose one with --app: com.a, com.b"),
                ("put coins --off-sale", 2, "Choose one with --app: com.a, com.b"),
                ("put cions --off-sale --app com.a", 2, "A new product needs --kind"),
                ("put coins --kind nonConsumable --app com.a", 1, "has the kind consumable"),
                ("put coins --credits 0:gold --app com.a", 1, "credits must be between 1 and"),
                ("put coins --credits 1:gold --credits 2:gold --app com.a", 1, "twice"),
                ("put coins --kind cosumable --app com.a", 2, "nonConsumable"),
                ("put coins --credits 1:gold:1ms --app com.a", 2, "whole seconds"),
                ("remove coins --delete --app com.d", 1, "There is no app com.d"),
            ]
            for (line, status, words) in cases {
                let result = await shop.run(line)
                #expect(result.status == status && result.errors.contains(words), "\(line): \(result.errors)")
                #expect(result.output.isEmpty)
            }
            #expect(await shop.run("list --json").output == before)
            #expect(await shop.run("remove coins --delete --app com.b").output == "coins of com.b is deleted.\n")
            #expect(await shop.run("show coins").status == 0)
        }
    }

    @Test func `a merchant without products names the command that adds one`() {
        let error = #expect(throws: CommandError.self) { try ProductTarget.parse(["coins"]).known(in: []) }
        #expect(error?.detail.contains("no products. Add one with “cornerstore merchant products put”") == true)
    }

    @Test(arguments: [
        ("gold", "gold", 0), ("", "abc", 3), ("bonsu", "bonus", 2), ("kitten", "sitting", 3), ("coins", "coin", 1),
    ])
    func distances(_ one: String, _ other: String, _ expected: Int) {
        #expect(Suggestion.distance(one, other) == expected && Suggestion.distance(other, one) == expected)
    }
}
