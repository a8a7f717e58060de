import ArgumentParser
import CornerstoreCommands
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Console

@Suite("The merchant's half of the console", .timeLimit(.minutes(1))) struct MerchantConsoleTests {
    /// The pages that a merchant has without a store.
    private static let pages = [
        "", "/merchant", "/merchant/users/ann", "/merchant/transaction", "/merchant/transaction?id=7", "/notifications",
        "/webhooks/e1", "/settings", "/snippets", "/search?q=ann",
    ]

    @Test(arguments: pages, ["sandbox", "production"])
    func itsPagesNeedNoStore(_ path: String, _ environment: String) async throws {
        let browser = RunningConsole.ofMerchant()
        let page = try await browser.get("/\(environment)\(path)")
        #expect(page.status == 200, "\(page.text.prefix(2000))")
        #expect(!page.text.contains("data-events") && page.text.contains("Times are UTC."))
        #expect(page.text.contains("data-key=\"m\"") && !page.text.contains("data-key=\"t\""))
        for form in page.forms {
            let action = PageController.actions.first { ConsoleFormTests.matches(form.action, $0.path) }
            #expect(action?.needsStore == false, "\(form.action)")
        }
        for match in page.text.matches(of: /<code>(cornerstore [^<]*)<\/code>/) {
            let words = String(match.1).unescaped.split(separator: " ").dropFirst().map {
                $0.trimmingCharacters(in: ["'"])
            }
            #expect(throws: Never.self, "\(match.1)") { try Cornerstore.parseAsRoot(words) }
        }
        // The shell replaces a variable in double quotes only.
        for match in page.text.unescaped.matches(of: /.Authorization: Bearer \$KEY./) {
            #expect(match.0 == "\"Authorization: Bearer $KEY\"")
        }
        // Every link leads to a page that exists.
        for match in page.text.matches(of: /href="(\/(?:sandbox|production)[^"#]*)/) {
            let linked = try await browser.get(String(match.1).unescaped)
            #expect(linked.status == 200, "\(match.1)")
        }
    }

    @Test(arguments: ["/customers", "/transactions", "/products", "/clock", "/content", "/inspector", "/buy"])
    func itHasNoPagesOfAStore(_ path: String) async throws {
        #expect(try await RunningConsole.ofMerchant().get("/production\(path)").status == 404)
    }

    @Test func itBeginsInProductionAndHasNoStream() async throws {
        let browser = RunningConsole.ofMerchant()
        let start = try await browser.get("/")
        #expect(start.status == 303 && start.headers[.location] == "/production")
        #expect(try await browser.get("/console/events").status == 404)
        #expect(try await browser.get("/production/transactions.csv").status == 404)
        let page = try await browser.get("/production")
        let refused = try await browser.submit(page, "/production/clock/freeze")
        #expect(refused.status == 404)
        // A change of production is asked about.
        let user = try await browser.get("/production/merchant/users/ann")
        let typed = [("currency", "coins"), ("amount", "1"), ("note", "")]
        let question = try await browser.submit(user, "/production/merchant/users/ann/adjust", typed)
        #expect(question.text.contains("Change production?"))
        let tried = try await browser.get("/sandbox/merchant/users/ann")
        #expect(try await browser.submit(tried, "/sandbox/merchant/users/ann/adjust", typed).status == 303)
    }

    @Test func peopleSignInWithTheToken() async throws {
        let page = try await RunningConsole.ofMerchant(adminToken: "hush").get("/production")
        #expect(page.status == 303 && page.headers[.location]?.hasPrefix("/sign-in") == true)
    }

    @Test func aTransactionHasTheMerchantsView() async throws {
        let browser = RunningConsole.ofMerchant()
        let page = try await browser.get("/production/merchant/transaction?id=2000000000000007")
        #expect(page.text.contains("/merchant/users/ann") && page.text.contains("5 coins for 2 h"))
        #expect(page.text.contains("+5 coins") && page.text.contains("webhooks/e1"))
        #expect(page.text.contains("cornerstore merchant transaction 2000000000000007"))
        let nobodys = try await browser.get("/production/merchant/transaction?id=404")
        #expect(nobodys.text.contains("No user has redeemed this purchase"))
    }

    @Test func `a webhook's steps start the merchant on its own data`() async throws {
        let browser = RunningConsole.ofMerchant(variable: ("CORNERSTORE_MERCHANT_DATA", "/srv/books"))
        let page = try await browser.get("/production/snippets").text.unescaped
        let section = try #require(page.firstMatch(of: /<section id="webhook"(.*?)<\/section>/.dotMatchesNewlines())).1
        #expect(section.contains("Stop the merchant first.") && !section.contains("the store"))
        let start =
            "<code>CORNERSTORE_MERCHANT_DATA=/srv/books cornerstore merchant serve --webhook http://127.0.0.1:9000/</code>"
        #expect(section.contains(start))
    }

    @Test func `The next page of a ledger begins where this one ends`() async throws {
        let page = try await RunningConsole.ofMerchant().get("/production/merchant/users/ann?currency=gems")
        #expect(page.text.contains("#351<") && !page.text.contains("#350<"))
        #expect(page.text.unescaped.contains("before=351#ledger"), "\(page.text)")
    }

    @Test func `a key behind the first 50 is seen and revoked`() async throws {
        let browser = RunningConsole.ofMerchant()
        let first = try await browser.get("/sandbox/merchant")
        #expect(first.text.contains(">job149<") && !first.text.contains(">job150<"))
        #expect(first.text.contains("href=\"/sandbox/merchant?keys=50#keys\" rel=\"next\">More</a>"))
        let second = try await browser.get("/sandbox/merchant?keys=50")
        #expect(second.text.contains(">job150<") && !second.text.contains(">job149<"))
        #expect(second.text.contains("href=\"/sandbox/merchant#keys\">First</a>"))
        // Rows that have gone leave the last page, not an empty one.
        let beyond = try await browser.get("/sandbox/merchant?keys=1000")
        #expect(beyond.text.contains(">job150<") && !beyond.text.contains("No keys yet."))
        let revoked = try await browser.submit(second, "/sandbox/merchant/keys/revoke")
        #expect(try await browser.follow(revoked).text.contains("The key “job150” no longer opens anything."))
    }

    @Test func `files behind the first 50 are on the next page`() async throws {
        let browser = RunningConsole.ofMerchant()
        let first = try await browser.get("/sandbox/merchant")
        #expect(first.text.contains(">file149<") && !first.text.contains(">file150<"))
        #expect(first.text.contains("href=\"/sandbox/merchant?content=50#content\" rel=\"next\">More</a>"))
        let second = try await browser.get("/sandbox/merchant?content=50")
        #expect(second.text.contains(">file150<") && !second.text.contains(">file149<"))
        #expect(second.text.contains("href=\"/sandbox/merchant#content\">First</a>"))
        // Lists that the merchant gives page by page have the link, too.
        let users = try await browser.get("/sandbox/merchant?start=a&after=aaa")
        #expect(users.text.contains("href=\"/sandbox/merchant?start=a#users\">First users</a>"))
        let ledger = try await browser.get("/sandbox/merchant/users/ann?currency=gems&before=9")
        #expect(ledger.text.unescaped.contains("/sandbox/merchant/users/ann?currency=gems#ledger"))
    }

    @Test func theRatesAreShown() async throws {
        let page = try await RunningConsole.ofMerchant().get("/production/settings")
        #expect(page.text.contains("20 a second, 60 at once") && page.text.contains("0.5 a second"))
        #expect(page.text.contains("com.example.monkeys") && page.text.contains("--refunds to-zero"))
    }

    // MARK: Beside a store

    @Test func theStoresPagesShowTheMerchantsView() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let form = try await browser.get("/sandbox/buy")
            let done = try await browser.submit(
                form, "/sandbox/buy",
                [
                    ("email", "tester@sandbox.example"), ("password", ""), ("product", "com.example.monkeys credits5"),
                    ("quantity", "1"), ("finish", "yes"),
                ])
            let place = try #require(done.headers[.location])
            let id = String(try #require(place.split(separator: "/").last).prefix { $0 != "?" })
            _ = console.asked.take()
            let page = try await browser.get("/sandbox/transactions/\(id)")
            #expect(console.asked.take().contains("GET /admin/v1/transactions/\(id)"))
            #expect(page.text.contains("At the merchant") && page.text.contains("/sandbox/merchant/users/ann"))
            #expect(page.text.contains("Ledger of the merchant") && page.text.contains("+5 coins"))
            #expect(page.text.contains("merchant transaction \(id) --app com.example.monkeys"))
            let customer = try await browser.get("/sandbox/customers/tester@sandbox.example")
            #expect(customer.text.contains("/sandbox/merchant/users/ann") && customer.text.contains("5 coins"))
            let settings = try await browser.get("/sandbox/settings")
            #expect(settings.text.contains("20 a second, 60 at once"))
            #expect(settings.text.contains("0.2 a second, 20 at once"))
            let found = try await browser.get("/sandbox/search?q=a")
            #expect(found.text.contains("user of the merchant"))
        }
    }

    // MARK: The timeline

    @Test func aPurchasesStepsAreAGroup() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            for product in ["hats", "credits5"] {
                let form = try await browser.get("/sandbox/buy")
                let done = try await browser.submit(
                    form, "/sandbox/buy",
                    [
                        ("email", "tester@sandbox.example"), ("password", ""),
                        ("product", "com.example.monkeys \(product)"), ("quantity", "1"), ("finish", "yes"),
                    ])
                #expect(done.status == 303, "\(done.text)")
            }
            let path = "/sandbox/customers/tester%40sandbox.example"
            let changed = try await browser.submit(
                try await browser.get(path), path + "/change",
                [("storefront", "USA"), ("pays", "yes"), ("locked", "yes")])
            #expect(changed.status == 303, "\(changed.text)")
            let page = try await browser.get(path)
            let timeline = try #require(
                page.text.firstMatch(of: /<ol class="timeline">(.*?)<\/section>/.dotMatchesNewlines()))
            let text = String(timeline.1)
            #expect(text.components(separatedBy: "<details><summary>").count == 3)
            #expect(text.contains("Finished by the app") && text.contains("Account created"))
            // A link inside a summary could not be reached.
            for summary in text.matches(of: /<summary>(.*?)<\/summary>/.dotMatchesNewlines()) {
                #expect(!summary.1.contains("<a "))
            }
            // Who changed the settings.
            #expect(page.text.contains("Changes of settings") && page.text.contains(">console<"))
            #expect(page.text.contains("locked"))
        }
    }
}
