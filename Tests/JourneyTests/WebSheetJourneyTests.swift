import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("A payment sheet on a web page", .timeLimit(.minutes(1)))
struct WebSheetJourneyTests {
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
            #expect(form.status == 200 && String(decoding: form.body, as: UTF8.self).contains("type=\"password\""))
            let wrong = try await HTTPReply("GET", signIn.absoluteString + "0")
            #expect(wrong.status == 404)
            let credentials = #"{"choice":"accept","email":"\#(device.email)","password":"\#(JourneyDevice.password)"}"#
            #expect(
                try await HTTPReply("POST", signIn.absoluteString + "/answer", body: Array(credentials.utf8)).status
                    == 204)

            let confirm = try #require(await shown.next())
            let page = String(decoding: try await HTTPReply("GET", confirm.absoluteString).body, as: UTF8.self)
            #expect(page.contains("Five Credits") && page.contains("2 × $0.99 = $1.98") && page.contains(device.email))
            let choice = #"{"choice":"\#(buys ? "accept" : "decline")"}"#
            #expect(
                try await HTTPReply("POST", confirm.absoluteString + "/answer", body: Array(choice.utf8)).status == 204)
            // The first answer stands.
            #expect(
                try await HTTPReply("POST", confirm.absoluteString + "/answer", body: Array(choice.utf8)).status == 404)
            let state = buys ? "purchased" : "failed"
            #expect(await app.told(2) == ["updated purchasing credits5", "updated \(state) credits5"])
            #expect(try await device.ledger().purchases.count == (buys ? 1 : 0))
            // The question is gone once it was answered.
            #expect(try await HTTPReply("GET", confirm.absoluteString).status == 404)
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
            func answer(_ reply: String) async throws {
                let page = try #require(await shown.next())
                #expect(
                    try await HTTPReply("POST", page.absoluteString + "/answer", body: Array(reply.utf8)).status == 204)
            }
            try await answer(
                #"{"choice":"accept","email":"\#(device.email)","password":"\#(JourneyDevice.password)"}"#)
            try await answer(#"{"choice":"accept"}"#)
            // The card is declined; the notice's page is open, and the app hears of it all the same.
            let notice = try #require(await shown.next())
            #expect(await app.told(2) == ["updated purchasing credits5", "updated failed credits5"])
            let page = try await HTTPReply("GET", notice.absoluteString)
            #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains(">OK<"))
            // So does the next sheet come.
            app.queue.add(payment("hats"))
            try await answer(#"{"choice":"decline"}"#)
            #expect(await app.told(4).last == "updated failed hats")
            await app.stop()
        }
    }
}
