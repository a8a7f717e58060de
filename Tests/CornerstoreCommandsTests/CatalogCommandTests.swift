import Foundation
import Store
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct CatalogCommandTests {
    private static let good = """
        {"identifier": "AB", "products": [{"displayPrice": "0.99", "familyShareable": false, "internalID": "1", "localizations": [], \
        "productID": "com.example.app.coins", "referenceName": "Coins", "type": "Consumable"}], "settings": {}, \
        "subscriptionGroups": [], "version": {"major": 3, "minor": 0}}
        """

    private func withFile(_ name: String, _ text: String, _ body: (TemporaryDirectory, String) async throws -> Void)
        async throws
    {
        try await TemporaryDirectory.with { directory in
            try Data(text.utf8).write(to: directory.url.appendingPathComponent(name))
            try await body(directory, directory.path(name))
        }
    }

    @Test func checkingGivesProductsAndNotes() async throws {
        try await withFile("A.storekit", Self.good) { _, file in
            let result = await Capture.run(["catalog", "check", file, "--json"])
            #expect(result.status == 0)
            let report = try result.output.object()
            #expect(report["valid"] as? Bool == true)
            let app = try #require((report["apps"] as? [[String: Any]])?.first)
            #expect(app["bundleId"] as? String == "com.example.app")
            let product = try #require((app["products"] as? [[String: String]])?.first)
            #expect(
                product == [
                    "productId": "com.example.app.coins", "kind": "consumable", "name": "Coins", "price": "0.99 USD",
                ])
            #expect((report["notes"] as? [String])?.count == 1)
            let given = await Capture.run(["catalog", "check", file + "=com.example.given", "--json"])
            #expect(given.output.contains("\"com.example.given\""))
        }
    }

    @Test(arguments: ["", "{", "[]", "{\"products\": 5}", "\u{0}\u{1}", String(repeating: "[", count: 100_000)])
    func badFilesAreNamedOnStandardError(_ text: String) async throws {
        try await withFile("A.storekit", text) { _, file in
            let result = await Capture.run(["catalog", "check", file])
            #expect(result.status == 1)
            #expect(result.errors.hasPrefix("cornerstore: \(file)"))
            let document = await Capture.run(["catalog", "check", file, "--json"])
            #expect(document.status == 1)
            let report = try document.output.object()
            #expect(report["valid"] as? Bool == false)
            #expect((report["problems"] as? [Any])?.isEmpty == false)
            #expect(await Capture.run(["serve", file]).status == 1)
        }
    }

    /// Xcode leaves a price at an offer that became free, and writes an offer under two keys.
    @Test func convertedFilesAreAccepted() async throws {
        let offer = #"{"paymentMode": "free", "subscriptionPeriod": "P1W", "displayPrice": "1.99", "internalID": "7"}"#
        let text = """
            {"subscriptionGroups": [{"id": "G", "name": "g", "subscriptions": [{"productID": "com.example.app.pro", \
            "displayPrice": "1.99", "recurringSubscriptionPeriod": "P1M", "type": "RecurringSubscription", \
            "introductoryOffer": \(offer), "introductoryOffers": [\(offer)]}]}], "version": {"major": 5, "minor": 0}}
            """
        try await withFile("A.storekit", text) { directory, file in
            let (yaml, again) = (directory.path("A.yaml"), directory.path("B.storekit"))
            #expect(await Capture.run(["catalog", "convert", file, "--to", "yaml", "--out", yaml]).status == 0)
            #expect(await Capture.run(["catalog", "check", yaml]).status == 0)
            #expect(await Capture.run(["catalog", "convert", yaml, "--to", "storekit", "--out", again]).status == 0)
            let (first, second) = (
                try CatalogFile(path: file, bundleID: "com.example.app").read().apps,
                try CatalogFile(path: again, bundleID: "com.example.app").read().apps
            )
            #expect(first == second)
            #expect(first.first?.products.first?.subscription?.introductoryOffers.count == 1)
        }
    }

    @Test func aFileThatCannotBeConvertedIsNotWritten() async throws {
        let products = (0..<100).map {
            #"{"productID":"com.example.app.p\#($0)","type":"Consumable","displayPrice":"1","unknown":"\#(String(repeating: "x", count: 45_000))"}"#
        }
        let text = #"{"version":{"major":4},"products":[\#(products.joined(separator: ","))]}"#
        try await withFile("A.storekit", text) { directory, file in
            let yaml = directory.path("A.yaml")
            let result = await Capture.run(["catalog", "convert", file, "--to", "yaml", "--out", yaml])
            #expect(result.status == 1)
            #expect(result.errors.contains("Cannot convert") && result.errors.contains("bytes"))
            #expect(!FileManager.default.fileExists(atPath: yaml))
        }
    }

    @Test func convertingThereAndBackKeepsTheProducts() async throws {
        try await withFile("A.storekit", Self.good) { directory, file in
            let yaml = directory.path("A.yaml")
            #expect(await Capture.run(["catalog", "convert", file, "--to", "yaml", "--out", yaml]).status == 0)
            let back = await Capture.run(["catalog", "convert", yaml, "--to", "storekit", "--json"])
            #expect(back.status == 0)
            let converted = try back.output.object()
            #expect((converted["text"] as? String)?.contains("com.example.app.coins") == true)
            #expect((converted["omitted"] as? [String])?.first?.contains("com.example.app") == true)
            let other = await Capture.run(["catalog", "convert", yaml, "--to", "storekit", "--app", "com.other"])
            #expect(other.status == 2)
            #expect(other.errors.contains("com.example.app"))
        }
    }
}
