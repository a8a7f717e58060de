import Foundation

extension Section {
    /// An app's waiting times, compared with the same requests and flushes measured alone.
    static let app = Section(name: "app") { setting in
        let count = 200
        let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: data) }
        let store = try await StoreProcess.start(catalog: try StoreUnderLoad.catalog(), data: data)
        defer { store.child.stop() }
        guard let address = store.addresses["sandbox"] else { throw BenchmarkError("the store has no sandbox") }
        let found = try AppLoop.found(count, store: address, data: data, device: data.appending(path: "device"))
        let alone = found.alone
        func row(_ name: String, _ seconds: [Double]) -> String {
            "\(name) \(String(format: "%.2f", Rate.median(seconds) * 1000))"
        }
        print(
            "  alone, in ms: "
                + [
                    row("products", alone.products), row("purchase", alone.purchase),
                    row("its receipt", alone.transactionReceipt), row("app receipt", alone.appReceipt),
                    row("finish", alone.finish), row("a flush", alone.flush),
                ].joined(separator: ", "))
        print(
            "  the app, in ms: "
                + [row("products", found.products), row("purchase", found.purchase), row("finish", found.finish)]
                .joined(separator: ", "))
        return [
            .appProducts(Rate.median(found.products) / Rate.median(alone.products)),
            .appPurchase(
                (Rate.median(found.purchase) + Rate.median(found.finish)) / (alone.ofAPurchase + alone.ofAFinish)),
        ]
    }
}

extension RoundTrips {
    /// The price on the sheet, the purchase, both receipts; three commits of the journal (added, agreed to, purchased),
    /// and the receipt's file and folder.
    var ofAPurchase: Double {
        Rate.median(products) + Rate.median(purchase) + Rate.median(transactionReceipt) + Rate.median(appReceipt)
            + 5 * Rate.median(flush)
    }
    /// Two commits of the journal: finishing, and gone.
    var ofAFinish: Double { Rate.median(finish) + 2 * Rate.median(flush) }
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
