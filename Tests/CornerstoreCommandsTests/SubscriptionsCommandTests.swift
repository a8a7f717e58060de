import Foundation
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct SubscriptionsCommandTests {
    private func charge(_ subscription: [String: Any]) -> [String: Any]? {
        subscription["nextCharge"] as? [String: Any]
    }

    @Test func buyingALowerPlanSaysThatItWaits() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store in
            let bought = try await Program.run(["buy", "club.yearly", "--data", store.data, "--json"]).output.object()
            #expect(bought["until"] == nil)
            let answer = try await Program.run(["buy", "club.monthly", "--data", store.data, "--json"]).output.object()
            #expect(answer["productId"] as? String == "club.monthly")
            #expect(answer["transactionId"] as? String == bought["transactionId"] as? String)
            let until = try #require(answer["until"] as? [String: String])
            #expect(until["productId"] == "club.yearly" && until["expiresDate"]?.hasSuffix("Z") == true)
            // Back to the plan that the subscriber has, and down again, in words.
            #expect(try await Program.run(["buy", "club.yearly", "--data", store.data]).output.hasPrefix("Bought"))
            let text = try await Program.run(["buy", "club.monthly", "--data", store.data]).output
            #expect(text.hasPrefix("club.monthly begins with the next renewal, on "))
            #expect(text.contains("club.yearly is paid until then."))
        }
    }

    @Test func theCustomerTurnsRenewalOffAndOnInTheTerminal() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store in
            #expect(await store.run("subscriptions").output.hasPrefix("The account has no subscriptions."))
            let nothing = await store.run("subscriptions cancel")
            #expect(nothing.status == 1 && nothing.errors.contains("no subscription whose renewal can be turned off"))
            _ = try await store.buy("club.monthly")

            let table = await store.run("subscriptions").output
            #expect(table.contains("next charge") && table.contains("5.99 USD") && table.contains("A Year of the Club"))
            #expect(table.contains("49.99 USD") && table.contains("now"))
            let listed = try await store.run("subscriptions list --json --app com.example.app").output.objects()
            #expect(listed.map { $0["productId"] as? String } == ["club.monthly"])
            #expect(await store.run("subscriptions --app com.example.none").output.hasPrefix("The account has no"))

            let off = try await store.run("subscriptions cancel --json").output.object()
            #expect(off["willRenew"] as? Bool == false && charge(off) == nil)
            let again = await store.run("subscriptions cancel")
            #expect(again.status == 1)
            #expect(try await store.run("subscriptions cancel club.monthly --json").output.object().count == off.count)
            let on = try await store.run("subscriptions enable --json").output.object()
            #expect(on["willRenew"] as? Bool == true && charge(on)?["productId"] as? String == "club.monthly")
            let strange = await store.run("subscriptions enable gym.monthly")
            #expect(strange.status == 1 && strange.errors.contains("no subscription to gym.monthly"))

            // The operator changes one of two.
            _ = try await store.buy("gym.monthly")
            let cancel = "subscription cancel tester@sandbox.example"
            let several = await store.run(cancel)
            #expect(several.status == 2 && several.errors.contains("gym.monthly of com.example.app"))
            let other = await store.run(cancel, "--product gym.monthly --app com.example.none")
            #expect(other.status == 1 && other.errors.contains("no such subscription"))
            #expect(await store.run(cancel, "--product gym.monthly --app com.example.app").status == 0)
        }
    }

    @Test func theCustomerChangesThePlanInTheTerminal() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store in
            _ = try await store.buy("club.monthly")
            let dearer = await store.run("subscriptions change club.yearly --price 48.99")
            #expect(dearer.status == 1 && dearer.errors.contains("price has changed"))
            #expect(await store.run("subscriptions change club.yearly --price x").status == 2)
            let none = await store.run("subscriptions change gym.monthly")
            #expect(none.status == 1 && none.errors.contains("The plans are: club.yearly."))
            let changed = await store.run("subscriptions change club.yearly --price 49.99")
            #expect(changed.status == 0 && changed.output.contains("A Year of the Club begins now."))
            let lower = try await store.run("subscriptions change club.monthly --json").output.object()
            #expect(lower["productId"] as? String == "club.yearly")
            #expect(charge(lower)?["productId"] as? String == "club.monthly")
        }
    }

    @Test func thePageIsNamedAndADeviceSignsIn() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store in
            _ = try await store.buy("club.yearly")
            let page = await store.run("subscriptions page").output
            #expect(page.hasPrefix(store.addresses.storefront + "/subscriptions"))
            // A device that exists signs in; another path is no device.
            let device = store.directory.path("phone")
            try FileManager.default.createDirectory(atPath: device, withIntermediateDirectories: true)
            try Data(UUID().uuidString.utf8).write(to: URL(fileURLWithPath: device + "/device-id"))
            #expect(await store.run("subscriptions --device", device).output.contains("club.yearly"))
            let wrong = await store.run("subscriptions --device", store.directory.path("nowhere"))
            #expect(wrong.status == 1 && wrong.errors.contains("There is no device"))
        }
    }
}
