import Foundation
import StoreKit
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct CustomerCommandTests {
    private static let email = "tester@sandbox.example"

    @Test func errorsAreOrderedByName() async throws {
        try await RunningStore.with { store in
            let ordered = try await store.run("fault order purchases paymentNotAllowed --count 2 --json").output
                .objects()
            #expect(ordered.map { $0["error"] as? String } == ["paymentNotAllowed"])
            #expect(ordered[0]["status"] == nil && ordered[0]["count"] as? Int == 2)
            #expect(await store.run("fault order products SSServerErrorDomain/5002").status == 0)
            let list = await store.run("fault").output
            #expect(list.contains("paymentNotAllowed") && list.contains("SSServerErrorDomain/5002"))
            #expect(await store.run("fault order purchases SSServerErrorDomain/7").status == 2)
        }
    }

    @Test func anAccountsSimulatedConditionsAreSetAndShown() async throws {
        try await RunningStore.with { store in
            let changed = try await store.run("account change \(Self.email) --interrupts on --json").output.object()
            #expect(changed["interruptsPurchases"] as? Bool == true)
            let promoted = await store.run("promote com.example.app.pro --account \(Self.email)")
            #expect(promoted.status == 0 && promoted.output.hasPrefix("Promoted."))
            #expect(await store.run("promote com.example.app.none --account \(Self.email)").status == 1)
            #expect(await store.run("promote com.example.app.pro --account nobody@example.com").status == 1)
            let code = try await store.run("code add com.example.app.pro --json").output.object()
            #expect(code["productId"] as? String == "com.example.app.pro" && code["transactionId"] == nil)
            let shown = try #require(code["code"] as? String)
            let codes = await store.run("code").output
            #expect(codes.contains(shown) && codes.contains("not redeemed"))
            #expect(await store.run("price-increase --account \(Self.email)").output == "No price increases.\n")
            // It is no subscription.
            #expect(
                await store.run("price-increase add com.example.app.pro 9.99 --account \(Self.email)").status == 1)
            #expect(
                await store.run("price-increase add com.example.app.pro much --account \(Self.email)").status == 2)
            #expect(await store.run("transaction refund 2000000000000001").status == 1)
            #expect(await store.run("transaction refund 2000000000000001 --reason whim").status == 2)
            #expect(await store.run("purchase resolve 8C5B3A5E-0000-0000-0000-000000000000").status == 1)
        }
    }

    private static let club = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.app
            name: Club
            products:
              - productID: coins
                type: Consumable
                displayPrice: 0.99
                availability: { only: [USA] }
                localizations:
                  - { locale: en_US, displayName: Coins, description: Ten coins. }
                  - { locale: de, displayName: Münzen, description: Zehn Münzen. }
            subscriptionGroups:
              - id: "21000001"
                name: Club
                subscriptions:
                  - productID: basic
                    groupNumber: 2
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 1.99
                  - productID: pro
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 4.99
        """

    @Test func subscribersPlansAndPriceIncreasesAreShown() async throws {
        try await RunningStore.with(yaml: Self.club) { store in
            #expect(await store.run("subscription").output == "Nobody subscribes in sandbox now.\n")
            #expect(
                await store.run("subscription show \(Self.email)").output == "The account has had no subscription.\n")
            for product in ["basic", "pro"] {
                // StoreKit is configured once in a process.
                let bought = try await Program.run(["buy", product, "--data", store.data])
                #expect(bought.status == 0, "\(bought.errors)")
            }
            let list = await store.run("subscription list --group 21000001 --product pro").output
            #expect(list.contains(Self.email) && list.contains("4.99 USD") && !list.contains("basic"))
            let periods = try await store.run("subscription show \(Self.email) --json").output.objects()
            #expect(periods.map { $0["step"] as? String } == ["upgrade", "first"])
            let newest = try #require(periods.first?["transactionId"] as? String)
            let older = await store.run("subscription show \(Self.email) --before \(newest)").output
            #expect(older.contains("basic") && !older.contains("upgrade"))
            #expect(await store.run("subscription show nobody@example.com").status == 1)
            #expect(await store.run("subscription list --limit 201").status == 2)

            #expect(await store.run("price-increase add pro 6.99 --account \(Self.email)").status == 0)
            let all = await store.run("price-increase list").output
            #expect(all.contains(Self.email) && all.contains("6.99 USD") && all.contains("none yet"))
            #expect(await store.run("price-increase withdraw pro --account \(Self.email)").output == "Withdrawn.\n")
            #expect(await store.run("price-increase accept pro --account \(Self.email)").status == 1)
            #expect(await store.run("price-increase add pro 6.99 --account \(Self.email)").status == 0)
            let accepted = await store.run("price-increase accept pro --account \(Self.email)").output
            #expect(accepted.contains("6.99 USD") && accepted.contains("accepted"))
            #expect(await store.run("price-increase decline pro --account \(Self.email)").status == 1)
            #expect(await store.run("price-increase add pro 7.99 --account \(Self.email)").status == 0)
            #expect(
                await store.run("price-increase decline pro --account \(Self.email)").output.contains("declined"))
            #expect(await store.run("price-increase add pro 8.99 --account \(Self.email)").status == 0)
            #expect(await store.run("price-increase withdraw pro --account \(Self.email)").status == 0)
            #expect(await store.run("price-increase").output == "No price increases.\n")
            #expect(
                await store.run("price-increase withdraw pro --app com.example.app --account \(Self.email)").status == 1
            )
        }
    }

    @Test func aFamilySharesAndStopsSharing() async throws {
        let yaml = Self.club.replacing(
            "- productID: basic\n", with: "- productID: basic\n            familyShareable: true\n")
        try await RunningStore.with(yaml: yaml) { store in
            let ben = "ben@example.com"
            let password = store.directory.path("password")
            try Data("correct horse\n".utf8).write(to: URL(fileURLWithPath: password))
            #expect(await store.run("account create \(ben) --password-file", password).status == 0)
            #expect(await store.run("family").output == "No families in sandbox.\n")
            #expect(await store.run("family show \(ben)").status == 1)
            #expect(await store.run("family create \(Self.email)").status == 0)
            let family = try await store.run("family add \(Self.email) \(ben) --json").output.object()
            let members = try #require(family["members"] as? [[String: Any]])
            #expect(members.map { $0["account"] as? String } == [Self.email, ben])
            #expect(await store.run("family add \(Self.email) \(ben)").status == 1)
            let bought = try await Program.run(["buy", "basic", "--data", store.data])
            #expect(bought.status == 0, "\(bought.errors)")
            let shares = try await store.run("transaction list --account \(ben) --json").output.objects()
            let own = try await store.run("transaction list --account \(Self.email) --json").output.objects()
            #expect(shares.count == 1 && shares.first?["price"] as? String == "0")
            #expect(shares.first?["sharedFrom"] as? String == own.first?["transactionId"] as? String)
            func state() async throws -> String? {
                let all = try await store.run("subscription state \(ben) --json").output.objects()
                #expect(all.count == 1 && all.first?["sharedBy"] as? String == family["organizerId"] as? String)
                return all.first?["state"] as? String
            }
            #expect(try await state() == "active")
            #expect(await store.run("subscription cancel \(ben)").status == 1)
            let shown = await store.run("account show \(ben)").output
            #expect(shown.contains("Family") && shown.contains("organizer"))
            #expect(await store.run("family share \(Self.email) off").output.contains("off"))
            #expect(try await state() == "revoked")
            #expect(await store.run("family share \(Self.email) on").status == 0)
            #expect(try await state() == "active")
            #expect(await store.run("family remove \(ben)").status == 0)
            #expect(try await state() == "revoked")
            #expect(await store.run("family").output.contains(Self.email))
            #expect(await store.run("family create \(ben)").status == 0)
            let first = await store.run("family list --limit 1")
            let after = try #require(first.errors.firstMatch(of: /--after (\S+)\./), "\(first.errors)").1
            let second = await store.run("family list --limit 1 --after \(after)")
            #expect(second.errors.isEmpty && first.output.contains(ben) != second.output.contains(ben))
            #expect(await store.run("family delete \(Self.email)").output == "Deleted.\n")
            #expect(await store.run("family list --limit 0").status == 2)
        }
    }

    @Test func aPreviewIsWhatADeviceGets() async throws {
        try await RunningStore.with(yaml: Self.club) { store in
            let shown = await store.run("app preview com.example.app").output
            #expect(shown.contains("$0.99") && shown.contains("Ten coins.") && shown.contains("P1M"))
            let german = try await store.run(
                "app preview com.example.app --product basic --storefront DEU --language de --json"
            ).output.object()
            #expect(german["storefront"] as? String == "DEU")
            let invalid = await store.run("app preview com.example.app --storefront DEU --language de").output
            #expect(invalid.contains("not available in the storefront DEU") && !invalid.contains("Zehn"))
            let other = await store.run("app preview com.example.app --product Coins").output
            #expect(other.contains("It has coins, written differently."))
            let owner = try await store.run("app preview com.example.app --account \(Self.email) --json").output
                .object()
            #expect(owner["account"] as? String == Self.email && owner["paymentsAllowed"] as? Bool == true)
            let first = try await store.run("app preview com.example.app --limit 1 --json").output.object()
            #expect(first["next"] as? String == "coins")
            #expect(await store.run("app preview com.example.none").status == 1)
            #expect(await store.run("app preview com.example.app --storefront XXX").status == 1)
            #expect(await store.run("app preview com.example.app --limit 0").status == 2)
        }
    }

    @Test func aDeviceIsRestricted() async throws {
        try await RunningStore.with { store in
            let off = try await store.run("device payments off --json").output.object()
            let folder = try #require(off["device"] as? String)
            #expect(off["allowsPayments"] as? Bool == false && folder.hasPrefix(store.data))
            #expect(!DeviceRestrictions(deviceFolder: URL(fileURLWithPath: folder)).allowsPayments)
            #expect(await store.run("device payments on").output.hasPrefix("Purchases are allowed on "))
            #expect(DeviceRestrictions(deviceFolder: URL(fileURLWithPath: folder)).allowsPayments)
            let other = store.directory.path("phone")
            // What is no device does not become one.
            let missing = await store.run("device payments off --device", other)
            #expect(missing.status == 1 && missing.errors.contains("There is no device in \(other)"))
            #expect(!FileManager.default.fileExists(atPath: other))
            try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
            #expect(await store.run("device payments off --device", other).status == 1)
            try Data("5F1D2C3B-0A99-4E88-9D77-665544332211\n".utf8).write(
                to: URL(fileURLWithPath: other).appendingPathComponent("device-id"))
            #expect(await store.run("device payments off --device", other).status == 0)
            #expect(!DeviceRestrictions(deviceFolder: URL(fileURLWithPath: other)).allowsPayments)
            #expect(await store.run("device payments maybe").status == 2)
            #expect(await store.run("device payments off --device /dev/null/phone").status == 1)
        }
    }

    @Test(arguments: [
        "device", "device payments", "promote", "code", "code add", "price-increase", "price-increase add",
        "price-increase withdraw", "price-increase accept", "price-increase decline",
        "subscription", "subscription list", "subscription show", "app preview",
        "transaction refund", "purchase resolve", "review", "review list", "review show", "review answer",
        "review hide",
        "review unhide",
    ])
    func helpIsOnStandardOutput(_ line: String) async {
        let result = await Capture.run(line.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.status == 0 && !result.output.isEmpty && result.errors.isEmpty)
    }

    @Test(arguments: [
        "device", "promote", "code", "price-increase", "subscription list", "subscription show", "app preview",
        "transaction refund", "review list", "review show",
        "review answer", "review hide", "review unhide",
    ])
    func helpHasExamples(_ command: String) throws {
        #expect(try CommandText.discussion(of: command).contains("  cornerstore \(command)"))
    }
}
