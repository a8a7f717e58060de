import ControlWire
import Foundation
import StoreWire
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct CustomerControlTests {
    private static let prefix = "/control/v1/sandbox"

    @Test func refundsAreOrderedOnce() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let bought = try await server.device(.purchases, token: session.token, body: server.purchase("hats"))
            let id = try #require(try bought.decoded(PurchaseResponse.self).transaction).transactionID
            let path = "\(Self.prefix)/transactions/\(id)/refund"
            for bad in [#"{"reason":"none"}"#, #"{"reason":1}"#, "[]", ""] {
                #expect(try await server.control("POST", path, bad).status == 400, "\(bad)")
            }
            #expect(try await server.control("POST", "\(Self.prefix)/transactions/x/refund", "{}").status == 400)
            let unknown = try await server.control(
                "POST", "\(Self.prefix)/transactions/2000000000000001/refund", "{}")
            #expect(unknown.status == 404 && unknown.code == "unknown_transaction")
            let second = try await server.device(.purchases, token: session.token, body: server.purchase("hats"))
            let delivered = try #require(try second.decoded(PurchaseResponse.self).transaction).transactionID
            let answer = try await server.control("POST", path, #"{"reason":"app"}"#)
            let refunded = try answer.decoded(ControlAPI.Refunded.self)
            #expect(answer.status == 200 && refunded.amount == "2.99" && refunded.currency == "USD")
            #expect(refunded.transactions.map(\.transactionId) == [id.description, delivered.description])
            #expect(refunded.transactions.allSatisfy { $0.revocationReason == "app" && $0.revocationDate != nil })
            let again = try await server.control("POST", path, "{}")
            #expect(again.status == 409 && again.code == "wrong_state")
            let notices = try await server.device(
                .notices(RunningServer.bundleID, after: nil, languages: ["en"]), token: session.token
            ).decoded(NoticesResponse.self)
            #expect(notices.revokedProductIDs == ["hats"] && notices.cursor == 1)
            #expect(notices.account == session.account)
            let later = try await server.device(
                .notices(RunningServer.bundleID, after: 1, languages: []), token: session.token)
            #expect(try later.decoded(NoticesResponse.self).revokedProductIDs.isEmpty)
        }
    }

    @Test func noticesNeedAnAccountAndAGoodCursor() async throws {
        try await withServer { server async throws in
            let route = StoreRoute.notices(RunningServer.bundleID, after: nil, languages: [])
            #expect(try await server.device(route).status == 401)
            let token = try await server.signIn().token
            for query in [
                "", "?after=1", "?bundle=a&after=-1", "?bundle=a&after=x", "?bundle=a&after=99999999999999999999",
            ] {
                let reply = try await server.send(
                    "GET", server.addresses.sandbox + "/device/v1/notices" + query, token: token)
                #expect(reply.status == 400, "\(query)")
            }
            let languages = Array(repeating: "en", count: 200)
            let many = try await server.device(
                .notices(RunningServer.bundleID, after: 0, languages: languages), token: token)
            #expect(many.status == 200)
        }
    }

    @Test func errorsByNameReachTheDevice() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            let path = "\(Self.prefix)/faults"
            let order = #"{"operation":"purchases","error":"SSServerErrorDomain/5020","count":1}"#
            let ordered = try await server.control("POST", path, order)
            #expect(ordered.status == 201)
            let listed = order.replacing(#""count":1"#, with: #""count":1,"hits":0"#)
            #expect(try await server.control("GET", path).text == "[\(listed)]".sortedMembers)
            let reply = try await server.device(.purchases, token: token, body: server.purchase("hats"))
            let error = try reply.decoded(WireError.self)
            #expect(reply.status == 422 && error.code == .ordered)
            #expect(error.error == OrderedError(domain: "SSServerErrorDomain", code: 5020))
            #expect(try await server.device(.purchases, token: token, body: server.purchase("hats")).status == 200)
            for bad in [
                #"{"operation":"purchases","error":"noSuch","count":1}"#, #"{"operation":"purchases","count":1}"#,
                #"{"operation":"purchases","error":"unknown","status":503,"count":1}"#,
                #"{"operation":"finish","error":"unknown","count":1}"#,
                #"{"operation":"verifyReceipt","error":"unknown","count":1}"#,
            ] { #expect(try await server.control("POST", path, bad).status == 400, "\(bad)") }
        }
    }

    @Test func promotionsIncreasesAndCodes() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let email = session.account.email
            func body(_ product: String, _ rest: String = "") -> String {
                #"{"bundleId":"com.example.monkeys","productId":"\#(product)"\#(rest)}"#
            }
            let account = #","account":"\#(email)""#
            let promoted = try await server.control("POST", "\(Self.prefix)/promoted", body("hats", account))
            let id = try promoted.decoded(ControlAPI.Promoted.self).promotionId
            #expect(promoted.status == 201)
            #expect(
                try await server.device(.promotions, token: session.token, body: PromotionRequest(promotionID: id))
                    .status == 204)
            let taken = try await server.device(
                .promotions, token: session.token, body: PromotionRequest(promotionID: id))
            #expect(taken.status == 409 && taken.code == "wrong_state")
            #expect(try await server.control("POST", "\(Self.prefix)/promoted", body("no", account)).status == 404)
            #expect(try await server.control("POST", "\(Self.prefix)/promoted", body("hats")).status == 400)
            #expect(
                try await server.control(
                    "POST", "\(Self.prefix)/promoted", body("hats", #","account":"no@example.com""#)
                ).status == 404)

            let increases = "\(Self.prefix)/price-increases"
            let early = try await server.control("POST", increases, body("club.monthly", account + #","price":"8.5""#))
            #expect(early.status == 409 && early.code == "wrong_state" && early.text.contains("last period is not of"))
            let club = server.purchase("club.monthly")
            #expect(try await server.device(.purchases, token: session.token, body: club).status == 200)
            let made = try await server.control("POST", increases, body("club.monthly", account + #","price":"8.5""#))
            let increase = try made.decoded(ControlAPI.PriceIncrease.self)
            #expect(made.status == 201 && increase.newPrice == "8.5" && increase.currency == "USD")
            for price in ["1", "many", "-1", ""] {
                let refused = try await server.control(
                    "POST", increases, body("club.monthly", account + #","price":"\#(price)""#))
                #expect(refused.status == 400, "\(price)")
            }
            let consent = PriceConsentRequest(
                bundleID: RunningServer.bundleID, productID: "club.monthly",
                newPrice: Money(milliunits: 8500, currency: "USD"), accepts: false)
            #expect(try await server.device(.priceConsents, token: session.token, body: consent).status == 204)
            let shown = try await server.control("GET", "\(increases)?account=\(email)").decoded(
                [ControlAPI.PriceIncrease].self)
            #expect(shown.map(\.answer) == ["declined"] && shown[0].answeredDate != nil)
            #expect(shown[0].accountId == session.account.accountID.rawValue && shown[0].account == nil)
            let all = try await server.control("GET", increases).decoded([ControlAPI.PriceIncrease].self)
            #expect(all.map(\.account) == [email] && all.map(\.newPrice) == ["8.5"])
            let named = "\(increases)?account=\(email)&bundle=com.example.monkeys&product=club.monthly"
            let late = try await server.control("DELETE", named)
            #expect(late.status == 409 && late.code == "wrong_state" && late.text.contains("has answered"))
            let anew = try await server.control("POST", increases, body("club.monthly", account + #","price":"9""#))
            #expect(anew.status == 201)
            #expect(try await server.control("DELETE", named).status == 204)
            #expect(try await server.control("GET", increases).text == "[]")
            let gone = try await server.control("DELETE", named)
            #expect(gone.status == 409 && gone.text.contains("no price increase"))
            #expect(try await server.control("DELETE", "\(increases)?account=\(email)").status == 400)
            #expect(try await server.control("DELETE", "\(increases)?bundle=a&product=b").status == 400)
            let withdrawn = PriceConsentRequest(
                bundleID: RunningServer.bundleID, productID: "club.monthly",
                newPrice: Money(milliunits: 9000, currency: "USD"), accepts: true)
            let answered = try await server.device(.priceConsents, token: session.token, body: withdrawn)
            #expect(answered.status == 409 && answered.code == "price_changed")

            let answer = "\(increases)/answer"
            let unasked = try await server.control(
                "POST", answer, body("club.monthly", account + #","accepts":true"#))
            #expect(unasked.status == 409 && unasked.text.contains("no price increase"))
            let ten = try await server.control("POST", increases, body("club.monthly", account + #","price":"10""#))
            #expect(ten.status == 201)
            for _ in 0..<2 {
                let given = try await server.control(
                    "POST", answer, body("club.monthly", account + #","accepts":true"#))
                #expect(given.status == 200)
                #expect(try given.decoded(ControlAPI.PriceIncrease.self).answer == "accepted")
            }
            let other = try await server.control("POST", answer, body("club.monthly", account + #","accepts":false"#))
            #expect(other.status == 409 && other.code == "wrong_state")
            #expect(try await server.control("POST", answer, body("club.monthly", account)).status == 400)

            let codes = "\(Self.prefix)/codes"
            let code = try await server.control("POST", codes, body("credits5")).decoded(ControlAPI.Code.self)
            #expect(code.accountId == nil)
            #expect(try await server.control("POST", codes, body("club.monthly")).status == 400)
            let request = CodeRedemptionRequest(bundleID: RunningServer.bundleID, code: code.code)
            let given = try await server.device(.redemptions, token: session.token, body: request)
            let transaction = try given.decoded(TransactionDescription.self)
            #expect(given.status == 200 && transaction.productID == "credits5")
            let listed = try await server.control("GET", codes).decoded([ControlAPI.Code].self)
            #expect(listed.map(\.transactionId) == [transaction.transactionID.description])
            let wrong = try await server.device(
                .redemptions, token: session.token,
                body: CodeRedemptionRequest(bundleID: RunningServer.bundleID, code: "WRONG"))
            #expect(wrong.status == 404 && wrong.code == "unknown_code")
        }
    }

    @Test func aSheetIsToldWhoAsksAndWhatIsOwned() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            _ = try await server.device(.purchases, token: session.token, body: server.purchase("hats"))
            var asked = ProductsRequest(
                bundleID: RunningServer.bundleID, productIDs: ["hats", "credits5"], languages: [], isForSheet: true)
            let sheet = try await server.device(.products, token: session.token, body: asked).decoded(
                ProductsResponse.self)
            #expect(sheet.customer == CustomerState(account: session.account, ownedProductIDs: ["hats"]))
            #expect(
                try await server.device(.products, body: asked).decoded(ProductsResponse.self).customer == nil)
            asked.isForSheet = nil
            #expect(
                try await server.device(.products, token: session.token, body: asked).decoded(ProductsResponse.self)
                    .customer == nil)
        }
    }

    @Test func interruptedPurchasesAreResolved() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let account = "\(Self.prefix)/accounts/\(session.account.email)"
            let changed = try await server.control("PATCH", account, #"{"interruptsPurchases":true}"#)
            #expect(try changed.decoded(ControlAPI.Account.self).interruptsPurchases)
            let request = server.purchase("hats")
            let failed = try await server.device(.purchases, token: session.token, body: request).decoded(
                PurchaseResponse.self)
            #expect(failed.failure?.code == .interrupted)
            let pending = try await server.control("GET", "\(Self.prefix)/pending-purchases").decoded(
                [ControlAPI.PendingPurchase].self)
            #expect(pending.map(\.waitsFor) == [.customer])
            let path = "\(Self.prefix)/pending-purchases/\(request.idempotencyKey)"
            #expect(try await server.control("POST", path + "/approve").status == 409)
            let resolved = try await server.control("POST", path + "/resolve").decoded(PurchaseResponse.self)
            #expect(resolved.state == .purchased)
            #expect(try await server.control("POST", path + "/resolve").status == 409)
        }
    }
}

extension String {
    /// A list of one flat JSON object with its members in the order of their names.
    fileprivate var sortedMembers: String {
        let list = try? JSONSerialization.jsonObject(with: Data(utf8))
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = list.flatMap { try? JSONSerialization.data(withJSONObject: $0, options: options) }
        return String(decoding: bytes ?? Data(), as: UTF8.self)
    }
}
