import Foundation
import MerchantWire
import ServerSupport
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant
@testable import MerchantServer

@Suite("Notifications of a store over HTTP", .timeLimit(.minutes(1)))
struct StoreNotificationTests {
    /// The body of a signed notification about a transaction.
    private func body(
        _ merchant: RunningMerchant, _ type: String, _ transaction: [UInt8]?, id: String, _ data: [String: Any] = [:]
    ) throws -> [UInt8] {
        var part: [String: Any] = ["bundleId": "com.example.books", "environment": "Sandbox"]
        if let transaction { part["signedTransactionInfo"] = String(decoding: transaction, as: UTF8.self) }
        let fields: [String: Any] = [
            "notificationType": type, "notificationUUID": id, "version": "2.0",
            "signedDate": Int64(Date().timeIntervalSince1970 * 1_000), "data": part.merging(data) { $1 },
        ]
        let payload = try JSONSerialization.data(withJSONObject: fields)
        let signed = try merchant.authority.jwsIdentity(for: .sandbox).sign(Array(payload))
        return Array(try JSONSerialization.data(withJSONObject: ["signedPayload": signed]))
    }

    private func coins(_ merchant: RunningMerchant, _ token: String) async throws -> Int64 {
        try await merchant.send(.balances(), as: token).decoded(BalanceList.self).amount(of: "coins")
    }

    @Test func aRefundAndItsReversalReachTheBooksAndTheList() async throws {
        try await RunningMerchant.with { merchant async throws in
            let (ann, id) = (try await merchant.token("ann"), "2000000000000001")
            #expect(try await merchant.redeem("coins", id, as: ann).status == 200)
            let date = Int64(Date().timeIntervalSince1970 * 1_000)
            let refunded = try merchant.signed("coins", id, ["revocationDate": date])
            let refund = try body(merchant, "REFUND", refunded, id: "n-1")
            for _ in 0..<2 {
                let reply = try await merchant.send(.notifications, refund)
                #expect(reply.status == 200 && reply.body.isEmpty)
                #expect(try await coins(merchant, ann) == 0)
            }
            let reversal = try body(merchant, "REFUND_REVERSED", try merchant.signed("coins", id), id: "n-2")
            #expect(try await merchant.send(.notifications, reversal).status == 200)
            #expect(try await coins(merchant, ann) == 10)
            #expect(try await merchant.send(.notifications, body(merchant, "TEST", nil, id: "n-3")).status == 200)

            let key = merchant.backendKey
            let first = try await merchant.send(.adminNotifications(limit: 1), as: key)
                .decoded(StoreNotificationList.self)
            let rest = try await merchant.send(.adminNotifications(before: first.next), as: key)
                .decoded(StoreNotificationList.self)
            let all = first.notifications + rest.notifications
            #expect(Set(all.map(\.notificationID)) == ["n-1", "n-2", "n-3"] && rest.next == nil)
            #expect(all.filter { $0.outcome == .ignored }.map(\.type) == ["TEST"])
            #expect(all.filter { $0.transactionID == id }.count == 2)
            #expect(all.allSatisfy { $0.environment == .sandbox && $0.bundleID == "com.example.books" })
            #expect(try await merchant.send(.adminNotifications()).status == 401)
            let wrong = try await HTTPReply(
                "GET", "\(merchant.address)/admin/v1/notifications?before=x", token: key)
            #expect(wrong.status == 400)
        }
    }

    @Test func refusalsHaveTheirStatusAndCode() async throws {
        try await RunningMerchant.with { merchant async throws in
            let transaction = try merchant.signed("coins", "2000000000000001")
            let good = try body(merchant, "REFUND", transaction, id: "n-1")
            var forged = good
            // In the signature, before the closing quote and brace.
            forged[forged.count - 8] = forged[forged.count - 8] == 0x41 ? 0x42 : 0x41
            let alone = #"{"signedPayload": "\#(String(decoding: transaction, as: UTF8.self))"}"#
            let table: [([UInt8], Int, String)] = [
                ([], 400, "invalid_request"), (Array("{}".utf8), 400, "invalid_request"),
                (Array("[1]".utf8), 400, "invalid_request"),
                (Array(#"{"signedPayload": 7}"#.utf8), 400, "invalid_request"),
                (Array(#"{"signedPayload": "a.b.c"}"#.utf8), 422, "malformed_receipt"),
                (Array(alone.utf8), 422, "malformed_receipt"), (forged, 422, "not_genuine"),
                (
                    try body(merchant, "REFUND", transaction, id: "n-2", ["bundleId": "com.example.other"]), 422,
                    "wrong_app"
                ),
                (
                    try body(merchant, "REFUND", transaction, id: "n-3", ["environment": "Production"]), 422,
                    "wrong_environment"
                ),
            ]
            for (body, status, code) in table {
                let reply = try await merchant.send(.notifications, body)
                #expect(reply.status == status && reply.code == code, "\(code): \(reply.status) \(reply.text)")
            }
            let list = try await merchant.send(.adminNotifications(), as: merchant.backendKey)
            #expect(try list.decoded(StoreNotificationList.self).notifications == [])
            // Without the database, the store has to send the notification again.
            await merchant.application.merchant.database.close()
            let later = try await merchant.send(.notifications, good)
            #expect(later.status == 503 && later.code == "unavailable" && later.headers["retry-after"] != nil)
        }
    }

    /// Only what is refused counts, apart from the address's other requests.
    @Test func aStoreSendsGenuineNotificationsAtAnyRate() async throws {
        let rate = TokenRate(burst: 3, perSecond: 0.001)
        try await RunningMerchant.with {
            $0.rates = RateLimits.Rates(address: rate, user: rate, key: rate)
        } _: { merchant async throws in
            for _ in 0..<3 { #expect(try await merchant.send(.balances(), as: "x").status == 401) }
            #expect(try await merchant.send(.balances(), as: "x").status == 429)
            let good = try body(merchant, "TEST", nil, id: "n-1")
            for _ in 0..<9 { #expect(try await merchant.send(.notifications, good).status == 200) }
            let bad = Array(#"{"signedPayload": "a.b.c"}"#.utf8)
            for _ in 0..<3 { #expect(try await merchant.send(.notifications, bad).status == 422) }
            let refused = try await merchant.send(.notifications, bad)
            #expect(refused.status == 429 && refused.code == "rate_limited" && refused.headers["retry-after"] != nil)
        }
    }
}
