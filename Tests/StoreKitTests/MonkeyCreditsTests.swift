import Foundation
import Testing

@testable import MonkeyCredits
@testable import StoreKit

@Suite("Monkey Credits", .timeLimit(.minutes(1)))
struct MonkeyCreditsTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private var folder: URL { device.folder.appendingPathComponent("app") }

    /// Opens the shop, does something on the callback queue once the prices are there, and gives the events up to
    /// `last`.
    private func shop(
        _ configuration: StoreKitConfiguration? = nil, balance: CreditBalance, until last: Int,
        _ act: @escaping (MonkeyStore) -> Void
    ) async -> [MonkeyStore.Event] {
        let configuration = configuration ?? device.configuration()
        let engine = device.launch(configuration)
        let (events, event) = AsyncStream.makeStream(of: MonkeyStore.Event.self)
        let shop = MonkeyStore(queue: SKPaymentQueue(engine: engine), balance: balance) { event.yield($0) }
        shop.open(
            productsRequest: SKProductsRequest(
                productIdentifiers: Set(CreditPack.all.map(\.productIdentifier)), engine: engine))
        var seen: [MonkeyStore.Event] = []
        for await event in events where event != .queueChanged {
            seen.append(event)
            if event == .pricesChanged {
                let carried = Carried(object: (shop, act))
                configuration.callbackQueue.async { carried.object.1(carried.object.0) }
            }
            if seen.count == last { break }
        }
        shop.close()
        await engine.stop()
        return seen
    }

    @Test func `buying several adds them once, and prices are the store's`() async throws {
        let balance = try CreditBalance(folder: folder)
        let buttons = LockedList<String>()
        let events = await shop(balance: balance, until: 2) { shop in
            for pack in CreditPack.all { buttons.append(shop.button(for: pack, canMakePayments: true)) }
            guard let product = shop.product(of: CreditPack.all[1]) else { return }
            shop.buy(product, quantity: 3)
        }
        #expect(events == [.pricesChanged, .credited(30)])
        #expect(buttons.all == ["Buy 5 credits  $0.99", "Buy 10 credits  $0.99"])
        #expect(try CreditBalance(folder: folder).credits == 30)
    }

    @Test func `a cancelled purchase is told apart from a failed one`() async throws {
        let balance = try CreditBalance(folder: folder)
        let sheet = AutomaticPaymentSheet(
            answer: .cancel, credentials: StoreCredentials(email: "monkey@example.com", password: "bananas"))
        let buy: (MonkeyStore) -> Void = { shop in
            guard let product = shop.product(of: CreditPack.all[0]) else { return }
            shop.buy(product, quantity: 1)
        }
        #expect(
            await shop(device.configuration(sheet: sheet), balance: balance, until: 2, buy) == [
                .pricesChanged, .purchaseCancelled,
            ])
        #expect(balance.credits == 0)
    }

    @Test func `another failure is told in the store's words`() async throws {
        device.store.change { $0.declines = true }
        let events = await shop(balance: try CreditBalance(folder: folder), until: 2) { shop in
            guard let product = shop.product(of: CreditPack.all[0]) else { return }
            shop.buy(product, quantity: 1)
        }
        #expect(events == [.pricesChanged, .purchaseFailed("Your card was declined.")])
    }

    @Test func `the buttons say why nothing can be bought`() async throws {
        device.store.change { $0.isDown = true }
        let buttons = LockedList<String>()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        _ = await shop(balance: try CreditBalance(folder: folder), until: 1) { shop in
            buttons.append(shop.button(for: CreditPack.all[0], canMakePayments: true))
            buttons.append(shop.button(for: CreditPack.all[0], canMakePayments: false))
            end.yield()
        }
        for await _ in ends { break }
        #expect(buttons.all == ["Network down?", "AppStore disabled"])
    }

    @Test func `each transaction is granted once, over launches, and a broken file is not an empty balance`() throws {
        let balance = try CreditBalance(folder: folder)
        #expect(try balance.grant(5, for: "1"))
        #expect(try !balance.grant(5, for: "1"))
        let second = try CreditBalance(folder: folder)
        #expect(try !second.grant(5, for: "1"))
        #expect(second.credits == 5)
        try second.forget("1")
        #expect(second.credits == 5)
        try Data("{".utf8).write(to: folder.appendingPathComponent("balance.json"))
        #expect(throws: (any Error).self) { try CreditBalance(folder: folder) }
    }

    @Test func `arguments are read, and nonsense is refused with words`() throws {
        let options = try MonkeyCreditsOptions(arguments: [
            "--buy", "credits10", "--quantity", "4", "--crash-after", "purchased",
        ])
        #expect(options.purchase == .init(pack: CreditPack.all[1], quantity: 4))
        #expect(options.crashesAfterPurchased)
        for bad in [
            ["--buy"], ["--buy", "bananas"], ["--quantity", "3"], ["--buy", "credits5", "--quantity", "11"], ["what"],
        ] {
            #expect(throws: MonkeyCreditsOptions.Misuse.self) { try MonkeyCreditsOptions(arguments: bad) }
        }
    }
}
