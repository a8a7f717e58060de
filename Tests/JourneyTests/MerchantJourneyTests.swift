import Foundation
import Merchant
import MerchantServer
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

/// A merchant's server on a port of its own, which trusts a journey's store.
struct JourneyMerchant {
    let application: MerchantApplication
    let address: String
    let store: JourneyStore

    static let products = """
        app: com.example.monkeys
        products:
          - {id: credits5, kind: consumable, grants: [{credits: 5, currency: credits}]}
          - {id: hats, kind: nonConsumable, grants: [{entitlement: hats}]}
          - {id: club.monthly, kind: autoRenewableSubscription, grants: [{entitlement: club}, {credits: 7, currency: credits}]}
        """

    /// Runs a test beside a merchant over a database of its own.
    /// - Parameters:
    ///   - isRemote: whether it asks the store instead of verifying by itself.
    ///   - change: changes its configuration.
    static func with(
        _ backend: Backend, _ store: JourneyStore, isRemote: Bool = false,
        _ change: (inout MerchantServerConfiguration) throws -> Void = { _ in },
        _ body: (JourneyMerchant) async throws -> Void
    ) async throws {
        try await backend.withLocation { location async throws in
            let folder = store.configuration.dataDirectory.deletingLastPathComponent()
            let products = folder.appendingPathComponent("products.yaml")
            try Data(Self.products.utf8).write(to: products)
            let roots = ["receipt-root.der", "jws-root.der"].map {
                store.configuration.dataDirectory.appendingPathComponent("roots/\($0)")
            }
            // iOS 6 receipts carry no intermediate.
            let authority = try await CertificateAuthority.open(
                directory: store.configuration.dataDirectory.appendingPathComponent("authority"), at: Date())
            let trusted = TrustedStore.cornerstore(
                roots: try roots.map { Array(try Data(contentsOf: $0)) },
                intermediates: [authority.receiptSigner(for: .sandbox).certificates[1]])
            var configuration = MerchantServerConfiguration(
                dataDirectory: folder.appendingPathComponent("merchant"), port: 0, stores: [trusted],
                policy: MerchantPolicy(environments: [.sandbox]), productsFiles: [products], rates: nil)
            if case .postgresql(let url, let schema, _) = location {
                (configuration.databaseURL, configuration.schema) = (url, schema)
            }
            if isRemote {
                configuration.remote = .init(
                    hosts: try .cornerstore(
                        production: store.addresses.production, sandbox: store.addresses.sandbox),
                    sharedSecret: try store.sharedSecret(), anchor: trusted.anchor)
            }
            try change(&configuration)
            let application = try await MerchantApplication.open(configuration, now: { Date() }, logger: .silent)
            try await ServerTask.with({ try await application.run(gracefulShutdownSignals: [], onReady: $0) }) {
                try await body(JourneyMerchant(application: application, address: $0, store: store))
            }
        }
    }

    // MARK: Speaking to it

    func send(
        _ route: MerchantRoute, as token: String? = nil, _ body: [UInt8]? = nil, type: String = "application/json",
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        try await HTTPReply(
            route.method.rawValue, address + route.path, token: token, type: type, headers: headers, body: body)
    }

    func token(_ user: UserID) async throws -> String {
        try await application.tokens.makeToken(for: user, at: Date())
    }

    func credits(_ token: String) async throws -> Int64 {
        try await send(.balances(), as: token).decoded(BalanceList.self).amount(of: "credits")
    }

    func rights(_ token: String) async throws -> [String?: Entitlement.State] {
        let list = try await send(.entitlements, as: token).decoded(EntitlementList.self).entitlements
        return Dictionary(list.map { ($0.entitlement?.rawValue, $0.state) }, uniquingKeysWith: { $1 })
    }

    /// What the store would send about a transaction.
    func notification(_ type: String, of transaction: InAppPurchase) async throws -> [UInt8] {
        let authority = try await CertificateAuthority.open(
            directory: store.configuration.dataDirectory.appendingPathComponent("authority"), at: Date())
        let identity = authority.jwsIdentity(for: .sandbox)
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        func sign(_ fields: [String: Any]) throws -> String {
            try identity.sign(Array(try JSONSerialization.data(withJSONObject: fields)))
        }
        let info = try sign([
            "transactionId": transaction.transactionID, "originalTransactionId": transaction.transactionID,
            "bundleId": JourneyStore.bundleID.rawValue, "productId": transaction.productID,
            "purchaseDate": now, "quantity": 1, "type": "Consumable", "environment": "Sandbox", "signedDate": now,
            "revocationDate": now,
        ])
        let signed = try sign([
            "notificationType": type, "notificationUUID": UUID().uuidString, "version": "2.0", "signedDate": now,
            "data": [
                "bundleId": JourneyStore.bundleID.rawValue, "environment": "Sandbox", "signedTransactionInfo": info,
            ],
        ])
        return Array(try JSONSerialization.data(withJSONObject: ["signedPayload": signed]))
    }
}

