import Foundation
import PurchaseVault
import Testing

@testable import MonkeyCredits
@testable import StoreKit

@Suite("Monkey Credits", .timeLimit(.minutes(1)))
@MainActor
struct MonkeyCreditsTests {
    private let player = Player(identifier: UUID())

    /// Whether a receipt carries the player's identifier.
    private func names(_ player: Player, in receipt: Data) -> Bool {
        String(decoding: receipt, as: UTF8.self).lowercased().contains(player.identifier.uuidString.lowercased())
    }

    private func vault(_ configuration: StoreKitConfiguration) async throws -> PurchaseVault {
        try await PurchaseVault(VaultConfiguration(storeKit: configuration, grants: CreditPack.grants) { Date() })
    }

    /// Opens the shop, does something once the prices are there, and gives the events up to `last`.
    private func shop(
        _ store: SampleStore, _ configuration: StoreKitConfiguration, _ vault: PurchaseVault, until last: Int,
        _ act: (MonkeyStore) -> Void = { _ in }, prepare: (MonkeyStore) -> Void = { _ in }
    ) async -> [MonkeyStore.Event] {
        let engine = store.launch(configuration)
        let (events, event) = AsyncStream.makeStream(of: MonkeyStore.Event.self)
        let queue = SKPaymentQueue(engine: engine)
        let shop = MonkeyStore(queue: queue, vault: vault, player: player) { event.yield($0) }
        shop.makePriceRequest = { SKProductsRequest(productIdentifiers: $0, engine: engine) }
        shop.makeReceiptRequest = { SKReceiptRefreshRequest(receiptProperties: nil, engine: engine) }
        prepare(shop)
        shop.open()
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

    @Test func `credits that could not be saved are granted once at the next launch`() async throws {
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

    @Test func `a declined purchase shows the store's text, and a cancelled one shows none`()
        async throws
    {
        try await SampleStore.with { store in
            let cancelling = store.device("device", app: "com.example.monkeys", answer: .cancel)
            let vault = try await vault(cancelling)
            #expect(await shop(store, cancelling, vault, until: 2, buy(0)) == [.pricesChanged, .purchaseCancelled])
            try await store.control("payment-rules", #"{"name":"no","count":1}"#)
            // Another device, where no cancelled payment waits to be told again.
            let buying = store.device("other", app: "com.example.monkeys")
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

    /// A device that does not reach the store for its first requests of prices.
    private func pricesComeLate(
        _ store: SampleStore, failures: Int,
        _ body: (MonkeyStore, SKPaymentQueue, Later, AsyncStream<MonkeyStore.Event>) async -> Void
    ) async throws {
        let device = store.device("device", app: "com.example.monkeys")
        let vault = try await vault(device)
        let engine = store.launch(device)
        let down = store.launch(store.device("down", app: "com.example.monkeys", isReachable: false))
        let (events, event) = AsyncStream.makeStream(of: MonkeyStore.Event.self)
        let queue = SKPaymentQueue(engine: engine)
        let shop = MonkeyStore(queue: queue, vault: vault, player: player) { event.yield($0) }
        var requests = 0
        shop.makePriceRequest = { identifiers in
            requests += 1
            return SKProductsRequest(productIdentifiers: identifiers, engine: requests > failures ? engine : down)
        }
        let later = Later()
        shop.after = { later.put($0, $1) }
        shop.open()
        await body(shop, queue, later, events)
        shop.close()
        for engine in [engine, down] { await engine.stop() }
    }

    /// What is to be done later, until the test says so.
    @MainActor
    private final class Later {
        private(set) var delays: [Double] = []
        private var bodies: [@MainActor () -> Void] = []
        private let (puts, put) = AsyncStream.makeStream(of: Void.self)

        func put(_ seconds: Double, _ body: @escaping @MainActor () -> Void) {
            delays.append(seconds)
            bodies.append(body)
            put.yield()
        }

        /// Waits until something else is to be done later.
        func next() async { for await _ in puts { return } }

        /// Does all that was put so far, the oldest first, also what was done before.
        func fire() { for body in bodies { body() } }
    }

    @Test func `price requests are repeated with growing pauses until the store answers`() async throws {
        try await SampleStore.with { store in
            try await pricesComeLate(store, failures: 3) { shop, _, later, events in
                var buttons: [String] = []
                var seen: [MonkeyStore.Event] = []
                for await event in events where event != .queueChanged {
                    seen.append(event)
                    buttons.append(shop.button(for: CreditPack.all[0], canMakePayments: true))
                    if seen.count == 2 { break }
                    for _ in 1...3 {
                        await later.next()
                        // What is due from earlier turns asks nothing.
                        later.fire()
                    }
                }
                #expect(seen == [.pricesChanged, .pricesChanged])
                #expect(buttons == ["Network down?", "Buy 5 credits  $0.99"])
                #expect(later.delays == [2, 4, 8])
            }
        }
    }

    @Test func `prices are requested at once when the queue receives something from the store`() async throws {
        try await SampleStore.with { store in
            try await pricesComeLate(store, failures: 1) { shop, queue, later, events in
                var seen: [MonkeyStore.Event] = []
                for await event in events where event != .queueChanged {
                    seen.append(event)
                    if seen.count == 1 {
                        let payment = SKMutablePayment()
                        payment.productIdentifier = CreditPack.all[0].productIdentifier
                        queue.add(payment)
                    }
                    if seen.count == 3 { break }
                }
                #expect(seen.filter { $0 == .pricesChanged }.count == 2 && seen.contains(.credited(5)))
                #expect(shop.product(of: CreditPack.all[0]) != nil)
                #expect(later.delays == [2])
            }
        }
    }

    @Test func `payments name the player, who is the same at every launch`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.monkeys")
            let vault = try await vault(device)
            let file = try #require(device.receiptURL)
            var receipt = Data()
            _ = await shop(store, device, vault, until: 2) { shop in
                // A consumable stands in the receipt until it is finished.
                shop.beforeGrant = { receipt = (try? Data(contentsOf: file)) ?? Data() }
                buy(0)(shop)
            }
            #expect(names(player, in: receipt) && !names(Player(identifier: UUID()), in: receipt))
            let folder = store.folder.appendingPathComponent("player")
            let made = try Player(folder: folder)
            #expect(try Player(folder: folder) == made)
            try Data("nobody".utf8).write(to: folder.appendingPathComponent("player"))
            #expect(try Player(folder: folder) != made)
        }
    }

    @Test func `a promoted purchase is made for the player after the current one`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.monkeys")
            let vault = try await vault(device)
            #expect(await shop(store, device, vault, until: 2, buy(0)) == [.pricesChanged, .credited(5)])
            try await store.control(
                "promoted",
                #"{"bundleId":"com.example.monkeys","productId":"com.example.monkeys.credits10","account":"ape@example.com"}"#
            )
            let file = try #require(device.receiptURL)
            var receipt = Data()
            let events = await shop(
                store, device, vault, until: 3,
                prepare: { shop in shop.beforeGrant = { receipt = (try? Data(contentsOf: file)) ?? Data() } })
            let expected: [MonkeyStore.Event] = [.pricesChanged, .promoted(CreditPack.all[1]), .credited(10)]
            #expect(events.count == 3 && expected.allSatisfy(events.contains), "\(events)")
            #expect(vault.balance(CreditPack.currency) == 15)
            #expect(names(player, in: receipt))
        }
    }

    @Test func `credits without a receipt wait for a fresh one`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.monkeys")
            let vault = try await vault(device)
            let receipt = try #require(device.receiptURL)
            var removed = 0
            let events = await shop(store, device, vault, until: 2) { shop in
                shop.beforeGrant = {
                    // What another device's backup would leave here.
                    removed += 1
                    try? Data("another device's".utf8).write(to: receipt)
                }
                buy(0)(shop)
            }
            #expect(events == [.pricesChanged, .credited(5)] && removed == 1)
            #expect(vault.balance(CreditPack.currency) == 5)
        }
    }

    @Test func `a player with another storefront is informed and sees its prices`() async throws {
        try await SampleStore.with { store in
            try await store.control(
                "accounts",
                #"{"email":"affe@example.com","password":"\#(SampleStore.password)","storefront":"DEU"}"#)
            var device = store.device("device", app: "com.example.monkeys")
            device.sheet = AutomaticPaymentSheet(
                answer: .buy,
                credentials: StoreCredentials(email: "affe@example.com", password: SampleStore.password))
            let vault = try await vault(device)
            var isBought = false
            let events = await shop(store, device, vault, until: 4) { shop in
                if !isBought { buy(0)(shop) }
                isBought = true
            }
            #expect(events.filter { $0 == .pricesChanged }.count == 2)
            #expect(events.contains(.continued(country: "DEU")) && events.contains(.credited(5)))
        }
    }

    @Test func `arguments are parsed, and wrong ones are refused with a message`() throws {
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
