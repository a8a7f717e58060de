import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import Console

@Suite("The commands of the console's pages", .timeLimit(.minutes(1))) struct ConsoleCommandTests {
    /// The lines of a page that begin with a command.
    private static func lines(_ page: TestBrowser.Page) -> [String] {
        page.text.matches(of: /<code>(cornerstore [^<]*)<\/code>/).map { String($0.1).unescaped }
    }

    @Test func `a command does what the page with its filters and choices does`() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let list = try await browser.get(
                "/sandbox/transactions?product=hats&kind=nonConsumable&state=finished&from=2026-01-31&until=2027-01-01")
            let dates = "--from 2026-01-31T00:00:00Z --until 2027-01-01T00:00:00Z"
            #expect(
                Self.lines(list) == [
                    "cornerstore transaction list --product hats --kind nonConsumable --state finished \(dates)"
                ])
            ConsoleFormTests.checkCommands(list.text, "transactions")

            let buy = try await browser.get("/sandbox/buy?product=com.example.monkeys%20hats")
            #expect(Self.lines(buy) == ["cornerstore buy hats"])

            let id = try await console.buy(browser)
            let (path, refund) = ("/sandbox/transactions/\(id)", "cornerstore transaction refund \(id)")
            let question = try await browser.get(path + "/refund")
            #expect(Self.lines(question) == [refund])
            #expect(try await browser.submit(question, path + "/refund", [("reason", "other")]).status == 303)
            let reversal = try await browser.get(path + "/refund")
            #expect(Self.lines(reversal) == [refund + " --reverse"])
            #expect(reversal.text.contains("/transactions/\(id)/refund/reverse"))
            #expect(Self.lines(try await browser.get(path)).contains(refund + " --reverse"))
            ConsoleFormTests.checkCommands(reversal.text, "reversal")
        }
    }

    @Test func `a command names the app when there are several`() async throws {
        try await RunningConsole.with { console in
            let (managed, bundle) = (console.store.managed, BundleID("com.example.drafts"))
            let app = try await managed.register(bundle, name: nil, sellsInAppPurchases: true, by: "anna")
            _ = try await managed.setGroup(
                "21000009", of: bundle, revision: app.revision, name: "Club", localizations: nil, by: "anna")
            let browser = console.browser()
            let path = "/sandbox/managed/com.example.drafts"
            let empty = try await browser.get(path)
            _ = try await managed.createProduct(
                "club", .autoRenewableSubscription, in: "21000009", of: bundle,
                document: .object([
                    "displayPrice": .string("3.99"), "groupNumber": .number("1"),
                    "recurringSubscriptionPeriod": .string("P1M"),
                ]), by: "anna")
            let draft = try await browser.get(path + "/club")
            for (page, start) in [(empty, "product create"), (draft, "product set"), (draft, "product offer")] {
                let lines = Self.lines(page).filter { $0.hasPrefix("cornerstore \(start) ") }
                #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(" --app com.example.drafts ") }, "\(lines)")
                ConsoleFormTests.checkCommands(page.text, start)
            }
            let buy = try await browser.get("/sandbox/buy?product=com.example.monkeys%20hats")
            #expect(Self.lines(buy) == ["cornerstore buy hats --app com.example.monkeys"])
        }
    }
}