@Suite("From StoreKit to the merchant's books", .timeLimit(.minutes(1)))
struct MerchantJourneyTests {
    @Test(arguments: Backend.available, [false, true])
    func `credits are redeemed once, spent, and taken back`(_ backend: Backend, _ isRemote: Bool) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await JourneyMerchant.with(backend, store, isRemote: isRemote) { merchant async throws in
                let device = try await JourneyDevice(store)
                let app = JourneyApp(device.launch())
                app.queue.add(payment("credits5"))
                _ = await app.told(2)
                let transaction = try #require(app.latest)
                #expect(transaction.transactionState == .purchased)
                let receipt = [UInt8](try device.receipt())
                let (ann, bob) = (try await merchant.token("ann"), try await merchant.token("bob"))

                let first = try await merchant.send(
                    .redemptions, as: ann, receipt, type: "application/octet-stream")
                #expect(first.status == 200)
                let answer = try first.decoded(RedemptionAnswer.self)
                #expect(answer.confirms(transactionID: transaction.transactionIdentifier ?? ""))
                // The answer was lost; the app asks again before it finishes.
                let json = try JSONEncoder().encode(RedemptionRequest(receipt: Data(receipt)))
                #expect(try await merchant.send(.redemptions, as: ann, [UInt8](json)).body == first.body)
                app.queue.finishTransaction(transaction)
                _ = await app.told(3)
                let stolen = try await merchant.send(
                    .redemptions, as: bob, receipt, type: "application/octet-stream")
                #expect(stolen.status == 409 && stolen.code == "already_redeemed")
                #expect(try await merchant.credits(ann) == 5)
                #expect(try await merchant.credits(bob) == 0)

                let spend = [UInt8](
                    try JSONEncoder().encode(SpendRequest(key: "k", currency: "credits", amount: 2, note: "bananas")))
                let spent = try await merchant.send(.spends, as: ann, spend)
                #expect(try spent.decoded(SpendAnswer.self).balance == 3)
                #expect(try await merchant.send(.spends, as: ann, spend).body == spent.body)

                let purchase = try #require(try ReceiptContainer.parse(receipt).receipt.inApp.first)
                let refund = try await merchant.notification("REFUND", of: purchase)
                for _ in 0..<2 { #expect(try await merchant.send(.notifications, refund).status == 200) }
                #expect(try await merchant.credits(ann) == 0)
                let page = try await merchant.send(.history("credits", before: nil), as: ann).decoded(HistoryPage.self)
                #expect(page.entries.map(\.kind) == [.refund, .spend, .grant])
                #expect(page.entries.map(\.balance) == [0, 3, 5])
                #expect(try await merchant.application.merchant.checkBooks().findings == [])
                await app.stop()
            }
        }
    }

    @Test(arguments: Backend.available, [false, true])
    func `a non-consumable is one purchase in every receipt and on every device`(
        _ backend: Backend, _ isRemote: Bool
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await JourneyMerchant.with(backend, store, isRemote: isRemote) { merchant async throws in
                let first = try await JourneyDevice(store)
                var app = JourneyApp(first.launch())
                let (ann, bob) = (try await merchant.token("ann"), try await merchant.token("bob"))
                func redeem(_ receipt: Data?, as token: String) async throws -> HTTPReply {
                    try await merchant.send(
                        .redemptions, as: token, [UInt8](try #require(receipt)), type: "application/octet-stream")
                }
                // By the transactions' own receipts, of iOS 6.
                for (index, product) in ["hats", "club.monthly"].enumerated() {
                    app.queue.add(payment(product))
                    _ = await app.told(index * 3 + 2)
                    let transaction = try #require(app.latest)
                    let answer = try await redeem(transaction.transactionReceipt, as: ann)
                        .decoded(RedemptionAnswer.self)
                    #expect(answer.confirms(transactionID: transaction.transactionIdentifier ?? ""))
                    app.queue.finishTransaction(transaction)
                    _ = await app.told(index * 3 + 3)
                }
                #expect(try await merchant.rights(ann) == ["hats": .active, "club": .active])
                await app.stop()

                // Restored elsewhere, the app's receipt speaks of the same.
                let second = JourneyDevice(beside: first, name: "b")
                app = JourneyApp(second.launch())
                app.queue.restoreCompletedTransactions()
                _ = await app.told(2)
                let receipt = try second.receipt()
                let again = try await redeem(receipt, as: ann).decoded(RedemptionAnswer.self)
                #expect(Set(again.redeemed.map(\.productID)) == ["hats", "club.monthly"] && again.refused.isEmpty)
                let stolen = try await redeem(receipt, as: bob)
                #expect(stolen.status == 409 && stolen.code == "already_redeemed")
                #expect(try await merchant.rights(bob) == [:])
                #expect(try await merchant.credits(ann) == 7)
                let report = try await merchant.application.merchant.checkBooks()
                #expect(report.findings == [] && report.entries == 1)
                await app.stop()
            }
        }
    }
}
