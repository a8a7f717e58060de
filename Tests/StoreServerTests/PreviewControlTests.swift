import ControlWire
import Foundation
import StoreWire
import Testing

@testable import StoreServer

@Suite("Products as devices get them, and subscribers", .timeLimit(.minutes(1))) struct PreviewControlTests {
    private static let prefix = "/control/v1/sandbox"

    /// The preview has what a device in the same storefront gets, and names the rest.
    @Test func thePreviewIsADevicesAnswer() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let asked = ProductsRequest(
                bundleID: RunningServer.bundleID, productIDs: ["credits5", "hats", "club.monthly", "none"],
                languages: ["de"])
            let device = try await server.device(.products, token: session.token, body: asked).decoded(
                ProductsResponse.self)
            let query = PreviewQuery(
                bundle: RunningServer.bundleID.rawValue, language: "de", account: session.account.email)
            let answer = try await server.control("GET", ControlRoute.preview(.sandbox, query).path)
            let preview = try answer.decoded(ControlAPI.Preview.self)
            #expect(preview.products.map(\.productId) == device.products.map(\.productID.rawValue))
            #expect(preview.products.map(\.displayName) == device.products.map(\.displayName))
            #expect(preview.products.map(\.price.price) == device.products.map(\.price.decimal))
            #expect(preview.products.map(\.priceLocale) == device.products.map(\.priceLocale))
            #expect(preview.products.map(\.owned) == [false, false, false])
            #expect(preview.products.last?.subscription?.isNewSubscriber == true)
            #expect(preview.products.first?.price.text.hasPrefix("0.99") == true, "\(answer.text)")
            #expect(preview.storefront == "USA" && preview.invalid.isEmpty && preview.next == nil)
            for product: ProductID in ["hats", "club.monthly"] {
                let bought = try await server.device(
                    .purchases, token: session.token, body: server.purchase(product))
                #expect(bought.status == 200)
            }
            let later = try await server.control("GET", ControlRoute.preview(.sandbox, query).path).decoded(
                ControlAPI.Preview.self)
            #expect(later.products.map(\.owned) == [false, true, false])
            #expect(later.products.last?.subscription?.isNewSubscriber == false)
        }
    }

    @Test func identifiersArePagedAndChecked() async throws {
        try await withServer { server async throws in
            func preview(_ query: String) async throws -> (status: Int, preview: ControlAPI.Preview?) {
                let reply = try await server.control("GET", "\(Self.prefix)/preview?\(query)")
                return (reply.status, try? reply.decoded(ControlAPI.Preview.self))
            }
            let bundle = "bundle=com.example.monkeys"
            let first = try #require(try await preview(bundle + "&limit=2").preview)
            #expect(first.products.map(\.productId) == ["credits5", "hats"] && first.next == "hats")
            let rest = try #require(try await preview(bundle + "&limit=2&after=hats").preview)
            #expect(rest.products.map(\.productId) == ["club.monthly"] && rest.next == nil)
            let none = try #require(try await preview(bundle + "&product=Hats%20").preview)
            #expect(none.products.isEmpty && none.invalid.map(\.reason) == ["unknown"])
            #expect(none.invalid.first?.message.contains("It has hats") == true)
            let abroad = try #require(try await preview(bundle + "&storefront=jpn&product=hats").preview)
            #expect(abroad.storefront == "JPN" && abroad.products.map(\.price.currency) == ["JPY"])
            #expect(abroad.account == nil && abroad.paymentsAllowed == nil)
            for (query, status) in [
                ("", 400), ("bundle=com.example.none", 404), (bundle + "&storefront=XXX", 400),
                (bundle + "&limit=0", 400), (bundle + "&limit=201", 400), (bundle + "&after=none", 400),
                (bundle + "&account=nobody@example.com", 404),
                (bundle + "&product=" + String(repeating: "a", count: 256), 400), (bundle + "&product=", 400),
                (bundle + "&language=" + Array(repeating: "de", count: 33).joined(separator: ","), 400),
            ] { #expect(try await preview(query).status == status, "\(query)") }
        }
    }

    /// Production does not sell a draft, and the operator learns why.
    @Test func aManagedDraftIsInvalidWithTheReason() async throws {
        try await withServer { server async throws in
            let managed = "/control/v1/managed/apps"
            _ = try await server.control("POST", managed, #"{"bundleId":"com.example.drafts"}"#)
            let made = try await server.control(
                "POST", managed + "/com.example.drafts/products",
                #"{"kind":"consumable","productId":"coins","document":{"displayPrice":"0.99"}}"#)
            #expect(made.status == 201, "\(made.text)")
            for (environment, reason) in [("sandbox", "incomplete"), ("production", "not_approved")] {
                let reply = try await server.control(
                    "GET", "/control/v1/\(environment)/preview?bundle=com.example.drafts")
                let preview = try reply.decoded(ControlAPI.Preview.self)
                #expect(preview.products.isEmpty && preview.invalid.map(\.reason) == [reason], "\(reply.text)")
            }
        }
    }

    @Test func subscribersAndTheirPeriodsAreListed() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let email = session.account.email
            #expect(try await server.control("GET", "\(Self.prefix)/subscribers").text == #"{"rows":[]}"#)
            let bought = try await server.device(
                .purchases, token: session.token, body: server.purchase("club.monthly")
            ).decoded(PurchaseResponse.self)
            let id = try #require(bought.transaction).transactionID.description
            let found = try await server.control(
                "GET", "\(Self.prefix)/subscribers?bundle=com.example.monkeys&group=21000001&product=club.monthly"
            ).decoded(ControlAPI.Page<ControlAPI.Subscriber>.self)
            #expect(found.rows.map(\.account) == [email] && found.rows.map(\.transactionId) == [id])
            #expect(found.rows.first?.price == "5.99" && found.next == nil)
            let other = try await server.control("GET", "\(Self.prefix)/subscribers?group=1").text
            #expect(other == #"{"rows":[]}"#)
            let path = "\(Self.prefix)/accounts/\(email)/subscriptions"
            let periods = try await server.control("GET", path).decoded(
                ControlAPI.Page<ControlAPI.SubscriptionPeriod>.self)
            #expect(periods.rows.map(\.state) == [.current] && periods.rows.map(\.step) == [.first])
            _ = try await server.control("POST", "\(Self.prefix)/transactions/\(id)/refund", "{}")
            let refunded = try await server.control("GET", path).decoded(
                ControlAPI.Page<ControlAPI.SubscriptionPeriod>.self)
            #expect(refunded.rows.map(\.state) == [.refunded])
            #expect(try await server.control("GET", "\(Self.prefix)/subscribers").text == #"{"rows":[]}"#)
            for (query, status) in [("subscribers?limit=201", 400), ("subscribers?before=x", 400)] {
                #expect(try await server.control("GET", "\(Self.prefix)/\(query)").status == status)
            }
            let nobody = "\(Self.prefix)/accounts/nobody@example.com/subscriptions"
            #expect(try await server.control("GET", nobody).status == 404)
        }
    }
}
