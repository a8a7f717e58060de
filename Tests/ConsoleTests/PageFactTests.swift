import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Logging
import Store
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Console

/// The facts that pages state, also when an API gives another answer than usual or none.
@Suite(.timeLimit(.minutes(1))) struct PageFactTests {
    @Test func `a refund's question and answer name what is given back and how many deliveries`() async throws {
        try await RunningConsole.with { console in
            let id = try await console.buy(console.browser())
            for (kind, heading, sum) in [
                ("consumable", "Refund 1.48 USD?", "gets back 1.48 USD. 0.5 USD of the price were given back before."),
                ("autoRenewableSubscription", "Refund up to 1.48 USD?", "gets back 1.48 USD, or only the part"),
            ] {
                let browser = console.browser { path, answer in
                    guard path.hasSuffix("/sandbox/transactions/\(id)") else { return answer }
                    var detail = try JSONDecoder().decode(ControlAPI.TransactionDetail.self, from: answer.body)
                    detail.transaction.kind = kind
                    detail.transaction.refunded = detail.transaction.revocationDate == nil ? "0.5" : "1.98"
                    detail.deliveries = [
                        ControlAPI.RestoredDelivery(
                            transactionId: "1", sourceTransactionId: id, deviceId: "phone",
                            restoredDate: "2027-01-15T07:00:00.000Z", finishedDate: nil)
                    ]
                    return APIAnswer(status: 200, body: try JSONEncoder().encode(detail))
                }
                let path = "/sandbox/transactions/\(id)/refund"
                let question = try await browser.get(path)
                #expect(question.text.contains(heading) && question.text.contains(sum), "\(question.text)")
                #expect(question.text.contains("2 deliveries are revoked"))
                guard kind != "consumable" else { continue }
                let done = try await browser.submit(question, path, [("reason", "app")])
                #expect(try await browser.follow(done).text.contains("2 deliveries revoked."), "\(done.text)")
            }
        }
    }

    @Test func `a refund counts when it was made`() {
        func row(_ id: String, bought: String, refunded: String?) -> ControlAPI.Transaction {
            ControlAPI.Transaction(
                transactionId: id, originalTransactionId: id, accountId: "a", bundleId: "com.example.monkeys",
                productId: "hats", kind: "nonConsumable", quantity: 1, price: "2.99", currency: "USD",
                purchaseDate: bought, expiresDate: nil, finishedDate: nil, revocationDate: refunded,
                revocationReason: nil, refunded: refunded == nil ? nil : "2.99")
        }
        let old = row("1", bought: "2027-01-01T00:00:00.000Z", refunded: "2027-03-01T11:00:00.000Z")
        let recent = row("2", bought: "2027-02-20T00:00:00.000Z", refunded: "2027-02-21T00:00:00.000Z")
        let kept = row("3", bought: "2027-03-01T00:00:00.000Z", refunded: nil)
        let now = ReceiptDate(rfc3339: "2027-03-01T12:00:00.000Z".utf8)?.milliseconds ?? 0
        let sums = LedgerSums(
            ControlAPI.Page(rows: [kept, recent]), refunded: ControlAPI.Page(rows: [recent, old]), now: now)
        #expect(sums.day.purchases == 1 && sums.day.refunds == 1 && sums.day.refunded == ["USD": 2_990])
        #expect(sums.month.purchases == 2 && sums.month.refunds == 2)
        #expect(sums.lastRefunds.map(\.transactionId) == ["1", "2"])
    }

    @Test func `the overview shows what a refund gave back`() async throws {
        try await RunningConsole.with { console in
            let id = try await console.buy(console.browser())
            _ = try await console.store.sandbox.refund(try #require(TransactionID(id)), reason: .other)
            let browser = console.browser { path, answer in
                guard path.hasSuffix("/sandbox/transactions") else { return answer }
                var page = try JSONDecoder().decode(ControlAPI.Page<ControlAPI.Transaction>.self, from: answer.body)
                page.rows[0].refunded = "0.7"
                return APIAnswer(status: 200, body: try JSONEncoder().encode(page))
            }
            let last = try #require(try await browser.get("/sandbox").text.split(separator: "Last events").last)
            #expect(last.contains("0.7 USD") && last.contains("1.98 USD"), "\(last)")
        }
    }

    @Test func `a notification of version 1 shows its body`() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser { path, answer in
                guard path.hasSuffix("/sandbox/notifications/7") else { return answer }
                let sent = ControlAPI.Notification(
                    number: "7", notificationUUID: "7", notificationType: "DID_RENEW", subtype: nil,
                    bundleId: "com.example.monkeys", signedDate: "2027-01-15T07:00:00.000Z",
                    originalTransactionId: nil, transactionId: nil, state: "delivered", nextAttemptDate: nil,
                    sendAttempts: [], signedPayload: nil, version: 1, body: #"{"auto_renew_status":"true"}"#)
                return APIAnswer(status: 200, body: try JSONEncoder().encode(sent))
            }
            let page = try await browser.get("/sandbox/server-notifications/7").text.unescaped
            #expect(page.contains(#""auto_renew_status" : "true""#), "\(page)")
            #expect(!page.contains("The store signs the payload"))
        }
    }

    @Test func `only a receipt that was read is said to contain no purchases`() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let id = try await console.buy(browser)
            let form = try await browser.get("/sandbox/inspector")
            for text in ["bm9uc2Vuc2U=", "eyJhbGciOiJFUzI1NiJ9.e30.AA"] {
                let page = try await browser.submit(form, "/sandbox/inspector", [("receipt", text)]).text
                #expect(page.contains("Verdict") && !page.contains("Purchases in it"), "\(text)")
            }
            let read = try await browser.get("/sandbox/inspector?transaction=\(id)").text
            #expect(read.contains("The receipt contains no purchases."))
        }
    }

    @Test func `a merchant that does not answer is not said to have nothing`() async throws {
        try await RunningConsole.with { console in
            let id = try await console.buy(console.browser())
            let browser = console.browser { path, answer in
                guard path.hasPrefix("/admin/v1/") else { return answer }
                return APIAnswer(status: 503, body: Data(#"{"code":"unavailable","message":"Stopped."}"#.utf8))
            }
            for (path, nothing) in [
                ("notifications", "No webhooks"), ("customers/tester@sandbox.example", "No user has redeemed"),
                ("transactions/\(id)", "No user has redeemed"), ("search?q=ann", "No id equals"),
            ] {
                let page = try await browser.get("/sandbox/\(path)")
                #expect(page.status == 200 && page.text.contains("Stopped."), "\(path): \(page.text)")
                #expect(!page.text.contains(nothing), "\(path)")
            }
        }
    }

    @Test func `a search says which matches are elsewhere, and leads to them`() async throws {
        try await RunningConsole.with { console in
            let hits = ["account", "transaction", "product"].flatMap { kind in
                (101...120).map { #"{"kind":"\#(kind)","id":"\#(kind)\#($0)","title":"\#(kind)\#($0)"}"# }
            }.joined(separator: ",")
            let browser = console.browser { path, answer in
                if path.hasSuffix("/search") { return APIAnswer(status: 200, body: Data("[\(hits)]".utf8)) }
                guard path == "/admin/v1/users" else { return answer }
                return APIAnswer(status: 200, body: Data(#"{"users":[{"userId":"ann"}],"next":"ann"}"#.utf8))
            }
            let first = try await browser.get("/sandbox/search?q=a").text.unescaped
            #expect(first.contains(">product110<") && !first.contains(">product111<") && first.contains(">ann<"))
            #expect(first.contains("at most 20 of each kind"))
            #expect(first.contains("/sandbox/merchant?start=a#users"))
            #expect(first.contains("href=\"/sandbox/search?q=a&from=50#found\""))
            let second = try await browser.get("/sandbox/search?q=a&from=50").text.unescaped
            #expect(second.contains(">product120<") && !second.contains(">product110<"))
            #expect(second.contains("href=\"/sandbox/search?q=a#found\">First</a>"))
        }
    }

    @Test(arguments: [(9, false), (10, true)])
    func `a search says that it finds at most 20 apps and products`(count: Int, isCut: Bool) async throws {
        try await RunningConsole.with { console in
            let hits = ["app", "product"].flatMap { kind in
                (1...count).map { #"{"kind":"\#(kind)","id":"\#(kind)\#($0)","title":"\#(kind)\#($0)"}"# }
            }.joined(separator: ",")
            let browser = console.browser { path, answer in
                path.hasSuffix("/search") ? APIAnswer(status: 200, body: Data("[\(hits)]".utf8)) : answer
            }
            let page = try await browser.get("/sandbox/search?q=a").text
            #expect(page.contains(">app9<") && page.contains("at most 20 of each kind") == isCut)
        }
    }

    @Test(
        arguments: [
            (5_259_599, "60 d"), (5_259_600, "2 months"), (63_115_199, "23 months"), (63_115_200, "2 years"),
        ] as [(UInt64, String)]) func `a span is in the plural of its unit`(_ seconds: UInt64, _ words: String)
    {
        #expect(Moments.span(seconds) == words)
    }

    @Test func `the sandbox's clock does not age what both environments share`() async throws {
        try await RunningConsole.with { console in
            let managed = console.store.managed
            _ = try await managed.register("com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            try await console.store.sandbox.changeClock { try $0.advance(by: 30 * 86_400_000) }
            let page = try await console.browser().get("/sandbox/managed/com.example.drafts").text
            let history = try #require(page.split(separator: "id=\"history\"").last)
            #expect(history.contains("register") && !history.contains("30 d ago"), "\(history)")
        }
    }

    @Test func `a failed attempt is one that was declined or interrupted`() async throws {
        try await RunningConsole.with { console in
            let now = Moments.iso(console.store.sandbox.clock.milliseconds)
            let browser = console.browser { path, answer in
                guard path.hasSuffix("/sandbox/attempts") else { return answer }
                let rows = ControlAPI.Attempt.State.allCases.enumerated().map { number, state in
                    ControlAPI.Attempt(
                        attemptId: "\(number + 1)", key: UUID(), accountId: "a", bundleId: "com.example.monkeys",
                        productId: "hats", quantity: 1, amount: "2.99", currency: "USD", state: state,
                        createdDate: now)
                }
                return APIAnswer(status: 200, body: try JSONEncoder().encode(ControlAPI.Page(rows: rows)))
            }
            let page = try await browser.get("/sandbox").text
            // The list that a filter leaves empty does not ask for a first failure.
            let none = try await console.browser().get("/sandbox/attempts?state=bought").text
            #expect(none.contains("No attempt matches.") && !none.contains("Let the next purchase fail"))
            for span in ["24 hours", "30 days"] {
                let number = page.firstMatch(of: try Regex("Failed attempts, \(span)</dt><dd>(<a [^>]*>)?2<"))
                #expect(number != nil, "\(page)")
            }
        }
    }

    @Test func `the overview says when it did not count everything, or could not read it`() async throws {
        try await RunningConsole.with { console in
            _ = try await console.buy(console.browser())
            let more = console.browser { path, answer in
                if path.hasSuffix("/sandbox/refund-requests") {
                    return APIAnswer(status: 200, body: Data(#"{"rows":[],"next":"7"}"#.utf8))
                }
                guard path.hasSuffix("/sandbox/transactions") else { return answer }
                var page = try JSONDecoder().decode(ControlAPI.Page<ControlAPI.Transaction>.self, from: answer.body)
                for index in page.rows.indices { page.rows[index].sharedFrom = "1" }
                page.next = "1"
                return APIAnswer(status: 200, body: try JSONEncoder().encode(page))
            }
            let overview = try await more.get("/sandbox").text
            #expect(overview.contains(">0 or more<"), "\(overview)")
            #expect(overview.contains("Purchases, 24 hours</dt><dd>0 <small>at least</small>"))
            for (part, status) in [("/sandbox/refund-requests", 503), ("/v1/catalog", 503), ("/webhooks/dead", 200)] {
                let failing = console.browser { path, answer in
                    guard path.hasSuffix(part) else { return answer }
                    return APIAnswer(status: 503, body: Data(#"{"code":"unavailable","message":"Stopped."}"#.utf8))
                }
                let page = try await failing.get("/sandbox")
                #expect(page.status == status && page.text.contains("Stopped."), "\(part)")
            }
        }
    }

    @Test func `a long chain shows its newest transactions`() async throws {
        try await RunningConsole.with { console in
            let id = try await console.buy(console.browser())
            let browser = console.browser { path, answer in
                guard path.hasSuffix("/sandbox/transactions/\(id)") else { return answer }
                var detail = try JSONDecoder().decode(ControlAPI.TransactionDetail.self, from: answer.body)
                detail.chain = (100..<160).map { number in
                    var row = detail.transaction
                    row.transactionId = "\(number)"
                    return row
                }
                return APIAnswer(status: 200, body: try JSONEncoder().encode(detail))
            }
            let page = try await browser.get("/sandbox/transactions/\(id)").text
            let shown = page.matches(of: /\/sandbox\/transactions\/(1[0-9]{2})"/).compactMap { Int($0.1) }
            #expect(shown == Array((110..<160).reversed()))
            #expect(page.contains("The newest 50 of 60."))
        }
    }

    @Test func `a purchase that was requested before is not said to have been approved`() async throws {
        try await RunningConsole.with { console in
            let id = try await console.buy(console.browser())
            let browser = console.browser { path, answer in
                guard path.hasSuffix("/sandbox/attempts") else { return answer }
                let attempt = ControlAPI.Attempt(
                    attemptId: "1", key: UUID(), accountId: "a", bundleId: "com.example.monkeys",
                    productId: "credits5", quantity: 2, amount: "1.98", currency: "USD", state: .bought,
                    transactionId: id, createdDate: "2020-01-01T00:00:00.000Z")
                return APIAnswer(status: 200, body: try JSONEncoder().encode(ControlAPI.Page(rows: [attempt])))
            }
            let page = try await browser.get("/sandbox/customers/tester@sandbox.example").text
            #expect(page.contains("</small> Requested") && !page.contains("Asked for approval"), "\(page)")
        }
    }

    @Test func `the price increase that was asked last comes first`() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser { path, answer in
                guard path.hasSuffix("/sandbox/price-increases") else { return answer }
                let increases = [("a", "2027-01-01"), ("c", "2027-01-03"), ("b", "2027-01-02")].map { name, day in
                    ControlAPI.PriceIncrease(
                        accountId: "a", bundleId: "com.example.monkeys", productId: "increased-\(name)",
                        oldPrice: "5.99", newPrice: "7.99", currency: "USD", askedDate: "\(day)T00:00:00.000Z",
                        answer: "accepted", answeredDate: nil)
                }
                return APIAnswer(status: 200, body: try JSONEncoder().encode(increases))
            }
            let page = try await browser.get("/sandbox/subscriptions").text
            #expect(page.matches(of: /increased-([abc])</).map { String($0.1) } == ["c", "b", "a"], "\(page)")
        }
    }
}

extension RunningConsole {
    /// A browser at a console whose control port gives other answers.
    /// - Parameter alter: makes the answer from the path without its query and the store's answer.
    func browser(altering alter: @escaping @Sendable (String, APIAnswer) throws -> APIAnswer) -> TestBrowser {
        var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        let backends = ConsoleBackends(
            control: AlteredCalls(calls: store.inProcessControl, alter: alter),
            merchant: AlteredCalls(calls: NoMerchant(), alter: alter))
        let application = ConsoleApplication(
            ConsoleConfiguration(limits: ServerLimits()), backends, now: { now.date }, logger: logger,
            onReady: { _ in })
        return TestBrowser(responder: application.router().buildResponder())
    }
}

/// An API whose answers a test changes.
private struct AlteredCalls: APICalls {
    let calls: any APICalls
    let alter: @Sendable (String, APIAnswer) throws -> APIAnswer

    func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer {
        let answer = try await calls.send(method, path, body: body, type: type, token: token, for: caller)
        return try alter(String(path.prefix { $0 != "?" }), answer)
    }

    func stream(_ path: String, for caller: APICaller) async throws -> Response {
        try await calls.stream(path, for: caller)
    }
}
