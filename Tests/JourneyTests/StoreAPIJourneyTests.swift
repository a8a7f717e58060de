import ControlWire
import Database
import Foundation
import MerchantServer
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant
@testable import StoreKit

@Suite("The merchant asks the store's API", .timeLimit(.minutes(1)))
struct StoreAPIJourneyTests {
    /// Runs a test beside a merchant with a key of the store's.
    private func with(
        _ backend: Backend,
        _ body:
            @Sendable (JourneyStore, JourneyMerchant, JourneyDevice, JourneyApp) async throws
            -> Void
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let order = ControlAPI.NewAPIKey(bundleId: JourneyStore.bundleID.rawValue)
            let made = try await HTTPReply(
                "POST", store.addresses.control + "/control/v1/api-keys", body: [UInt8](JSONEncoder().encode(order))
            ).successful().decoded(ControlAPI.CreatedAPIKey.self)
            let access = try StoreAPIAccess(
                StoreAPIKey(
                    bundleID: JourneyStore.bundleID, keyID: made.key.keyId, issuerID: made.key.issuerId,
                    pem: made.privateKey),
                production: store.addresses.production, sandbox: store.addresses.sandbox)
            try await JourneyMerchant.with(backend, store) { configuration in
                configuration.storeAPI = [access]
                configuration.policy.environments = [.production, .sandbox]
                configuration.policy.usualEnvironment = .sandbox
                configuration.policy.consumption = ConsumptionPolicy(preference: .grantProrated)
                configuration.policy.setsAccountTokens = true
            } _: { merchant async throws in
                let device = try await JourneyDevice(store)
                let app = JourneyApp(device.launch())
                try await body(store, merchant, device, app)
                await app.stop()
            }
        }
    }

    private func redeem(_ id: String, _ merchant: JourneyMerchant, as token: String) async throws -> HTTPReply {
        let request = RedemptionRequest(transactionID: id)
        return try await merchant.send(.redemptions, as: token, [UInt8](try JSONEncoder().encode(request)))
    }

    /// A transaction as the store signs it now, and the account token in it.
    private func signed(_ id: String, _ merchant: JourneyMerchant) async throws -> (text: String, token: String?) {
        func object(_ json: [UInt8]) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        }
        let api = try #require(merchant.application.merchant.storeAPI)
        let answer = try object(try await api.send(.transaction(id), for: JourneyStore.bundleID, in: .sandbox))
        let text = try #require(answer["signedTransactionInfo"] as? String)
        let payload = try object(try SignedPayload.parse(Array(text.utf8)).payload)
        return (text, payload["appAccountToken"] as? String)
    }

    /// The results of the requests about a purchase, once none waits for its first attempt.
    private func results(_ merchant: JourneyMerchant, of id: String) async throws -> [String?] {
        let domain = merchant.application.merchant
        let purchase = try #require(try await domain.transaction(id).redemptions.first).purchase
        var results: [String?] = []
        // The server makes rounds of its own, and what it has taken nobody else sends.
        try await until {
            for environment in StoreEnvironment.allCases { try await domain.sendStoreCalls(to: environment) }
            results = try await domain.database.read { connection in
                try connection.query(
                    "SELECT result FROM api_calls WHERE purchase = $1 ORDER BY created_at, call_id", [purchase]
                ).map { try $0.optionalString(0) }
            }
            return !results.contains(nil)
        }
        return results
    }

    @Test(arguments: Backend.available)
    func `an identifier is redeemed once, and is answered about`(_ backend: Backend) async throws {
        try await with(backend) { store, merchant, device, app in
            app.queue.add(payment("credits5"))
            _ = await app.told(2)
            let id = try #require(app.latest?.transactionIdentifier)
            let (ann, bob) = (try await merchant.token("ann"), try await merchant.token("bob"))
            let first = try await redeem(id, merchant, as: ann)
            #expect(first.status == 200, "\(first.text)")
            #expect(try first.decoded(RedemptionAnswer.self).confirms(transactionID: id))
            #expect(try await redeem(id, merchant, as: ann).body == first.body)
            #expect(try await merchant.send(.balances(), as: ann).decoded(BalanceList.self).amount(of: "credits") == 5)
            let unknown = try await redeem("2000000000000000", merchant, as: ann)
            #expect(unknown.status == 422 && unknown.code == "unknown_transaction")

            // Who only names an identifier, which can be guessed, gets nothing of another user and no token.
            #expect(try await results(merchant, of: id) == [])
            let stolen = try await redeem(id, merchant, as: bob)
            #expect(stolen.code == "already_redeemed", "\(stolen.text)")
            #expect(try await merchant.credits(bob) == 0)

            _ = try await merchant.application.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            let receipt = [UInt8](try device.receipt())
            let purchase = try #require(try ReceiptContainer.parse(receipt).receipt.inApp.first)
            let question = try await merchant.notification("CONSUMPTION_REQUEST", of: purchase)
            #expect(try await merchant.send(.notifications, question).status == 200)
            #expect(try await results(merchant, of: id) == ["accepted"])
        }
    }

    @Test(arguments: Backend.available)
    func `the store asks about a refund, and has the merchant's answer`(_ backend: Backend) async throws {
        try await with(backend) { store, merchant, _, app in
            let receiver = ControlAPI.NotificationReceiverChange(
                url: merchant.address + MerchantRoute.notifications.path)
            let set = try await store.control(
                "PUT", "notification-urls/\(JourneyStore.bundleID.rawValue)",
                String(decoding: try JSONEncoder().encode(receiver), as: UTF8.self))
            #expect(set.status == 200, "\(set.text)")
            app.queue.add(payment("credits5"))
            _ = await app.told(2)
            let id = try #require(app.latest?.transactionIdentifier)
            let ann = try await merchant.token("ann")
            #expect(try await redeem(id, merchant, as: ann).status == 200)
            _ = try await merchant.application.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            let spend = [UInt8](try JSONEncoder().encode(SpendRequest(key: "k", currency: "credits", amount: 2)))
            #expect(try await merchant.send(.spends, as: ann, spend).status == 200)

            var request = try await store.control("POST", "refund-requests", #"{"transactionId":"\#(id)"}"#)
                .successful().decoded(ControlAPI.RefundRequest.self)
            while request.consumption == nil {
                try Task.checkCancellation()
                try await merchant.application.merchant.sendStoreCalls(to: .sandbox)
                request = try await store.control("GET", "refund-requests/\(request.requestId)")
                    .successful().decoded(ControlAPI.RefundRequest.self)
            }
            let expected = ControlAPI.CatalogValue.object([
                "customerConsented": .bool(true), "sampleContentProvided": .bool(false),
                "deliveryStatus": .string("DELIVERED"), "consumptionPercentage": .number(40_000),
                "refundPreference": .string("GRANT_PRORATED"),
            ])
            #expect(request.consumptionVersion == 2 && request.consumption == expected)
            #expect(try await results(merchant, of: id) == ["accepted"])
        }
    }

    @Test(arguments: Backend.available)
    func `a guest's purchase names the user who signs in`(_ backend: Backend) async throws {
        try await with(backend) { _, merchant, _, app in
            app.queue.add(payment("credits5"))
            _ = await app.told(2)
            let id = try #require(app.latest?.transactionIdentifier)
            let bought = try await signed(id, merchant)
            #expect(bought.token == nil)
            let request = RedemptionRequest(signedTransaction: bought.text)
            let redeemed = try await merchant.send(
                .redemptions, as: try await merchant.token("ann"), [UInt8](try JSONEncoder().encode(request)))
            #expect(redeemed.status == 200, "\(redeemed.text)")
            #expect(try await results(merchant, of: id) == ["accepted"])
            let token = try await merchant.application.merchant.describe("ann").accountToken
            #expect(try await signed(id, merchant).token == token)
        }
    }

    @Test(arguments: Backend.available)
    func `a sweep finds a refund that no notification reported`(_ backend: Backend) async throws {
        try await with(backend) { store, merchant, _, app in
            app.queue.add(payment("club.monthly"))
            _ = await app.told(2)
            let id = try #require(app.latest?.transactionIdentifier)
            let ann = try await merchant.token("ann")
            #expect(try await redeem(id, merchant, as: ann).status == 200)
            #expect(try await merchant.rights(ann) == ["club": .active])
            #expect(try await merchant.application.merchant.sweep().asked == 0)

            #expect(try await store.control("POST", "transactions/\(id)/refund", "{}").status == 200)
            #expect(try await merchant.application.merchant.sweepAll() == 1)
            var changed = 0
            // The server makes rounds of its own, and what it has taken nobody else asks about.
            try await until {
                changed += try await merchant.application.merchant.sweep().changed
                return try await merchant.rights(ann) == ["club": .revoked]
            }
            #expect(changed <= 1)
            #expect(try await merchant.credits(ann) == 0)
            #expect(try await merchant.application.merchant.checkBooks().findings == [])
        }
    }
}
