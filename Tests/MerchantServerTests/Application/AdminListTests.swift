import Foundation
import Merchant
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import MerchantServer

/// What the developer's backend and the console read: lists, API keys, settings, webhook events.
@Suite("The admin API's lists", .timeLimit(.minutes(1)))
struct AdminListTests {
    @Test func usersAndPurchasesAreListed() async throws {
        try await RunningMerchant.with { merchant async throws in
            let key = merchant.backendKey
            for (index, user) in ["ann", "bob"].enumerated() {
                let token = try await merchant.token(UserID(user))
                let reply = try await merchant.redeem("coins", "200000000000000\(index)", as: token)
                #expect(reply.status == 200)
            }
            let users = try await merchant.send(.users(limit: 1), as: key).decoded(UserList.self)
            #expect(users.users.map(\.userID) == ["ann"] && users.next == "ann")
            let rest = try await merchant.send(.users(after: users.next), as: key).decoded(UserList.self)
            #expect(rest.users.map(\.userID) == ["bob"] && rest.next == nil && rest.users[0].lastRedeemedAt != nil)
            let found = try await merchant.send(.users(startingWith: "b"), as: key).decoded(UserList.self)
            #expect(found.users.map(\.userID) == ["bob"])
            let all = try await merchant.send(.adminRedemptions(limit: 1), as: key).decoded(RedemptionRecordList.self)
            #expect(all.redemptions.map(\.transactionID) == ["2000000000000001"])
            let older = try await merchant.send(.adminRedemptions(before: all.next), as: key)
                .decoded(RedemptionRecordList.self)
            #expect(older.redemptions.map(\.userID) == ["ann"] && older.next == nil)
            let anns = try await merchant.send(.userRedemptions("ann"), as: key).decoded(RedemptionRecordList.self)
            #expect(anns == older)
            let report = try await merchant.send(.transaction("2000000000000001"), as: key)
                .decoded(TransactionReport.self)
            #expect(report.redemptions == all.redemptions && report.entries.map(\.userID) == ["bob"])
            let other = try await merchant.send(.transaction("2000000000000001", bundle: "com.example.other"), as: key)
            #expect(try other.decoded(TransactionReport.self) == TransactionReport(redemptions: [], entries: []))
            for path in [
                "users?limit=0", "users?limit=201", "users?limit=x", "users/ann/redemptions?before=x",
                "redemptions?before=%00", "users?after=",
                "transactions/%00", "transactions/1?original=", "webhooks/events?purchase=%00",
            ] {
                let reply = try await HTTPReply("GET", "\(merchant.address)/admin/v1/\(path)", token: key)
                #expect(reply.status == 400, "\(path)")
            }
        }
    }

