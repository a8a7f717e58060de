import Foundation
import PurchaseVault
import Testing

@testable import PhotoFilters
@testable import StoreKit

@Suite("Photo Filters", .timeLimit(.minutes(1)))
@MainActor
struct PhotoFiltersTests {
    private func vault(_ configuration: StoreKitConfiguration) async throws -> PurchaseVault {
        try await PurchaseVault(VaultConfiguration(storeKit: configuration, grants: PhotoFilter.grants) { Date() })
    }

    /// Opens the shop, does something once the prices are there, and gives the events until `isLast` says so and
    /// nothing is under way.
    private func shop(
        _ store: SampleStore, _ configuration: StoreKitConfiguration, _ vault: PurchaseVault,
        _ act: (PhotoStore) -> Void, until last: PhotoStore.Event
    ) async -> [PhotoStore.Event] {
        let engine = store.launch(configuration)
        let (events, event) = AsyncStream.makeStream(of: PhotoStore.Event.self)
        let shop = PhotoStore(queue: SKPaymentQueue(engine: engine), vault: vault) { event.yield($0) }
        shop.makePriceRequest = { SKProductsRequest(productIdentifiers: $0, engine: engine) }
        shop.open()
        var seen: [PhotoStore.Event] = []
        for await event in events {
            if event != .queueChanged { seen.append(event) }
            if event == .pricesChanged { act(shop) }
            if seen.contains(last), !shop.isBusy { break }
        }
        shop.close()
        await engine.stop()
        return seen
    }

    private func buy(_ filter: PhotoFilter) -> (PhotoStore) -> Void {
        { shop in
            guard let product = shop.product(of: filter) else { return }
            shop.buy(product)
        }
    }

    @Test func `a filter is bought, restored on another device, and survives an edited vault`() async throws {
        try await SampleStore.with { store in
            let first = store.device("first", app: "com.example.photofilters")
            var vault = try await vault(first)
            var labels: [String] = []
            let bought = await shop(
                store, first, vault,
                { shop in
                    labels = PhotoFilter.allCases.map(shop.label)
                    buy(.sepia)(shop)
                }, until: .unlocked(.sepia))
            #expect(bought == [.pricesChanged, .unlocked(.sepia)])
            #expect(labels == ["$1.99", "$0.99"])
            #expect(vault.unlockedProducts == [PhotoFilter.sepia.productIdentifier])

            let second = store.device("second", app: "com.example.photofilters")
            let other = try await self.vault(second)
            #expect(other.unlockedProducts == [])
            let restored = await shop(store, second, other, { $0.restore() }, until: .restored)
            #expect(restored == [.pricesChanged, .unlocked(.sepia), .restored])
            #expect(other.unlockedProducts == [PhotoFilter.sepia.productIdentifier])

            // Somebody edits the vault: it says so, and the receipt brings back what was bought, and no more.
            vault.close()
            let file = try VaultConfiguration(storeKit: first, grants: [:]) { Date() }.folder
                .appendingPathComponent("purchases.vault")
            try Data("sepia=yes mono=yes".utf8).write(to: file)
            vault = try await self.vault(first)
            #expect(vault.report.incidents == [.unreadable] && vault.unlockedProducts == [])
            let lines = await PhotoFiltersApp.repair(vault)
            #expect(lines.count == 2 && lines[1].contains("sepia"))
            #expect(vault.unlockedProducts == [PhotoFilter.sepia.productIdentifier])
            vault.close()
            vault = try await self.vault(first)
            #expect(await PhotoFiltersApp.repair(vault) == [])
        }
    }

    @Test func `a refunded filter is locked at a launch and after a restore`() async throws {
        try await SampleStore.with { store in
            let first = store.device("first", app: "com.example.photofilters")
            var vault = try await vault(first)
            _ = await shop(store, first, vault, buy(.sepia), until: .unlocked(.sepia))
            let second = store.device("second", app: "com.example.photofilters")
            let other = try await self.vault(second)
            _ = await shop(store, second, other, { $0.restore() }, until: .restored)
            try await store.refundAll()

            // The store tells at the next launch, and the filter stays away.
            let told = await shop(store, first, vault, { _ in }, until: .revoked(.sepia))
            #expect(told.filter { $0 == .revoked(.sepia) }.count == 1 && vault.unlockedProducts == [])
            vault.close()
            vault = try await self.vault(first)
            #expect(vault.report.isClean && vault.unlockedProducts == [])

            // On a device that has a fresh receipt and was told nothing, the end of a restore looks into it.
            let engine = store.launch(second)
            #expect(await engine.refreshReceipt(nil) == nil)
            let (events, event) = AsyncStream.makeStream(of: PhotoStore.Event.self)
            let queue = SKPaymentQueue(engine: engine)
            let shop = PhotoStore(queue: queue, vault: other) { event.yield($0) }
            shop.paymentQueueRestoreCompletedTransactionsFinished(queue)
            var seen: [PhotoStore.Event] = []
            for await event in events {
                seen.append(event)
                if event == .restored { break }
            }
            #expect(seen == [.revoked(.sepia), .restored] && other.unlockedProducts == [])
            await engine.stop()
        }
    }

    @Test func `without a receipt the repair says what to do, and restoring an empty account ends`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.photofilters")
            var vault = try await vault(device)
            vault.close()
            let folder = try VaultConfiguration(storeKit: device, grants: [:]) { Date() }.folder
            try Data("x".utf8).write(to: folder.appendingPathComponent("purchases.vault"))
            vault = try await self.vault(device)
            let lines = await PhotoFiltersApp.repair(vault)
            #expect(lines.count == 2 && lines[1].contains("--restore"))
            let events = await shop(store, device, vault, { $0.restore() }, until: .restored)
            #expect(events == [.pricesChanged, .restored] && vault.unlockedProducts == [])
        }
    }

    @Test func `a cancelled purchase shows no message`() async throws {
        try await SampleStore.with { store in
            let device = store.device("device", app: "com.example.photofilters", answer: .cancel)
            let vault = try await vault(device)
            #expect(await shop(store, device, vault, buy(.mono), until: .cancelled) == [.pricesChanged, .cancelled])
            #expect(vault.unlockedProducts == [])
        }
    }

    @Test func `arguments are parsed, and wrong ones are refused with a message`() throws {
        let apply = try PhotoFiltersOptions(arguments: ["--apply", "sepia", "--in", "a.png", "--out", "b.png"])
        #expect(apply.action == .apply(.sepia) && apply.input == "a.png" && apply.output == "b.png")
        #expect(try PhotoFiltersOptions(arguments: []).action == .ask)
        #expect(try PhotoFiltersOptions(arguments: ["--buy", "com.example.photofilters.mono"]).action == .buy(.mono))
        for bad in [
            ["--buy"], ["--buy", "gold"], ["--apply", "sepia"], ["--out", "x"], ["--list", "--restore"], ["what"],
        ] {
            #expect(throws: PhotoFiltersOptions.Misuse.self) { try PhotoFiltersOptions(arguments: bad) }
        }
    }
}
