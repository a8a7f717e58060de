import Foundation
import PurchaseVault
import Testing

@testable import MonkeyCredits
@testable import StoreKit

@Suite("Monkey Credits", .timeLimit(.minutes(2)))
@MainActor
struct MonkeyCreditsTests {
    private func vault(_ configuration: StoreKitConfiguration) async throws -> PurchaseVault {
        try await PurchaseVault(VaultConfiguration(storeKit: configuration, grants: CreditPack.grants) { Date() })
    }

    /// Opens the shop, does something once the prices are there, and gives the events up to `last`.
    private func shop(
        _ store: SampleStore, _ configuration: StoreKitConfiguration, _ vault: PurchaseVault, until last: Int,
        _ act: (MonkeyStore) -> Void = { _ in }
    ) async -> [MonkeyStore.Event] {
        let engine = store.launch(configuration)
        let (events, event) = AsyncStream.makeStream(of: MonkeyStore.Event.self)
        let shop = MonkeyStore(queue: SKPaymentQueue(engine: engine), vault: vault) { event.yield($0) }
        shop.open(
            productsRequest: SKProductsRequest(
                productIdentifiers: Set(CreditPack.all.map(\.productIdentifier)), engine: engine))
        var seen: [MonkeyStore.Event] = []
        for await event in events where event != .queueChanged {
            seen.append(event)
            if event == .pricesChanged { act(shop) }
            if seen.count == last { break }
        }
        shop.close()
        await engine.stop()
        return seen
    }

    private func buy(_ pack: Int, quantity: Int = 1) -> (MonkeyStore) -> Void {
        { shop in
            guard let product = shop.product(of: CreditPack.all[pack]) else { return }
            shop.buy(product, quantity: quantity)
        }
    }

    @Test func `buying several adds them once, and prices are the store's`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.monkeys")
            let vault = try await vault(device)
            var buttons: [String] = []
            let events = await shop(store, device, vault, until: 2) { shop in
                buttons = CreditPack.all.map { shop.button(for: $0, canMakePayments: true) }
                buy(1, quantity: 3)(shop)
            }
            #expect(events == [.pricesChanged, .credited(30)])
            #expect(buttons == ["Buy 5 credits  $0.99", "Buy 10 credits  $1.99"])
            vault.close()
            let again = try await self.vault(device)
            #expect(again.balance(CreditPack.currency) == 30 && again.report.isClean)
        }
    }

    @Test func `credits that could not be saved come again at the next launch, once`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.monkeys")
            var vault = try await vault(device)
            let events = await shop(store, device, vault, until: 2) { shop in
                vault.close()
                buy(0)(shop)
            }
            guard case .purchaseFailed? = events.last else {
                Issue.record("\(events)")
                return
            }
            for expected in [5, 5] {
                vault = try await self.vault(device)
                // The first launch hears of the credits; the second of nothing but the prices.
                let isFirst = vault.balance(CreditPack.currency) == 0
                let events = await shop(store, device, vault, until: isFirst ? 2 : 1)
                #expect(events.contains(.credited(5)) == isFirst)
                #expect(vault.balance(CreditPack.currency) == expected)
                vault.close()
            }
        }
    }

    @Test func `a cancelled purchase is told apart from a declined one, which is told in the store's words`()
        async throws
    {
        try await SampleStore.with { store in
            let cancelling = store.device("device", app: "com.example.monkeys", answer: .cancel)
            let vault = try await vault(cancelling)
            #expect(await shop(store, cancelling, vault, until: 2, buy(0)) == [.pricesChanged, .purchaseCancelled])
            try await store.control("payment-rules", #"{"name":"no","count":1}"#)
            let buying = store.device("device", app: "com.example.monkeys")
            let events = await shop(store, buying, vault, until: 2, buy(0))
            guard case .purchaseFailed(let text)? = events.last else {
                Issue.record("\(events)")
                return
            }
            #expect(text.contains("declined"))
            #expect(vault.balance(CreditPack.currency) == 0)
        }
    }

    @Test func `the buttons say why nothing can be bought`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.monkeys", isReachable: false)
            let vault = try await vault(device)
            var buttons: [String] = []
            _ = await shop(store, device, vault, until: 1) { shop in
                buttons = [true, false].map { shop.button(for: CreditPack.all[0], canMakePayments: $0) }
            }
            #expect(buttons == ["Network down?", "AppStore disabled"])
        }
    }

    @Test func `arguments are read, and nonsense is refused with words`() throws {
        let options = try MonkeyCreditsOptions(arguments: [
            "--buy", "credits10", "--quantity", "4", "--crash-after", "purchased",
        ])
        #expect(options.purchase == .init(pack: CreditPack.all[1], quantity: 4))
        #expect(options.crashesAfterPurchased && !options.feeds)
        #expect(try MonkeyCreditsOptions(arguments: ["--feed"]).feeds)
        for bad in [
            ["--buy"], ["--buy", "bananas"], ["--quantity", "3"], ["--buy", "credits5", "--quantity", "11"], ["what"],
        ] {
            #expect(throws: MonkeyCreditsOptions.Misuse.self) { try MonkeyCreditsOptions(arguments: bad) }
        }
    }
}
