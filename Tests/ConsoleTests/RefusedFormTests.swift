import Store
import StoreWire
import Testing

@testable import Console

@Suite("Refused forms", .timeLimit(.minutes(1))) struct RefusedFormTests {
    @Test func `A purchase whose finishing fails is not offered again`() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            try await console.store.sandbox.faults.order(Faults.Fault(operation: .finish, status: 503, remaining: 1))
            let bought = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", "tester@sandbox.example"), ("password", ""), ("product", "com.example.monkeys credits5"),
                    ("quantity", "1"), ("finish", "yes"),
                ])
            #expect(bought.status == 303, "\(bought.text)")
            let page = try await browser.follow(bought)
            #expect(page.text.contains("Finishing failed") && !page.text.contains("action=\"/sandbox/buy\""))
            #expect(try await console.store.sandbox.ledger(LedgerQuery()).rows.count == 1)
        }
    }

    @Test func `The command beside a refused purchase buys what was chosen`() async throws {
        try await RunningConsole.with { console in
            let (browser, anna) = (console.browser(), try await console.customer())
            let refused = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", anna), ("password", ""), ("product", "com.example.monkeys hats"), ("quantity", "2"),
                    ("username", "a user"), ("finish", "yes"),
                ])
            #expect(refused.status == 422, "\(refused.text)")
            let command = "cornerstore buy hats --account \(anna) --quantity 2 --username 'a user'"
            #expect(refused.text.unescaped.contains("<code>\(command)</code>"), "\(refused.text)")
            let other = try await browser.get("/sandbox/buy?product=hats")
            #expect(other.text.contains("<code>cornerstore buy hats</code>"))
        }
    }

    @Test func `The later of two editors is told after another mistake too`() async throws {
        try await RunningConsole.with { console in
            let (browser, managed) = (console.browser(), console.store.managed)
            _ = try await managed.register("com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            let coins = try await managed.createProduct(
                "coins", .consumable, in: nil, of: "com.example.drafts",
                document: .object(["displayPrice": .string("0.99")]), by: "anna")
            let (path, action) = ("/sandbox/managed/com.example.drafts/coins", "/change")
            let form = try await browser.get(path)
            _ = try await managed.changeProduct(
                "coins", of: "com.example.drafts", revision: coins.revision,
                keys: .object(["displayPrice": .string("1.99")]), by: "anna")
            let wrong = try await browser.submit(form, path + action, [("price", "much"), ("reference", "")])
            #expect(wrong.status == 422 && wrong.text.contains("must be a decimal"), "\(wrong.text)")
            let late = try await browser.submit(wrong, path + action, [("price", "2.99"), ("reference", "")])
            #expect(late.status == 422 && late.text.contains("Another editor has changed this."), "\(late.text)")
            // Whoever was told may decide.
            let again = try await browser.submit(late, path + action, [("price", "2.99"), ("reference", "")])
            #expect(again.status == 303, "\(again.text)")
        }
    }
    @Test func `An event that is refused keeps what was chosen`() async throws {
        try await RunningConsole.with { console in
            let (browser, tester) = (console.browser(), "tester@sandbox.example")
            let bought = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", tester), ("password", ""), ("product", "com.example.monkeys club.monthly"),
                    ("quantity", "1"), ("finish", "yes"),
                ])
            #expect(bought.status == 303, "\(bought.text)")
            let page = try await browser.get("/sandbox/subscriptions/\(tester)")
            let form = try #require(page.forms.first { $0.action.hasSuffix("/event") })
            let id = try #require(page.text.firstMatch(of: /<option value="([0-9]+)"/)).1
            let refused = try await browser.submit(
                page, form.action, [("id", String(id)), ("event", "extend"), ("days", "many"), ("product", "")])
            #expect(refused.status == 422 && refused.text.contains("Give a number of days"), "\(refused.text)")
            #expect(refused.text.contains("Subscriptions of \(tester)") && refused.text.contains("value=\"many\""))
            #expect(refused.text.contains("<option value=\"extend\" selected>"))
            let done = try await browser.submit(
                refused, form.action, [("id", String(id)), ("event", "expire"), ("days", ""), ("product", "")])
            #expect(done.status == 303, "\(done.text)")
        }
    }
}
