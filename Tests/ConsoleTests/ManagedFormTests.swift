import Store
import StoreWire
import Testing

@testable import Console

@Suite("Forms of the managed catalog", .timeLimit(.minutes(1))) struct ManagedFormTests {
    @Test func `An introductory offer keeps the name that its form does not show`() async throws {
        try await RunningConsole.with { console in
            let (browser, managed) = (console.browser(), console.store.managed)
            let app = try await managed.register("com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            _ = try await managed.setGroup(
                "21000009", of: "com.example.drafts", revision: app.revision, name: "Club", localizations: nil,
                by: "anna")
            let offer: JSONValue = .object([
                "referenceName": .string("Spring"), "paymentMode": .string("free"),
                "subscriptionPeriod": .string("P1W"),
            ])
            _ = try await managed.createProduct(
                "club", .autoRenewableSubscription, in: "21000009", of: "com.example.drafts",
                document: .object([
                    "displayPrice": .string("3.99"), "groupNumber": .number("1"),
                    "recurringSubscriptionPeriod": .string("P1M"), "introductoryOffers": .array([offer]),
                ]), by: "anna")
            let path = "/sandbox/managed/com.example.drafts/club"
            let saved = try await browser.submit(
                try await browser.get(path), path + "/introductory",
                [("payment", "free"), ("period", "P1M"), ("periods", "1"), ("price", "")])
            #expect(saved.status == 303, "\(saved.text)")
            let offers = try managed.product("club", of: "com.example.drafts").product.subscription?.introductoryOffers
            #expect(offers?.map(\.referenceName) == ["Spring"])
            #expect(offers?.map(\.period) == [SubscriptionPeriod(unit: .month, count: 1)])
        }
    }
}
