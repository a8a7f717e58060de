import Foundation
import HTTPSupport
import MerchantWire
import StoreWire
import Testing

@testable import Merchant
@testable import MerchantServer

/// The document's `webhooks` against what the merchant writes.
@Suite("The webhooks' documentation", .timeLimit(.minutes(1)))
struct WebhookDocumentTests {
    /// One event of each type, as the document's examples have them.
    private static func events() throws -> [MerchantEvent] {
        let renewal = VerifiedPurchase(
            anchor: "apple", environment: .production, bundleID: "com.example.books",
            productID: "com.example.books.club", statedKind: .autoRenewableSubscription,
            transactionID: "470000000000002", originalTransactionID: "470000000000001", quantity: 1,
            purchasedAt: 1_770_091_506_000, expiresAt: 1_772_683_506_000, webOrderLineItemID: "470000000000099",
            revokedAt: nil, revokedShare: nil, isUpgraded: false, accountToken: nil, signedAt: 1_770_091_506_000)
        let product = MerchantProduct(
            bundleID: "com.example.books", productID: "com.example.books.club", kind: .autoRenewableSubscription,
            grants: [.entitlement("club"), .credits("coins", amount: 20, lifetime: nil)])
        let catalog = try ProductCatalog(revision: 1, [product], kinds: [:])
        let entry = try #require(catalog.entry(product.bundleID, product.productID))
        let plan = try RedemptionPlan(renewal, entry, MerchantPolicy(), at: 1_770_091_506_000)
        let scope = "apple/P/com.example.books/"
        return [
            .redeemed(plan, "ann"), .transferred(scope + "o/470000000000003", from: "ann", to: "bob"),
            .revoked(scope + "t/470000000000004", "ann", takenBack: [Balance(currency: "coins", amount: 10)]),
            .reinstated(scope + "t/470000000000004", "ann"),
            .balanceChanged("ann", CreditAccount("coins", in: .sandbox).name, "spend"),
            .subscriptionChanged(
                scope + "s/470000000000001", "ann", type: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED"),
            .test,
        ]
    }

    @Test func everyEventHasAnEntryWithTheBodyThatTheMerchantWrites() throws {
        let document = try OpenAPIDocument()
        let webhooks = try #require(document.root["webhooks"] as? [String: [String: [String: Any]]])
        let events = try Self.events()
        #expect(events.map(\.type) == MerchantEventType.allCases)
        #expect(Set(webhooks.keys) == Set(MerchantEventType.allCases.map(\.rawValue)))
        for event in events {
            let operation = try #require(webhooks[event.type.rawValue]?["post"])
            let content = try #require((operation["requestBody"] as? [String: Any])?["content"] as? [String: Any])
            let media = try #require(content["application/json"] as? [String: Any])
            let example = try #require(media["example"] as? [String: Any])
            let body = try event.body(id: try #require(example["id"] as? String), at: 1_770_091_506_000)
            let written = try JSONSerialization.data(
                withJSONObject: example, options: [.sortedKeys, .withoutEscapingSlashes])
            #expect(String(decoding: written, as: UTF8.self) == body, "the example of \(event.type.rawValue)")
            let schema = try #require(media["schema"] as? [String: Any])
            let value = try JSONSerialization.jsonObject(with: Data(body.utf8))
            #expect(try document.complaints(value, schema, at: event.type.rawValue) == [])
        }
    }

    @Test func thePageOfTheServerNamesEveryEvent() throws {
        let page = try Self.page("MerchantOperation.md")
        for type in MerchantEventType.allCases { #expect(page.contains("| `\(type.rawValue)` |"), "\(type.rawValue)") }
    }

    /// Each row: a code, its status, its meaning, and what to do.
    @Test func thePageOfErrorsHasEveryCodeWithItsStatus() throws {
        let rows = try Self.page("MerchantErrors.md").matches(
            of: /\n\| `([a-z_]+)` \| ([0-9]{3}) \| ([^|]+) \| ([^|]+) \|/)
        #expect(rows.map { MerchantErrorCode(String($0.1)) }.sorted() == MerchantErrorCode.all)
        let declared = try String(
            contentsOf: OpenAPIDocument.folder.appendingPathComponent("Sources/MerchantWire/MerchantErrorCode.swift"),
            encoding: .utf8
        ).matches(of: /static let \w+: MerchantErrorCode = "([a-z_]+)"/)
        #expect(declared.map { MerchantErrorCode(String($0.1)) }.sorted() == MerchantErrorCode.all)
        for row in rows {
            let code = MerchantErrorCode(String(row.1))
            #expect(HTTPProblem.status(of: code).code == Int(row.2), "\(code)")
            #expect(row.3.count > 20 && row.4.count > 20, "\(code) needs a meaning and what to do")
            // "Repeat it" and "wait" are said of those that a client repeats by itself.
            #expect(code.isRetryable == (row.4.contains(/[Rr]epeat the request|Wait|Send it again/)), "\(code)")
        }
    }

    /// Whatever the server can answer is a code of the list, also where it is written as a bare word.
    @Test func everyCodeInTheSourcesIsOnTheList() throws {
        var codes: Set<String> = []
        for module in ["HTTPSupport", "MerchantServer", "Merchant"] {
            let folder = OpenAPIDocument.folder.appendingPathComponent("Sources/\(module)")
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: /code(?:: | = [A-Za-z.= ]*\? )"([a-z_]+)"(?: : "([a-z_]+)")?/) {
                    codes.formUnion([match.1, match.2 ?? match.1].map { String($0) })
                }
            }
        }
        #expect(codes.isSuperset(of: ["timeout", "too_large", "not_found", "invalid_request"]), "\(codes)")
        // No client reads this one: it has closed its connection.
        codes.remove("client_left")
        #expect(codes.isSubset(of: Set(MerchantErrorCode.all.map(\.rawValue))), "\(codes)")
    }

    private static func page(_ name: String) throws -> String {
        try String(
            contentsOf: OpenAPIDocument.folder.appendingPathComponent("Documentation/\(name)"), encoding: .utf8)
    }
}