    @Test func keysAreMadeListedAndRevoked() async throws {
        try await RunningMerchant.with { merchant async throws in
            func make(_ body: String, as key: String) async throws -> RunningMerchant.Reply {
                try await merchant.send(.makeAPIKey, as: key, Array(body.utf8))
            }
            let made = try await make(#"{"name": "console", "scopes": ["users", "keys"]}"#, as: merchant.backendKey)
            #expect(made.status == 201)
            let key = try made.decoded(MadeAPIKey.self)
            #expect(key.name == "console" && key.scopes == ["keys", "users"])
            #expect(try await merchant.send(.users(), as: key.key).status == 200)
            #expect(try await merchant.send(.adminProducts, as: key.key).code == "forbidden")
            // A key gives no scope that it lacks.
            let wider = try await make(#"{"name": "wider", "scopes": ["users", "ledger"]}"#, as: key.key)
            #expect(wider.status == 403 && wider.code == "forbidden" && wider.text.contains("ledger"))
            let narrow = try await make(#"{"name": "narrow", "scopes": ["users"]}"#, as: key.key)
                .decoded(MadeAPIKey.self)
            #expect(try await merchant.send(.apiKeys, as: narrow.key).code == "forbidden")
            for body in [
                "{}", #"{"name": "console", "scopes": ["users"]}"#, #"{"name": "", "scopes": ["users"]}"#,
                #"{"name": "a b", "scopes": ["users"]}"#, #"{"name": "a", "scopes": []}"#,
                #"{"name": "a", "scopes": ["all"]}"#,
            ] {
                let refused = try await make(body, as: merchant.backendKey)
                #expect(refused.status == 400 && refused.code == "invalid_request", "\(body): \(refused.text)")
            }
            #expect(try await merchant.send(.revokeAPIKey("narrow"), as: key.key).status == 204)
            #expect(try await merchant.send(.users(), as: narrow.key).status == 401)
            #expect(try await merchant.send(.revokeAPIKey("narrow"), as: key.key).status == 404)
            let list = try await merchant.send(.apiKeys, as: key.key)
            #expect(!list.text.contains("cmk_"))
            let keys = try list.decoded(APIKeyList.self).keys
            #expect(keys.map(\.name) == ["backend", "console", "narrow"])
            #expect(keys.map { $0.revokedAt == nil } == [true, true, false])
        }
    }

    @Test func settingsAreShownWithoutSecrets() async throws {
        try await RunningMerchant.with {
            $0.webhooks = try? WebhookReceiver(
                address: "https://example.com/hook?token=hidden", secrets: [WebhookSecret(WebhookSecret.make())])
            $0.rates = .standard
            $0.isBehindProxy = true
        } _: { merchant async throws in
            let reply = try await merchant.send(.settings, as: merchant.backendKey)
            #expect(reply.status == 200 && !reply.text.contains("hidden") && !reply.text.contains("whsec"))
            let settings = try reply.decoded(SettingsReport.self)
            #expect(settings.webhook == "https://example.com/hook" && settings.bundleIDs == ["com.example.books"])
            #expect(settings.rates?.user == .init(burst: 60, perSecond: 20) && settings.isBehindProxy)
            #expect(settings.environments == [.sandbox] && settings.usualEnvironment == .sandbox)
            #expect(settings.conflict == "refuse" && settings.refund == "toZero" && settings.database == "SQLite")
            // An app that “cornerstore serve” takes later.
            merchant.application.merchant.verifier.take(apps: ["com.example.apples"])
            let later = try await merchant.send(.settings, as: merchant.backendKey).decoded(SettingsReport.self)
            #expect(later.bundleIDs == ["com.example.apples", "com.example.books"])
        }
    }

    @Test func aTestEventIsFollowedToItsDelivery() async throws {
        let receiver = WebhookTests.Receiver((.ok, [:]))
        try await LoopbackServer.with(receiver.router) { url in
            try await RunningMerchant.with {
                $0.policy = MerchantPolicy(environments: [.sandbox], sendsWebhooks: true)
                $0.webhooks = try? WebhookReceiver(
                    address: url.absoluteString + "hook", secrets: [WebhookSecret(WebhookSecret.make())])
            } _: { merchant async throws in
                let key = merchant.backendKey
                let id = try await merchant.send(.testWebhook, as: key).decoded(SentWebhook.self).eventID
                func state() async throws -> WebhookEventDescription {
                    try await merchant.send(.webhookEvent(id), as: key).decoded(WebhookEventDescription.self)
                }
                try await until { try await state().event.state == .delivered }
                let event = try await state()
                #expect(event.event.type == "webhook.test" && event.attempts.map(\.status) == [200])
                #expect(event.attempts[0].answer == "ok" && event.body.contains(id))
                let list = try await merchant.send(.webhookEvents(state: .delivered), as: key)
                    .decoded(WebhookEventList.self)
                #expect(list.events == [event.event] && list.next == nil)
                #expect(try await merchant.send(.resendWebhook(id), as: key).status == 204)
                try await until { try await state().attempts.count == 2 }
                #expect(receiver.requests.count == 2)
                for (route, status) in [(MerchantRoute.webhookEvent("none"), 404), (.resendWebhook("none"), 404)] {
                    #expect(try await merchant.send(route, as: key).status == status)
                }
                let wrong = try await HTTPReply(
                    "GET", "\(merchant.address)/admin/v1/webhooks/events?state=lost", token: key)
                #expect(wrong.status == 400)
            }
        }
    }
}
