import Foundation
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct OfferCodeCommandTests {
    @Test func codesAreCreatedAndRedeemed() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store in
            #expect(await store.run("offer-code").output == "No offer codes.\n")
            let lines = await store.run("offer-code create-batch club.monthly --offer Spring --count 3")
            let codes = lines.output.split(separator: "\n").map(String.init)
            #expect(lines.status == 0 && codes.count == 3 && codes.allSatisfy { $0.count == 18 })
            let custom = try await store.run(
                "offer-code create-custom club.monthly spring26 --offer Spring --limit 2 --expires 2099-01-01T00:00:00Z --json"
            ).output.object()
            #expect(custom["customCode"] as? String == "SPRING26" && custom["count"] as? Int == 2)
            let id = try #require(custom["batchId"] as? String)
            #expect(await store.run("offer-code show \(id) --codes").output == "SPRING26\n")

            let redeemed = await store.run("redeem \(codes[0])")
            #expect(redeemed.status == 0 && redeemed.output.contains("Redeemed club.monthly"))
            let again = await store.run("redeem SPRING26")
            #expect(again.status == 1 && again.errors.contains("redeemed a code of this offer before"))
            let list = await store.run("offer-code list").output
            #expect(list.contains("1 of 3") && list.contains("0 of 2") && list.contains("SPRING26"))
            #expect(await store.run("offer-code deactivate \(id)").output.hasPrefix("Deactivated."))
            #expect(await store.run("offer-code show \(id)").output.contains(" no"))

            #expect(await store.run("redeem NOTHING").status == 1)
            #expect(await store.run("redeem NOTHING --app com.example.none").errors.contains("does not have the app"))
            #expect(await store.run("offer-code create-batch club.monthly --offer Autumn --count 3").status == 1)
            let date = await store.run(
                "offer-code create-custom club.monthly A --offer Spring --limit 2 --expires soon")
            #expect(date.status == 2 && date.errors.contains("is not a valid date"))
        }
    }

    @Test func aFormerSubscriberComesBack() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store in
            _ = await store.run("offer-code create-custom club.monthly A --offer Spring --limit 1")
            #expect(await store.run("redeem a").status == 0)
            #expect(await store.run("subscriptions cancel").status == 0)
            #expect(await store.run("clock advance 2mo").status == 0)
            let table = await store.run("subscriptions").output
            #expect(table.contains("return") && table.contains("0 USD P1M, then 5.99 USD P1M"))
            let none = await store.run("subscriptions change club.monthly --offer nothing")
            #expect(none.status == 1 && none.errors.contains("The offers are: return."))
            let back = await store.run("subscriptions change club.monthly --offer return")
            #expect(back.status == 0 && back.output.contains("begins now"))
            let row = try await store.run("transaction list --json").output.objects().first
            #expect(row?["price"] as? String == "0")
        }
    }
}
