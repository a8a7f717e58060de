import ControlWire
import CornerstoreEncoding
import Foundation
import HTTPTypes
import Store
import StoreWire
import TestSupport
import Testing

@testable import Console

@Suite("Refund requests, notifications and keys on the console", .timeLimit(.minutes(1)))
struct RefundAndNotificationTests {
    private static let bundle = "com.example.monkeys"

    /// Requests the refund of a new purchase on the transaction's page.
    /// - Returns: the request's page.
    private func requestRefund(
        _ console: RunningConsole, _ browser: TestBrowser
    ) async throws -> (page: TestBrowser.Page, path: String) {
        let path = "/sandbox/transactions/\(try await console.buy(browser))/refund-request"
        let made = try await browser.submit(try await browser.get(path), path, [("reason", "UNINTENDED_PURCHASE")])
        #expect(made.status == 303, "\(made.text)")
        let place = try #require(made.headers[.location])
        return (try await browser.follow(made), String(place.prefix { $0 != "?" }))
    }

    @Test func aRefundIsRequestedAndApproved() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let (page, path) = try await requestRefund(console, browser)
            #expect(page.text.contains("waits for a decision") && page.text.contains("Did not mean to buy it"))
            #expect(page.text.contains("1.98 USD") && page.text.contains("Nothing. The store asks"))
            ConsoleFormTests.checkCommands(page.text, path)
            let list = try await browser.get("/sandbox/refund-requests?state=waiting").text
            #expect(list.contains("tester@sandbox.example") && list.contains("1.98 USD") && list.contains("Waiting"))
            #expect(try await browser.get("/sandbox").text.contains("refund-requests?state=waiting"))
            _ = console.asked.take()
            let approved = try await browser.submit(page, path + "/approve", [("share", "prorated")])
            #expect(approved.status == 303, "\(approved.text)")
            #expect(console.asked.take().contains { $0.hasPrefix("POST /control/v1/sandbox/refund-requests/") })
            let after = try await browser.follow(approved)
            #expect(after.text.contains("Approved") && after.form(path + "/approve") == nil)
            // Nobody can decide otherwise afterwards.
            let late = try await browser.submit(page, path + "/decline")
            #expect(late.status == 422, "\(late.text)")
            let waiting = try await browser.get("/sandbox/refund-requests?state=waiting").text
            #expect(waiting.contains("No request matches."))
            // A refunded purchase has no such form any more.
            let transaction = try #require(after.text.firstMatch(of: /\/sandbox\/transactions\/[0-9]+/)?.0)
            #expect(try await !browser.get(String(transaction)).text.contains("/refund-request\""))
        }
    }

    @Test func aRequestIsDeclinedAndTheRuleIsSet() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let (page, path) = try await requestRefund(console, browser)
            let declined = try await browser.submit(page, path + "/decline")
            #expect(try await browser.follow(declined).text.contains("The purchase stays as it is."))
            let list = try await browser.get("/sandbox/refund-requests")
            #expect(list.text.contains("Declined") && list.text.contains("value=\"approve\" selected"))
            let set = try await browser.submit(list, "/sandbox/refund-requests/rule", [("rule", "preference")])
            #expect(try await browser.follow(set).text.contains("value=\"preference\" selected"))
            #expect(try await console.store.sandbox.refundRule() == .preference)
            #expect(try await console.store.production.refundRule() == .ask)
            let wrong = try await browser.submit(list, "/sandbox/refund-requests/rule", [("rule", "never")])
            #expect(wrong.status == 422)
        }
    }

    @Test func aFilterThatTheStoreRefusesSaysWhy() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            for query in [
                "refund-requests?state=lost", "server-notifications?type=LOST", "server-notifications?state=x",
            ] {
                let page = try await browser.get("/sandbox/\(query)")
                #expect(page.status == 200 && page.text.contains("Change the filter."), "\(query)")
                #expect(page.text.contains("class=\"note bad\""), "\(query)")
            }
        }
    }

    @Test func productionAsksBeforeADecision() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let list = try await browser.get("/production/refund-requests")
            let action = "/production/refund-requests/rule"
            let question = try await browser.submit(list, action, [("rule", "approve")])
            #expect(question.status == 200 && question.text.contains("Change production?"))
            #expect(try await console.store.production.refundRule() == .ask)
            #expect(try await browser.submit(question, action).status == 303)
            #expect(try await console.store.production.refundRule() == .approve)
        }
    }

    @Test func anAnswerOfTheAppsServerHasWords() throws {
        func words(_ json: String, version: Int) throws -> [String: String] {
            var request = ControlAPI.RefundRequest(
                requestId: "1", transactionId: "2", email: nil, bundleId: "a", productId: "b", price: nil,
                currency: nil, reason: "OTHER", requestedDate: "", deadline: "", state: "waiting", decidedDate: nil,
                consumptionVersion: version, consumption: nil)
            request.consumption = try JSONDecoder().decode(ControlAPI.CatalogValue.self, from: Data(json.utf8))
            let facts = ConsumptionWords.facts(request)
            return Dictionary(facts.map { ($0.note ?? "", $0.value) }) { $1 }
        }
        let first = try words(
            """
            {"customerConsented":true,"accountTenure":7,"deliveryStatus":0,"lifetimeDollarsRefunded":1,
             "userStatus":1,"refundPreference":2,"playTime":99,"appAccountToken":""}
            """, version: 1)
        #expect(first["accountTenure"] == "Over 365 days" && first["deliveryStatus"] == "Delivered, and works")
        #expect(first["lifetimeDollarsRefunded"] == "0" && first["userStatus"] == "Active")
        #expect(first["refundPreference"] == "Decline the refund" && first["customerConsented"] == "Yes")
        // A number that nobody knows is shown as it is.
        #expect(first["playTime"] == "99" && first["appAccountToken"] == "None")
        let second = try words(
            """
            {"deliveryStatus":"UNDELIVERED_OTHER","consumptionPercentage":12500,
             "refundPreference":"GRANT_PRORATED"}
            """, version: 2)
        #expect(second["deliveryStatus"] == "Not delivered" && second["consumptionPercentage"] == "12.5 %")
        #expect(second["refundPreference"] == "Refund the part that is not used")
    }

    @Test func aURLIsSetTestedAndRemoved() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let path = "/sandbox/server-notifications"
            let empty = try await browser.get(path)
            #expect(empty.text.contains("No URLs yet."))
            let wrong = try await browser.submit(
                empty, path + "/set-url", [("bundle", Self.bundle), ("url", "http://example.com"), ("redirects", "")])
            #expect(wrong.status == 422 && wrong.text.contains("value=\"http://example.com\""), "\(wrong.text)")
            let set = try await browser.submit(
                empty, path + "/set-url",
                [
                    ("bundle", Self.bundle), ("url", "https://example.com/apple"),
                    ("redirects", "https://a.example, https://b.example"),
                ])
            let page = try await browser.follow(set)
            #expect(page.text.contains("https://a.example https://b.example"), "\(set.text)")
            let receiver = try #require(
                console.store.sandbox.apps.notificationReceiver(of: RunningConsole.bundleID, in: .sandbox))
            #expect(receiver.address.text == "https://example.com/apple")
            let other = console.store.production.apps.notificationReceiver(
                of: RunningConsole.bundleID, in: .production)
            #expect(other == nil)

            let tested = try await browser.submit(page, path + "/test")
            let sent = try await browser.follow(tested)
            #expect(sent.status == 200 && sent.text.contains("Notification TEST"), "\(tested.text)")
            #expect(sent.text.contains("The store has not tried to send it."))
            ConsoleFormTests.checkCommands(sent.text, "a notification")
            let resent = try await browser.submit(sent, path + "/resend")
            #expect(resent.headers[.location]?.hasPrefix(path + "/") == true, "\(resent.text)")
            #expect(try await browser.get(path + "?type=TEST&state=waiting").text.contains(">TEST</a>"))
            #expect(try await browser.get(path + "?type=DID_RENEW").text.contains("No notification matches."))

            let removed = try await browser.submit(page, path + "/remove-url")
            #expect(try await browser.follow(removed).text.contains("No URLs yet."))
            let without = try await browser.submit(page, path + "/test")
            #expect(without.status == 422 && without.text.contains("no URL for notifications"))
        }
    }

    @Test func aPayloadIsShownDecoded() throws {
        func jws(_ json: String) -> String { "eyJ9.\(Base64URL.encoded(json.utf8)).AA" }
        let transaction = jws(#"{"transactionId":"7","price":1990}"#)
        let text = try #require(
            NotificationPayload.readable(
                jws(#"{"notificationType":"TEST","data":{"signedTransactionInfo":"\#(transaction)","status":1}}"#)))
        #expect(text.contains(#""transactionId" : "7""#) && text.contains(#""price" : 1990"#), "\(text)")
        #expect(text.contains(#""notificationType" : "TEST""#) && !text.contains("eyJ9"))
        for signed in ["", "a.b", "a.%.c", jws("[1]"), jws("no")] {
            #expect(NotificationPayload.readable(signed) == nil, "\(signed)")
        }
        // What cannot be read stays as it is.
        let rest = NotificationPayload.readable(jws(#"{"data":{"signedRenewalInfo":"x"}}"#))
        #expect(rest?.contains(#""signedRenewalInfo" : "x""#) == true)
    }

    @Test func aKeyIsMadeShownOnceAndRevoked() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let empty = try await browser.get("/sandbox/api-keys")
            #expect(empty.text.contains("No API keys yet."))
            let made = try await browser.submit(empty, "/sandbox/api-keys/make", [("bundle", Self.bundle)])
            #expect(made.status == 200 && made.text.contains("-----BEGIN PRIVATE KEY-----"), "\(made.text)")
            #expect(made.headers[.cacheControl]?.contains("no-store") == true)
            let list = try await browser.get("/sandbox/api-keys")
            let name = try #require(list.form("/sandbox/api-keys/revoke")?.first { $0.0 == "name" }?.1)
            #expect(made.text.contains("SubscriptionKey_\(name).p8"))
            #expect(list.text.contains(name) && !list.text.contains("PRIVATE KEY"))
            // It concerns both environments, and both ask.
            let question = try await browser.submit(list, "/sandbox/api-keys/revoke")
            #expect(question.status == 200 && question.text.contains("Change both environments?"))
            #expect(try await browser.submit(question, "/sandbox/api-keys/revoke").status == 303)
            let after = try await browser.get("/sandbox/api-keys?keys=9223372036854775807")
            #expect(after.status == 200 && after.form("/sandbox/api-keys/revoke") == nil)
            #expect(try await browser.get("/sandbox/api-keys").text.contains("Revoked"))
        }
    }
}
