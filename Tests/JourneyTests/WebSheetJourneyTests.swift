import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("A payment sheet on a web page", .timeLimit(.minutes(1)))
struct WebSheetJourneyTests {
    /// Sends a page's form, and follows the response.
    private static func answer(
        _ page: URL, _ choice: String, _ email: String = "", _ password: String = "", option: String = ""
    ) async throws -> HTTPReply {
        var form = URLComponents()
        form.queryItems = [
            URLQueryItem(name: "choice", value: choice), URLQueryItem(name: "email", value: email),
            URLQueryItem(name: "password", value: password), URLQueryItem(name: "option", value: option),
        ]
        return try await HTTPReply(
            "POST", page.absoluteString + "/answer", type: "application/x-www-form-urlencoded",
            body: Array((form.percentEncodedQuery ?? "").utf8))
    }

    @Test(arguments: [true, false])
    func `a person signs in and buys, or cancels, on the page`(buys: Bool) async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            let (pages, show) = AsyncStream.makeStream(of: URL.self)
            var configuration = device.configuration()
            configuration.sheet = WebPaymentSheet(control: try #require(URL(string: store.addresses.control + "/"))) {
                show.yield($0)
            }
            let app = JourneyApp(device.launch(configuration))
            app.queue.add(payment("credits5", quantity: 2))
            var shown = pages.makeAsyncIterator()

            let signIn = try #require(await shown.next())
            let form = try await HTTPReply("GET", signIn.absoluteString)
            #expect(form.status == 200 && form.text.contains("type=\"password\""))
            #expect(form.text.contains("<strong>Sandbox</strong>"))
            let wrong = try await HTTPReply("GET", signIn.absoluteString + "0")
            #expect(wrong.status == 404)

            // A wrong password leads to the form again, which has the account.
            _ = try await Self.answer(signIn, "accept", device.email, "not the password")
            let second = try #require(await shown.next())
            let again = try await HTTPReply("GET", signIn.absoluteString)
            #expect(again.status == 200 && again.text.contains("action=\"\(second.path)/answer\""))
            #expect(again.text.contains("value=\"\(device.email)\"") && !again.text.contains("not the password"))
            #expect(again.text.contains("The password is not right."))

            // The right one leads to the price.
            _ = try await Self.answer(second, "accept", device.email, JourneyDevice.password)
            let confirm = try #require(await shown.next())
            let page = try await HTTPReply("GET", signIn.absoluteString)
            #expect(page.text.contains("action=\"\(confirm.path)/answer\""))
            #expect(page.text.contains("Five Credits") && page.text.contains("2 × $0.99 = $1.98"))
            #expect(page.text.contains(device.email) && page.text.contains("<strong>Sandbox</strong>"))
            let result = buys ? "Return to the app: it buys now." : "Nothing was bought."
            let choice = buys ? "accept" : "decline"
            for _ in 0..<2 {
                let reply = try await Self.answer(confirm, choice)
                #expect(reply.status == 200 && reply.text.contains(result))
            }
            // The first answer stands.
            #expect(try await Self.answer(confirm, buys ? "decline" : "accept").status == 409)
            let state = buys ? "purchased" : "failed"
            #expect(await app.told(2) == ["updated purchasing credits5", "updated \(state) credits5"])
            #expect(try await device.ledger().purchases.count == (buys ? 1 : 0))
            #expect(try await HTTPReply("GET", confirm.absoluteString).text.contains("You answered"))
            await app.stop()
        }
    }

    @Test func `a person chooses the reason of a refund on the page`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            let first = JourneyApp(device.launch(), grants: Grants())
            first.queue.add(payment("credits5"))
            #expect(await first.told(3).last == "removed purchased credits5")
            let id = try #require(first.latest?.transactionIdentifier.flatMap { UInt64($0) })
            await first.stop()
            let (pages, show) = AsyncStream.makeStream(of: URL.self)
            var configuration = device.configuration()
            configuration.sheet = WebPaymentSheet(control: try #require(URL(string: store.addresses.control))) {
                show.yield($0)
            }
            let app = JourneyApp(device.launch(configuration))
            let engine = app.engine
            async let status = engine.beginRefundRequest(for: id)
            var shown = pages.makeAsyncIterator()
            let page = try #require(await shown.next())
            let form = try await HTTPReply("GET", page.absoluteString)
            #expect(form.text.contains("Refund of Five Credits") && form.text.contains("$0.99"))
            #expect(form.text.contains("value=\"UNINTENDED_PURCHASE\"") && form.text.contains(device.email))
            let reply = try await Self.answer(page, "accept", option: "LEGAL")
            #expect(reply.status == 200 && reply.text.contains("it requests the refund now"))
            let ended = try await status
            #expect(ended == .success)
            let made = try await store.control("GET", "refund-requests")
            #expect(made.text.contains("\"reason\":\"LEGAL\""))
            await app.stop()
        }
    }

    @Test func `an unread notice delays nothing`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            let rule = #"{"name":"no money","productId":"credits5"}"#
            #expect(try await store.control("POST", "payment-rules", rule).status == 201)
            let (pages, show) = AsyncStream.makeStream(of: URL.self)
            var configuration = device.configuration()
            configuration.sheet = WebPaymentSheet(control: try #require(URL(string: store.addresses.control))) {
                show.yield($0)
            }
            let app = JourneyApp(device.launch(configuration))
            app.queue.add(payment("credits5"))
            var shown = pages.makeAsyncIterator()
            let signIn = try #require(await shown.next())
            _ = try await Self.answer(signIn, "accept", device.email, JourneyDevice.password)
            let confirm = try #require(await shown.next())
            _ = try await Self.answer(confirm, "accept")
            // The card is declined; the notice's page is open, and the app hears of it all the same.
            let notice = try #require(await shown.next())
            #expect(await app.told(2) == ["updated purchasing credits5", "updated failed credits5"])
            let led = try await HTTPReply("GET", confirm.absoluteString)
            #expect(led.status == 200 && led.text.contains("action=\"\(notice.path)/answer\""))
            #expect(led.text.contains(">OK<"))
            // So does the next sheet come.
            app.queue.add(payment("hats"))
            _ = try await Self.answer(try #require(await shown.next()), "decline")
            #expect(await app.told(4).last == "updated failed hats")
            await app.stop()
        }
    }
}
