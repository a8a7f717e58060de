import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Every real sample goes through the merchant's door, under Apple's roots, and ends as it should.
@Suite(.enabled(if: Fixtures.directory != nil, "no fixtures: set CORNERSTORE_FIXTURES"), .timeLimit(.minutes(1)))
struct RealSamplesTests {
    /// What is not signed by Apple, or not by a chain that can be followed to a root today.
    static let refused: [String: MerchantErrorCode] = [
        "generated__": .notGenuine, "Xcode__": .notGenuine, "Sandbox__notification": .notGenuine,
        "Sandbox__transaction": .notGenuine,
        // It is a renewal, and no transaction.
        "apple__Sandbox__renewal": .malformedReceipt,
    ]
    /// Their leaves were issued by an authority whose certificate is not among the fixtures.
    static let lackIssuer = ["com.mbaasy.ios.demo__yearly", "com.mindmobapp"]

    static func names(_ folder: String) -> [String] {
        guard let url = Fixtures.url(folder), let files = try? FileManager.default.contentsOfDirectory(atPath: url.path)
        else { return [] }
        return files.filter { $0.hasSuffix(".b64") || $0.hasSuffix(".jws") }.sorted().map { "\(folder)/\($0)" }
    }

    static let samples = ["app-receipts", "transaction-receipts", "jws"].flatMap(names)

    @Test(arguments: samples) func aSampleEndsAsItShould(_ path: String) async throws {
        let data = try #require(try Fixtures.data(path))
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let evidence: Evidence
        var bundleIDs: Set<BundleID> = ["com.example", "com.example.naturelab.backyardbirds.example"]
        if path.hasSuffix(".jws") {
            evidence = .signedTransaction(Array(data))
            if let found = (try? SignedPayload.parse(Array(data)))?.bundleID { bundleIDs.insert(BundleID(found)) }
        } else {
            let bytes = Array(try #require(Data(base64Encoded: data, options: .ignoreUnknownCharacters)))
            evidence = .receipt(bytes)
            if let container = try? ReceiptContainer.parse(bytes) {
                bundleIDs.insert(BundleID(container.receipt.bundleID))
            } else if let receipt = try? SignedTransactionReceipt(bytes: bytes).receipt() {
                bundleIDs.insert(BundleID(receipt.bundleID))
            }
        }
        let issuers = try Self.certificates("Apple_iTunes_Store")
        let lacksIssuer = issuers.isEmpty && Self.lackIssuer.contains { name.hasPrefix($0) }
        let expected = lacksIssuer ? .notGenuine : Self.refused.first { name.hasPrefix($0.key) }?.value
        // An iOS 6 receipt brings neither root nor intermediate along.
        let isOld = path.hasPrefix("transaction-receipts")
        let apple = TrustedStore.appleStores(
            roots: isOld ? try Self.certificates("Apple_Root_CA__") : [],
            intermediates: isOld ? try Self.certificates("Apple_Worldwide") + issuers : [])
        func verifier(_ environments: Set<StoreEnvironment>, _ bundleIDs: Set<BundleID>) throws -> PurchaseVerifier {
            try PurchaseVerifier(stores: [apple], bundleIDs: bundleIDs, environments: environments)
        }
        let both = try verifier([.production, .sandbox], bundleIDs)
        // Twice: the second time its signer is known.
        for _ in 0..<2 {
            do {
                let verified = try await both.verify(evidence)
                #expect(expected == nil, "\(name) was taken")
                #expect(verified.purchases.allSatisfy { $0.anchor == TrustedStore.apple })
            } catch let error as MerchantError {
                #expect(error.code == expected, "\(name)")
            }
        }
        guard expected == nil else { return }
        let stranger = try verifier([.production, .sandbox], ["com.example.stranger"])
        await #expect(throws: MerchantError(.wrongApp)) { try await stranger.verify(evidence) }
        let environment = try await both.verify(evidence).environment
        #expect(environment == (name.hasPrefix("Production__") ? .production : .sandbox))
        let other = try verifier(environment == .production ? [.sandbox] : [.production], bundleIDs)
        await #expect(throws: MerchantError(.wrongEnvironment)) { try await other.verify(evidence) }
    }

    private static func certificates(_ prefix: String) throws -> [[UInt8]] {
        guard let url = Fixtures.url("certificates") else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: url.path).filter { $0.hasPrefix(prefix) }
            .sorted().map { Array(try Data(contentsOf: url.appendingPathComponent($0))) }
    }
}
