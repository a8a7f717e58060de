import Store
import Testing

@testable import Console

@Suite(.timeLimit(.minutes(1))) struct OfferCodeFormTests {
    @Test func offerCodesExpireWhenTheFormSays() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let action = "/sandbox/subscriptions/offer-codes"
            func make(_ expires: String) async throws -> TestBrowser.Page {
                let page = try await browser.get("/sandbox/subscriptions")
                #expect(page.text.contains("name=\"expires\""))
                return try await browser.submit(
                    page, action,
                    [
                        ("offer", "com.example.monkeys club.monthly Spring"), ("count", "2"), ("code", ""),
                        ("expires", expires),
                    ])
            }
            for typed in ["", "2099-01-31", "2099-01-31 12:30:00", "2099-01-31T12:30:00Z"] {
                let made = try await make(typed)
                #expect(made.status == 303, "\(typed): \(made.text)")
            }
            for wrong in ["tomorrow", "2099-02-30", "2001-01-01"] {
                let refused = try await make(wrong)
                #expect(refused.status == 422 && refused.text.contains(wrong), "\(wrong)")
            }
            let dates = try await console.store.sandbox.offerCodeBatches().map(\.expiresAt)
            #expect(dates.count == 4)
            #expect(dates.compactMap(\.self).sorted() == [4_073_500_800_000, 4_073_545_800_000, 4_073_545_800_000])
        }
    }
}
