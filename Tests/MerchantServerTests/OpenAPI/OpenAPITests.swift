import CornerstoreEncoding
import Foundation
import Merchant
import MerchantWire
import StoreWire
import Testing

@testable import MerchantServer

@Suite("The OpenAPI document", .timeLimit(.minutes(1)))
struct OpenAPITests {
    @Test func itHasTheRoutesOfTheTableAndNoOthers() throws {
        let routes = Set(MerchantRoute.all.map { "\($0.method.rawValue) \($0.template)" })
        #expect(routes.count == MerchantRoute.all.count)
        #expect(try Set(OpenAPIDocument().operations().keys) == routes)
    }

    @Test func everyRouteIsOpenToWhomTheTableSays() throws {
        let operations = try OpenAPIDocument().operations()
        for route in MerchantRoute.all {
            let name = "\(route.method.rawValue) \(route.template)"
            let operation = try #require(operations[name], "\(name)")
            let security = try #require(operation["security"] as? [[String: [String]]], "\(name)")
            let expected: [[String: [String]]] =
                switch route.access {
                // Who may read the metrics depends on where the server listens.
                case .open where route == .metrics: [[:], ["apiKey": ["metrics"]]]
                case .open: []
                case .user: [["userToken": []]]
                case .scope(let scope): [["apiKey": [scope]]]
                }
            #expect(security == expected, "\(name)")
            if case .scope(let scope) = route.access {
                #expect(APIScope(rawValue: scope) != nil, "\(scope) is no scope that a key can have")
            }
            let statuses = try #require(operation["responses"] as? [String: Any]).keys
            #expect(statuses.contains("401") == (expected != []), "\(name)")
            if case .scope = route.access { #expect(statuses.contains("403"), "\(name)") }
            // Every request must have a good Host. A key is looked up in the database.
            #expect(statuses.contains("400"), "\(name)")
            if expected != [] { #expect(statuses.contains("503"), "\(name)") }
        }
    }

    @Test func everyNameInAPathIsAParameter() throws {
        let document = try OpenAPIDocument()
        for (name, operation) in try document.operations() {
            let parameters = try (operation["parameters"] as? [[String: String]] ?? []).compactMap { parameter in
                try document.resolve(try #require(parameter["$ref"]))
            }
            let declared = parameters.filter { $0["in"] as? String == "path" }.compactMap { $0["name"] as? String }
            let used = name.matches(of: /\{([a-z]+)\}/).map { String($0.1) }
            #expect(declared.sorted() == used.sorted(), "\(name)")
            #expect(parameters.allSatisfy { $0["in"] as? String != "path" || $0["required"] as? Bool == true })
        }
    }

    @Test func everyReferenceLeadsSomewhereAndEverythingIsUsed() throws {
        let document = try OpenAPIDocument()
        let references = Set(document.references())
        for reference in references { _ = try document.resolve(reference) }
        let components = try #require(document.root["components"] as? [String: [String: Any]])
        for (kind, parts) in components where kind != "securitySchemes" {
            for name in parts.keys {
                #expect(references.contains("#/components/\(kind)/\(name)"), "\(kind)/\(name) is not used")
            }
        }
        let identifiers = try document.operations().values.compactMap { $0["operationId"] as? String }
        #expect(Set(identifiers).count == MerchantRoute.all.count)
    }

    private static let settings: SettingsReport = {
        let rate = SettingsReport.Rate(burst: 4, perSecond: 0.5)
        return SettingsReport(
            bundleIDs: ["b"], stores: ["apple"], asksStore: true, environments: [.production],
            usualEnvironment: .production, joinsEnvironments: false, conflict: "family", refund: "toZero",
            superseded: "keep", givesCreditsForTrials: true, givesCreditsForSharedCopies: true,
            downloadsBeforeRedemption: 1, webhook: "https://example.com/hook",
            rates: .init(address: rate, user: rate, key: rate, addressGuesses: rate, userGuesses: rate),
            isBehindProxy: true, database: "SQLite")
    }()

    /// What is sent over the wire, by the schema that describes it.
    static let samples: [(String, any Sendable)] = {
        let grants: [ProductGrant] = [
            .credits("gems", amount: 5, lifetime: 60), .entitlement("pro"), .entitlement("club", lifetime: 60),
            .content("issue-1"),
        ]
        let product = MerchantProduct(
            bundleID: "com.example.app", productID: "gems", kind: .consumable, grants: grants, shelf: "top")
        let redeemed = RedeemedTransaction(
            transactionID: "1", originalTransactionID: "1", productID: "gems", quantity: 1, environment: .sandbox,
            grants: grants, redeemedAt: 1, expiresAt: 2, wentToNamedOwner: false)
        let refused = RefusedTransaction(transactionID: "2", productID: "x", code: .unknownProduct, message: "No.")
        let balance = Balance(currency: "gems", amount: -5)
        let entitlement = Entitlement(
            entitlement: "pro", content: "issue-1", productID: "x", state: .grace, expiresAt: 1, graceUntil: 2,
            willRenew: true, renewsAs: "y")
        let entry = LedgerEntry(
            entry: 1, kind: .refundReversal, amount: 1, balance: 1, createdAt: 1, reference: "r", note: "n")
        let version = ContentVersion(
            item: "issue-1", version: 1, digest: String(repeating: "a", count: 64), size: 1, mediaType: "text/plain",
            createdAt: 1)
        let dead = DeadWebhook(eventID: "e", type: "t", createdAt: 1, attempts: 2, reason: "HTTP 500")
        let flag = UserFlag(code: "c", detail: "d", createdAt: 1)
        return [
            ("MerchantProduct", product), ("ProductList", ProductList(revision: 1, products: [product])),
            ("RedemptionRequest", RedemptionRequest(receipt: Data([1, 2]))),
            ("RedemptionRequest", RedemptionRequest(signedTransaction: "a.b.c")),
            ("RedemptionRequest", RedemptionRequest(transactionID: "1", bundleID: "com.example.app")),
            ("ConsumptionConsent", ConsumptionConsent(userID: "ann", isGiven: true, changedAt: 1)),
            ("ConsumptionConsentRequest", ConsumptionConsentRequest(isGiven: true)),
            ("SweepReport", SweepReport(asked: 1, changed: 1, failed: 0)),
            ("RedemptionAnswer", RedemptionAnswer(redeemed: [redeemed], refused: [refused])),
            ("BalanceList", BalanceList(balances: [balance])),
            ("SpendRequest", SpendRequest(key: "k", currency: "gems", amount: 1, note: "n", environment: .sandbox)),
            (
                "AdjustmentRequest",
                AdjustmentRequest(key: "k", currency: "gems", amount: -1, note: "n", environment: .sandbox)
            ),
            ("SpendAnswer", SpendAnswer(key: "k", currency: "gems", amount: 1, balance: 0, entry: 1)),
            ("HistoryPage", HistoryPage(currency: "gems", entries: [entry], next: 1)),
            ("EntitlementList", EntitlementList(entitlements: [entitlement])),
            ("UserDescription", UserDescription(userID: "ann", accountToken: UUID().uuidString)),
            ("ContentList", ContentList(items: [version])),
            ("SentWebhook", SentWebhook(eventID: "e")),
            ("DeadWebhookList", DeadWebhookList(events: [dead])),
            (
                "WebhookEventList",
                WebhookEventList(
                    events: [
                        WebhookEventSummary(
                            eventID: "e", type: "t", state: .waiting, createdAt: 1, attempts: 2, reason: "HTTP 500",
                            nextAttemptAt: 3, settledAt: 4)
                    ], next: "e")
            ),
            (
                "WebhookEventDescription",
                WebhookEventDescription(
                    event: WebhookEventSummary(eventID: "e", type: "t", state: .delivered, createdAt: 1, attempts: 1),
                    body: "{}",
                    attempts: [
                        WebhookAttempt(
                            attempt: 1, sentAt: 1, duration: 2, status: 500, answer: "No", reason: "HTTP 500",
                            nextAttemptAt: 3)
                    ])
            ),
            ("UserList", UserList(users: [UserSummary(userID: "ann", lastRedeemedAt: 1)], next: "ann")),
            (
                "RedemptionRecordList",
                RedemptionRecordList(
                    redemptions: [
                        RedemptionRecord(
                            purchase: "p", userID: "ann", productID: "x", transactionID: "1",
                            originalTransactionID: "1",
                            quantity: 1, grants: grants, purchasedAt: 1, redeemedAt: 2, expiresAt: 3, supersededAt: 4,
                            state: .revoked, takenBack: [balance])
                    ], next: "2-p")
            ),
            (
                "StoreNotificationList",
                StoreNotificationList(
                    notifications: [
                        StoreNotificationRecord(
                            notificationID: "n", type: "DID_RENEW", subtype: "BILLING_RECOVERY", outcome: .applied,
                            environment: .sandbox, bundleID: "b", transactionID: "2", originalTransactionID: "1",
                            signedAt: 1, receivedAt: 2),
                        StoreNotificationRecord(
                            notificationID: "r", type: "ONE_TIME_CHARGE", outcome: .refused, refusal: .unknownProduct,
                            signedAt: 1, receivedAt: 2),
                        StoreNotificationRecord(notificationID: "m", type: "TEST", signedAt: 1, receivedAt: 2),
                    ], next: "2-n")
            ),
            (
                "TransactionReport",
                TransactionReport(
                    redemptions: [], entries: [PurchaseEntry(userID: "ann", currency: "gems", entry: entry)])
            ),
            (
                "APIKeyList",
                APIKeyList(keys: [APIKeyDescription(name: "n", scopes: ["users"], createdAt: 1, revokedAt: 2)])
            ),
            ("APIKeyRequest", APIKeyRequest(name: "n", scopes: ["users"])),
            (
                "MadeAPIKey",
                MadeAPIKey(name: "n", scopes: ["users"], key: "cmk_" + String(repeating: "a", count: 43))
            ),
            ("SettingsReport", settings),
            ("BooksReport", BooksReport(accounts: 1, entries: 1, outstanding: [balance], findings: ["x"])),
            (
                "UserReport",
                UserReport(userID: "ann", balances: [balance], entitlements: [entitlement], flags: [flag])
            ),
            ("Problem", MerchantWireError(code: .expired, message: "m", requestID: "r")),
        ]
    }()

    @Test func theSchemasAreThoseOfTheWireTypes() throws {
        let document = try OpenAPIDocument()
        for (name, sample) in Self.samples {
            let json =
                if let message = sample as? any JSONWritable { Data(message.json) } else {
                    try (sample as? any Encodable).map { try JSONEncoder().encode($0) } ?? Data()
                }
            let value = try JSONSerialization.jsonObject(with: json)
            let schema = try document.resolve("#/components/schemas/\(name)")
            #expect(try document.complaints(value, schema, at: name) == [])
            // And the other way round: the samples have all members, so none is in the document alone.
            if schema["oneOf"] == nil, let properties = schema["properties"] as? [String: Any] {
                #expect(Set(properties.keys) == Set((value as? [String: Any] ?? [:]).keys), "\(name)")
            }
        }
    }

    @Test func allWordsOfAnEnumerationAreThere() throws {
        let document = try OpenAPIDocument()
        func words(_ schema: String, _ property: String?) throws -> Set<String> {
            let schema = try document.resolve("#/components/schemas/\(schema)")
            let place = property.map { (schema["properties"] as? [String: [String: Any]])?[$0] ?? [:] } ?? schema
            return Set(place["enum"] as? [String] ?? [])
        }
        #expect(try words("WebhookState", nil) == Set(WebhookState.allCases.map(\.rawValue)))
        #expect(
            try words("RedemptionRecord", "state") == Set(RedemptionRecord.State.allCases.map(\.rawValue)))
        let outcomes = StoreNotificationRecord.Outcome.allCases.map(\.rawValue)
        #expect(try words("StoreNotificationRecord", "outcome") == Set(outcomes))
        #expect(try words("SettingsReport", "refund") == Set(RefundPolicy.allCases.map(\.rawValue)))
        #expect(try words("SettingsReport", "superseded") == Set(SupersededPolicy.allCases.map(\.rawValue)))
        #expect(try words("ProductKind", nil) == Set(ProductKind.allCases.map(\.rawValue)))
        #expect(try words("LedgerEntry", "kind") == Set(LedgerEntry.Kind.allCases.map(\.rawValue)))
        #expect(try words("Entitlement", "state") == Set(Entitlement.State.allCases.map(\.rawValue)))
        #expect(
            try words("Environment", nil) == Set(StoreEnvironment.allCases.map(\.rawValue)))
    }
}
