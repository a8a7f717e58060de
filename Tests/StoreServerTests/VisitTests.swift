import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Item pages within an app", .timeLimit(.minutes(1)))
struct VisitTests {
    private func with(
        _ change: @escaping @Sendable (inout StoreServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningServer) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + StorefrontPageTests.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url, change, body)
        }
    }

    private static func post(_ server: RunningServer, _ url: String, _ form: String) async throws
        -> RunningServer.Reply
    {
        try await server.send(
            "POST", url, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
    }

    @Test(arguments: Backend.available) func theCustomerBuysAndReviewsOnThePage(_ backend: Backend) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await with {
                $0.databaseURL = url
                $0.schemaPrefix = prefix
            } _: { server in
                try await Self.journey(server)
            }
        }
    }

    private static func journey(_ server: RunningServer) async throws {
        let token = try await server.signIn().token
        let opened = try await server.device(
            .openVisit, token: token, body: VisitRequest(item: 1000, productID: "hats")
        ).decoded(VisitDescription.self)
        #expect(opened.name == "Monkeys & <b>Co</b>" && opened.price == "$1.99" && !opened.isOwned)
        #expect(opened.url.hasPrefix(server.addresses.storefront + "/visit/") && opened.id.count == 32)

        let page = try await server.send("GET", opened.url)
        #expect(page.status == 200 && page.headers.first(name: "Cache-Control") == "no-store")
        #expect(page.text.contains("Buy for $1.99") && page.text.contains("class=\"promoted\""))
        #expect(page.text.contains("target=\"_blank\"") && !page.text.contains("Write a review"))

        // Only customers who own the item can review it.
        let early = try await post(server, opened.url + "/review", "stars=5")
        #expect(early.text.contains("Only customers who own the item can review it."))

        let question = try await server.send("GET", opened.url + "/buy")
        let tester = try #require(SandboxTester.read(from: server.directory))
        #expect(question.text.contains("for $1.99?") && question.text.contains(tester.email))
        let key = try #require(question.text.firstMatch(of: /name="key" value="([^"]+)"/)?.1)
        let dearer = try await post(server, opened.url + "/buy", "key=\(key)&price=1")
        #expect(dearer.text.contains("The price has changed."))
        for _ in 1...2 {
            let bought = try await post(server, opened.url + "/buy", "key=\(key)&price=1990")
            #expect(bought.status == 200 && bought.text.contains("It is in your library now."))
        }
        // The browser's back button leads to the question again, which then leads on.
        #expect(try await server.send("GET", opened.url + "/buy").text.contains("You own this."))
        let state = try await server.device(.visit(opened.id, wait: 20), token: token)
        #expect(state.json["state"] as? String == "bought")
        let library = try await server.device(.library(after: nil), token: token).decoded(LibraryResponse.self)
        #expect(library.items.map(\.item) == [1000] && library.items[0].price.milliunits == 1_990)

        // Hostile text stays text.
        let words = "title=%3Cb%3EWow%3C%2Fb%3E&text=One%0D%0ATwo"
        let reviewed = try await post(server, opened.url + "/review", "stars=4&" + words)
        #expect(reviewed.text.contains("Thank you for your review."))
        let after = try await server.send("GET", opened.url + "?done=reviewed")
        #expect(after.text.contains("Your review") && after.text.contains("&lt;b&gt;Wow&lt;/b&gt;"))
        #expect(after.text.contains("You own this") && !after.text.contains("Buy for"))
        let shown = try await server.send("GET", server.addresses.storefront + "/us/app/id1000")
        #expect(shown.text.contains("&lt;b&gt;Wow&lt;/b&gt;") && shown.text.contains("1 rating"))
        // A screen reader hears “1 star”.
        let bars = shown.text.matches(of: /<span class="hidden">(stars?)<\/span>/).map { String($0.1) }
        #expect(bars == ["stars", "stars", "stars", "stars", "star"])
        let lookup = try await server.send("GET", server.addresses.storefront + "/lookup?id=1000")
        #expect(lookup.text.contains("\"averageUserRating\":4,") && lookup.text.contains("\"userRatingCount\":1}"))
        for (form, problem) in [
            ("stars=9", "A review needs stars"), ("stars=3&title=x", "A review needs stars"),
            ("title=x", "The form was incomplete."),
        ] {
            let refused = try await post(server, opened.url + "/review", form)
            #expect(refused.text.contains(problem), "\(form)")
        }
        // Stars alone keep the words; the form with both fields empty removes them.
        for (form, keeps) in [("stars=4", true), ("stars=4&title=&text=+", false)] {
            #expect(try await post(server, opened.url + "/review", form).text.contains("Thank you for your review."))
            #expect(
                try await server.send("GET", opened.url).text.contains("&lt;b&gt;Wow&lt;/b&gt;") == keeps, "\(form)")
        }
        let before = server.application.changes.ownSnapshot
        let removed = try await post(server, opened.url + "/review/remove", "")
        #expect(removed.text.contains("Your review was removed."))
        let changed = server.application.changes.ownSnapshot.changed(since: before)
        #expect(changed.contains(ChangeTopic(.reviews, nil)), "\(changed.map(\.name))")
        #expect(try await server.send("GET", opened.url).text.contains("No ratings in this storefront yet."))
        try await reviewFromTheDevice(opened, server, token)
        #expect(try await post(server, opened.url + "/done", "").text.contains("You can return to the app."))
    }

    /// As a page on a terminal does.
    private static func reviewFromTheDevice(
        _ opened: VisitDescription, _ server: RunningServer, _ token: String
    ) async throws {
        #expect(opened.reviews == ItemReviews(count: 0, average: nil, newest: [], own: nil))
        let words = VisitReviewRequest(stars: 3, title: "Fine", text: "Yes.")
        let written = try await server.device(.reviewVisit(opened.id), token: token, body: words)
        #expect(try written.decoded(ReviewResponse.self).review?.title == "Fine")
        // Stars alone keep the words.
        let rated = try await server.device(.reviewVisit(opened.id), token: token, body: VisitReviewRequest(stars: 2))
        #expect(rated.status == 200)
        let again = try await server.device(.openVisit, token: token, body: VisitRequest(item: 1000))
            .decoded(VisitDescription.self)
        let reviews = try #require(again.reviews)
        #expect(reviews.count == 1 && reviews.average == 2 && reviews.newest.map(\.title) == ["Fine"])
        #expect(reviews.own?.stars == 2 && reviews.own?.text == "Yes.")
        #expect(
            try await server.device(.reviewVisit(opened.id), token: token, body: VisitReviewRequest(stars: 6)).code
                == "invalid_stars")
        let song = try await server.device(.openVisit, token: token, body: VisitRequest(item: 1002))
            .decoded(VisitDescription.self)
        let stranger = try await server.signIn().token
        for (visit, bearer, status, code) in [
            (song.id, token, 403, "not_owned"), (opened.id, stranger, 404, "not_found"),
            ("0", token, 404, "not_found"), (opened.id, "x", 401, "not_signed_in"),
        ] {
            let refused = try await server.device(.reviewVisit(visit), token: bearer, body: words)
            #expect(refused.status == status && refused.code == code, "\(code)")
        }
    }

    @Test func anItemIsRefundedOnTheControlPort() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let bought = try await server.device(
                .buyItem, token: token, body: ItemPurchaseMessage(item: 1002, idempotencyKey: UUID())
            ).decoded(OwnedItem.self)
            #expect(bought.name == "First Branch" && bought.kind == "song" && bought.price.milliunits == 690)
            let product = try await server.device(.purchases, token: token, body: server.purchase("hats"))
                .decoded(PurchaseResponse.self)
            func list(_ query: String = "") async throws -> [ControlAPI.Transaction] {
                try await server.control("GET", "/control/v1/sandbox/transactions" + query).decoded(
                    ControlAPI.Page<ControlAPI.Transaction>.self
                ).rows
            }
            // The newest first, of both kinds; an app's list has no items.
            let ids = [product.transaction?.transactionID.description, bought.transactionID.description]
            #expect(try await list().map(\.transactionId) == ids)
            #expect(try await list("?limit=1").map(\.transactionId) == [ids[0]])
            #expect(try await list("?bundle=\(RunningServer.bundleID)").map(\.transactionId) == [ids[0]])
            let row = try #require(try await list("?before=\(ids[0] ?? "")").first)
            #expect(row.kind == "item" && row.item == 1002 && row.name == "First Branch" && row.price == "0.69")
            #expect(row.productId == "item.1002" && row.revocationDate == nil)
            let tester = try #require(SandboxTester.read(from: server.directory))
            #expect(try await list("?account=\(tester.email)").map(\.transactionId) == ids)

            let path = "/control/v1/sandbox/transactions/\(bought.transactionID)/refund"
            let refunded = try await server.control("POST", path, #"{"reason":"app"}"#)
            #expect(
                try refunded.decoded(ControlAPI.Refunded.self)
                    == ControlAPI.Refunded(amount: "0.69", currency: "USD", transactions: [], item: 1002))
            #expect(try await server.control("POST", path, "{}").status == 409)
            let unknown = try await server.control(
                "POST", "/control/v1/sandbox/transactions/2000000000000001/refund", "{}")
            #expect(unknown.status == 404 && unknown.code == "unknown_transaction")
            #expect(
                try await server.device(.library(after: nil), token: token).decoded(LibraryResponse.self).items == [])
        }
    }

    @Test func aChildAsksAndTheRequestIsApproved() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let tester = try #require(SandboxTester.read(from: server.directory))
            let asks = try await server.control(
                "PATCH", "/control/v1/sandbox/accounts/\(tester.email)", #"{"asksToBuy":true}"#)
            #expect(asks.status == 200)
            let opened = try await server.device(.openVisit, token: token, body: VisitRequest(item: 1002))
                .decoded(VisitDescription.self)
            let key = UUID()
            let asked = try await Self.post(server, opened.url + "/buy", "key=\(key)&price=690")
            #expect(asked.text.contains("The request to buy was sent."))
            let again = try await server.device(
                .buyItem, token: token, body: ItemPurchaseMessage(item: 1002, idempotencyKey: UUID()))
            #expect(again.status == 409 && again.code == "awaits_approval")
            let base = "/control/v1/sandbox/pending-purchases"
            let pending = try await server.control("GET", base).decoded([ControlAPI.PendingPurchase].self)
            #expect(pending.map(\.key) == [key] && pending.first?.productId == "item.1002")
            #expect(try await server.control("POST", "\(base)/\(key)/approve", "{}").status == 200)
            let library = try await server.device(.library(after: nil), token: token).decoded(LibraryResponse.self)
            #expect(library.items.map(\.item) == [1002])
        }
    }

    @Test(arguments: Backend.available) func theCampaignOfAnAppIsCounted(_ backend: Backend) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await with {
                $0.databaseURL = url
                $0.schemaPrefix = prefix
            } _: { server in
                let spring = VisitCampaign(affiliate: "11l", campaign: "spring")
                let long = VisitCampaign(campaign: String(repeating: "x", count: 41))
                let token = try await server.signIn().token
                for campaign in [spring, spring, long, nil] {
                    let opened = try await server.device(
                        .openVisit, token: token, body: VisitRequest(item: 1000, campaign: campaign))
                    #expect(opened.status == 200)
                }
                // Nobody saw a page.
                for (item, bearer) in [(1000, nil), (5, token)] as [(Int64, String?)] {
                    let refused = try await server.device(
                        .openVisit, token: bearer, body: VisitRequest(item: item, campaign: spring))
                    #expect([401, 404].contains(refused.status))
                }
                let link = server.addresses.storefront + "/us/app/id1000?at=11l&ct=spring"
                #expect(try await server.send("GET", link).status == 200)
                let views = try await server.control("GET", "/control/v1/items/1000/campaigns")
                    .decoded([ControlAPI.CampaignViews].self)
                #expect(views.map(\.campaign) == ["spring"] && views.map(\.affiliate) == ["11l"])
                #expect(views.map(\.views) == [3])
            }
        }
    }

    @Test func closingThePageEndsTheWait() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let opened = try await server.device(.openVisit, token: token, body: VisitRequest(item: 1002))
                .decoded(VisitDescription.self)
            async let waited = server.device(.visit(opened.id, wait: 25), token: token)
            _ = try await Self.post(server, opened.url + "/done", "")
            #expect(try await waited.json["state"] as? String == "closed")
        }
    }

    @Test func aClosedPageLeadsBackToTheApp() async throws {
        try await with { server in
            let token = try await server.signIn().token
            var request = VisitRequest(item: 1002)
            // Stands for the app's own page: the client follows there.
            request.returnAddress = server.addresses.storefront + "/lookup"
            let opened = try await server.device(.openVisit, token: token, body: request).decoded(VisitDescription.self)
            // Browsers refuse a form whose answer leads where its page does not say.
            let page = try await server.send("GET", opened.url)
            let policy = try #require(page.headers.first(name: "content-security-policy"))
            #expect(policy.contains("form-action 'self' \(server.addresses.storefront);"))
            let done = try await Self.post(server, opened.url + "/done", "")
            #expect(done.status == 200 && done.text.contains("resultCount"))
            for foreign in ["http://example.com/", "javascript:alert(1)", "//example.com", "http://user@localhost/"] {
                request.returnAddress = foreign
                let refused = try await server.device(.openVisit, token: token, body: request)
                #expect(refused.status == 400 && refused.code == "invalid_request", "\(foreign)")
            }
        }
    }

    @Test func otherAddressesBuyNothing() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let opened = try await server.device(.openVisit, token: token, body: VisitRequest(item: 1002))
                .decoded(VisitDescription.self)
            let base = server.addresses.storefront + "/visit/"
            let key = UUID()
            for id in [
                "0", String(repeating: "0", count: 32), opened.id.uppercased() + "x", "%00", opened.id + "0",
            ] {
                let page = try await server.send("GET", base + id)
                #expect(page.status == 404 && page.text.contains("<h1>Not found</h1>"), "\(id)")
                let buy = try await Self.post(server, base + id + "/buy", "key=\(key)&price=690")
                #expect(buy.status == 404, "\(id)")
            }
            // The public page takes no form.
            let form = try await Self.post(
                server, server.addresses.storefront + "/us/album/x/1001?i=1002", "key=\(key)&price=690")
            #expect(form.status == 404)
            #expect(
                try await server.device(.library(after: nil), token: token).decoded(LibraryResponse.self).items == [])

            // Another account learns nothing of the visit, and a locked one cannot use its own.
            let new = #"{"email":"eve@example.com","password":"bananas","storefront":"GBR"}"#
            #expect(try await server.control("POST", "/control/v1/sandbox/accounts", new).status == 201)
            let eve = try await server.device(
                .signIn, body: SignInRequest(email: "eve@example.com", password: "bananas", deviceID: UUID())
            ).decoded(SignInResponse.self).token
            #expect(try await server.device(.visit(opened.id, wait: nil), token: eve).status == 404)
            #expect(try await server.device(.openVisit, token: nil, body: VisitRequest(item: 1002)).status == 401)
            // The question names the item as its page in the account's storefront does.
            let hers = try await server.device(.openVisit, token: eve, body: VisitRequest(item: 1002))
                .decoded(VisitDescription.self)
            let question = try await server.send("GET", hers.url + "/buy")
            #expect(question.text.contains("Buy “First Bough” for"))
            // Nor does another device of the same account, and the address ends with the sign-in.
            let second = try await server.signIn().token
            #expect(try await server.device(.visit(opened.id, wait: nil), token: second).status == 404)
            #expect(try await server.send("GET", opened.url).status == 200)
            #expect(try await server.device(.signOut, token: token).status == 204)
            #expect(try await server.send("GET", opened.url).status == 404)
            #expect(try await Self.post(server, opened.url + "/buy", "key=\(key)&price=690").status == 404)
            for item in [5, -1, Int64.max] {
                let refused = try await server.device(.openVisit, token: second, body: VisitRequest(item: item))
                #expect(refused.status == 404 && refused.code == "not_found")
            }
        }
    }

    @Test func visitsExpireAndGiveWay() {
        let start = ContinuousClock.now
        let time = MovableTime(start)
        let board = VisitBoard(now: { time.value })
        let visit = Visit(environment: .sandbox, accountID: "a", token: "t", item: 1)
        let first = board.open(visit)
        #expect(board.visit(first) != nil && first.count == 32)
        let others = (1...VisitBoard.mostOfAccount).map { _ in board.open(visit) }
        #expect(board.visit(first) == nil && others.allSatisfy { board.visit($0) != nil })
        let other = board.open(Visit(environment: .production, accountID: "a", token: "t", item: 1))
        #expect(board.visit(others[0]) != nil && board.visit(other) != nil)
        time.value = start + VisitBoard.lifetime
        #expect(board.visit(other) == nil)
    }
}

/// A time that a test moves.
private final class MovableTime: @unchecked Sendable {
    // @unchecked: one thread uses it.
    var value: ContinuousClock.Instant

    init(_ value: ContinuousClock.Instant) { self.value = value }
}
