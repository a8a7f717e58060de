import Foundation

extension Section {
    /// What an app waits for, beside what it cannot do without: the same requests and flushes, each measured alone.
    static let app = Section(name: "app") { setting in
        let count = 200
        let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: data) }
        let store = try await StoreProcess.start(catalog: try StoreUnderLoad.catalog(), data: data)
        defer { store.child.stop() }
        guard let address = store.addresses["sandbox"] else { throw BenchmarkError("the store has no sandbox") }
        let parts = try await RoundTrips.measure(count, store: address, data: data)
        let found = try AppLoop.found(count, store: address, data: data, device: data.appending(path: "device"))
        let (products, purchase) = (Rate.median(found.products), Rate.median(found.purchase))
        let finish = Rate.median(found.finish)
        print(
            "  alone, in ms: products \(milliseconds(parts.products)), purchase \(milliseconds(parts.purchase)), "
                + "its receipt \(milliseconds(parts.transactionReceipt)), app receipt \(milliseconds(parts.appReceipt)), "
                + "finish \(milliseconds(parts.finish)), a flush \(milliseconds(parts.flush))")
        print(
            "  the app, in ms: products \(milliseconds(products)), purchase \(milliseconds(purchase)), "
                + "finish \(milliseconds(finish))")
        return [
            .appProducts(products / parts.products),
            .appPurchase((purchase + finish) / (parts.ofAPurchase + parts.ofAFinish)),
        ]
    }

    private static func milliseconds(_ seconds: Double) -> String { String(format: "%.2f", seconds * 1000) }
}

extension RoundTrips {
    /// The price on the sheet, the purchase, both receipts; three commits of the journal (added, agreed to, purchased), and the receipt's file and
    /// folder.
    var ofAPurchase: Double { products + purchase + transactionReceipt + appReceipt + 5 * flush }
    /// Two commits of the journal: finishing, and gone.
    var ofAFinish: Double { finish + 2 * flush }
}

extension Figure {
    /// `SKProductsRequest` from start to answer over its round trip alone.
    static func appProducts(_ value: Double) -> Figure {
        Figure(name: "app-products-over-parts", value: value, goal: .atMost(1.5))
    }
    /// A purchase and its finish, from `add(_:)` to `removedTransactions`, over the round trips and flushes in it.
    static func appPurchase(_ value: Double) -> Figure {
        Figure(name: "app-purchase-over-parts", value: value, goal: .atMost(1.5))
    }
}
