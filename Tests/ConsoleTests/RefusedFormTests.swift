import Store
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
}
