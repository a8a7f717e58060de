import Foundation
import Logging
import Merchant
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import MerchantServer

/// A merchant on a free port, over SQLite, that trusts the keys of the tests' store.
struct RunningMerchant {
    let application: MerchantApplication
    let address: String
    let authority: CertificateAuthority
    let backendKey: String

    static let products = """
        app: com.example.books
        products:
          - {id: coins, kind: consumable, grants: [{credits: 10, currency: coins}]}
          - {id: issue, kind: nonConsumable, grants: [{content: issue-12}, {entitlement: reader}]}
        """

    /// What each operation may answer, by the OpenAPI document; every answer of the tests is held against it.
    private static let statuses: [String: Set<Int>] = {
        do {
            return try OpenAPIDocument().operations().mapValues { operation in
                Set((operation["responses"] as? [String: Any] ?? [:]).keys.compactMap { Int($0) })
            }
        } catch {
            Issue.record(error)
            return [:]
        }
    }()

    static func with(
        logger: Logger = .silent, _ change: (inout MerchantServerConfiguration) -> Void = { _ in },
        _ body: (RunningMerchant) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folder = directory.url.appendingPathComponent("authority")
            try await SharedAuthority.copy(to: folder)
            let authority = try await CertificateAuthority.open(directory: folder, at: Date())
            let products = directory.url.appendingPathComponent("products.yaml")
            try Data(Self.products.utf8).write(to: products)
            var configuration = MerchantServerConfiguration(
                dataDirectory: directory.url.appendingPathComponent("merchant"), port: 0,
                stores: [.cornerstore(roots: [authority.receiptRoot, authority.jwsRoot])],
                policy: MerchantPolicy(environments: [.sandbox]), productsFiles: [products], rates: nil)
            change(&configuration)
            let application = try await MerchantApplication.open(configuration, now: { Date() }, logger: logger)
            let key = try await application.keys.make(name: "backend", scopes: Set(APIScope.allCases), at: Date())
            try await ServerTask.with({ try await application.run(gracefulShutdownSignals: [], onReady: $0) }) {
                try await body(
                    RunningMerchant(
                        application: application, address: $0, authority: authority, backendKey: key.text))
            }
        }
    }

    typealias Reply = HTTPReply

    func send(
        _ route: MerchantRoute, as token: String? = nil, _ body: [UInt8]? = nil, type: String = "application/json",
        headers: [(String, String)] = []
    ) async throws -> Reply {
        let reply = try await HTTPReply(
            route.method.rawValue, address + route.path, token: token, type: type, headers: headers, body: body)
        // With an empty name, a path is nowhere or another's, which may have no such method.
        let isNamed = !(route.path + "/").contains("//")
        if isNamed, reply.status != 405, let statuses = Self.statuses["\(route.method.rawValue) \(route.template)"] {
            #expect(statuses.contains(reply.status), "\(route): \(reply.status) is not in the document")
        }
        return reply
    }

    func token(_ user: UserID) async throws -> String {
        try await application.tokens.makeToken(for: user, at: Date())
    }

    /// A signed transaction of the store's.
    func signed(_ product: String, _ id: String, _ more: [String: Any] = [:]) throws -> [UInt8] {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let fields: [String: Any] = [
            "transactionId": id, "originalTransactionId": id, "bundleId": "com.example.books", "productId": product,
            "purchaseDate": now, "quantity": 1, "environment": "Sandbox", "signedDate": now,
        ]
        let payload = try JSONSerialization.data(withJSONObject: fields.merging(more) { $1 })
        return Array(try authority.jwsIdentity(for: .sandbox).sign(Array(payload)).utf8)
    }

    /// An app receipt of the store's with one purchase.
    func receipt(_ product: String, _ id: String) throws -> [UInt8] {
        let bundleID = "com.example.books"
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
        let purchase = InAppPurchase(
            quantity: 1, productID: product, transactionID: id, purchaseDate: now, originalTransactionID: id,
            originalPurchaseDate: now, productType: nil, expiresDate: nil, itemID: 0, webOrderLineItemID: 0,
            cancellationDate: nil, isTrialPeriod: nil, isInIntroOfferPeriod: nil, promotionalOfferID: nil,
            otherAttributes: [])
        let receipt = AppReceipt(
            receiptType: StoreEnvironment.sandbox.receiptType, appItemID: 0, bundleID: bundleID,
            bundleIDValue: AppReceipt.bundleIDValue(bundleID), applicationVersion: "1", opaqueValue: Array(0..<16),
            deviceHash: Array(repeating: 0, count: 20), downloadDate: nil, fulfillmentToolVersion: nil, ageRating: nil,
            developerID: 0, creationDate: now, systemVersion: nil, downloadID: 0, versionExternalIdentifier: 0,
            inApp: [purchase], originalPurchaseDate: Date(timeIntervalSince1970: 1_375_340_400),
            originalApplicationVersion: "1.0", expirationDate: nil, otherAttributes: [])
        return try authority.receiptSigner(for: .sandbox).sign(receipt).bytes
    }

    /// Redeems a signed transaction.
    func redeem(_ product: String, _ id: String, as token: String) async throws -> Reply {
        try await send(.redemptions, as: token, try signed(product, id), type: "application/jose")
    }
}
