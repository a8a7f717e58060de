import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Offer codes and win-back offers over the ports", .timeLimit(.minutes(1)))
struct OfferCodeServerTests {
    private static let offers = """

                    codeOffers:
                      - { referenceName: Spring, paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1M }
                    winbackOffers:
                      - { offerID: return, paymentMode: payUpFront, displayPrice: 9.99, subscriptionPeriod: P3M }
        """
    private static let prefix = "/control/v1/sandbox/offer-codes"

    private func with(_ body: @escaping @Sendable (RunningServer) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.offers).utf8).write(to: catalog)
            try await RunningServer.with(directory.url, { _ in }, body)
        }
    }

    private static func order(_ rest: String, offer: String = "Spring") -> String {
        #"{"bundleId":"com.example.monkeys","productId":"club.monthly","offer":"\#(offer)",\#(rest)}"#
    }

    @Test func codesAreOrderedListedRedeemedAndDeactivated() async throws {
        try await with { server in
            let token = try await server.signIn().token
            func redeem(_ code: String) async throws -> RunningServer.Reply {
                try await server.device(
                    .redemptions, token: token,
                    body: CodeRedemptionRequest(bundleID: RunningServer.bundleID, code: code))
            }
            let made = try await server.control("POST", Self.prefix, Self.order(#""count":3"#))
            let batch = try made.decoded(ControlAPI.OfferCodeBatch.self)
            #expect(made.status == 201 && batch.count == 3 && batch.customCode == nil && batch.isActive)
            let path = "\(Self.prefix)/\(batch.batchId)"
            typealias Codes = ControlAPI.Page<ControlAPI.OfferCode>
            let first = try await server.control("GET", path + "/codes?limit=2").decoded(Codes.self)
            #expect(first.rows.count == 2 && first.next == first.rows.last?.code)
            let rest = try await server.control("GET", path + "/codes?after=\(first.next ?? "")").decoded(Codes.self)
            #expect(rest.rows.count == 1 && rest.next == nil)

            let redeemed = try await redeem(first.rows[0].code)
            #expect(redeemed.status == 200)
            #expect(try redeemed.decoded(TransactionDescription.self).productID == "club.monthly")
            let second = try await redeem(first.rows[1].code)
            #expect(second.status == 409 && second.code == "code_used")
            let listed = try await server.control("GET", Self.prefix).decoded([ControlAPI.OfferCodeBatch].self)
            #expect(listed.map(\.redeemed) == [1])
            let codes = try await server.control("GET", path + "/codes").decoded(Codes.self).rows
            #expect(codes.map { $0.accountId != nil } == [true, false, false])
            let id = try redeemed.decoded(TransactionDescription.self).transactionID
            let detail = try await server.control("GET", "/control/v1/sandbox/transactions/\(id)")
                .decoded(ControlAPI.TransactionDetail.self)
            #expect(detail.offerCodeName == "Spring" && detail.promotionalOfferId == nil)

            #expect(try await server.control("DELETE", path).status == 204)
            #expect(try await server.control("GET", path).decoded(ControlAPI.OfferCodeBatch.self).isActive == false)
            #expect(try await server.control("GET", Self.prefix + "/none").code == "unknown_code")
            #expect(try await server.control("DELETE", Self.prefix + "/none").status == 404)
            #expect(try await server.control("GET", Self.prefix + "/none/codes").status == 404)
        }
    }

    @Test func badOrdersHaveAReason() async throws {
        try await with { server in
            for (rest, status) in [
                (#""count":0"#, 400), (#""count":"3""#, 400), (#""count":3,"expiresDate":"tomorrow""#, 400),
                (#""count":3,"expiresDate":"2020-01-01T00:00:00Z""#, 400), (#""count":3,"customCode":"A B""#, 400),
                (#""count":3,"customCode":"AB""#, 201), (#""count":3,"customCode":"ab""#, 409),
            ] {
                #expect(
                    try await server.control("POST", Self.prefix, Self.order(rest)).status == status, "\(rest)")
            }
            let unknown = try await server.control("POST", Self.prefix, Self.order(#""count":3"#, offer: "Autumn"))
            #expect(unknown.status == 400 && unknown.code == "invalid_offer_identifier")
            #expect(unknown.text.contains("It has Spring."))
        }
    }

    @Test func guessesAreLimited() async throws {
        try await with { server in
            let token = try await server.signIn().token
            func redeem(_ code: String) async throws -> RunningServer.Reply {
                try await server.device(
                    .redemptions, token: token,
                    body: CodeRedemptionRequest(bundleID: RunningServer.bundleID, code: code))
            }
            #expect(
                try await server.control("POST", Self.prefix, Self.order(#""count":9,"customCode":"RIGHT""#)).status
                    == 201)
            for _ in 0..<30 { #expect(try await redeem("RIGHT").status == 200) }
            var statuses: [Int] = []
            for number in 0..<25 { statuses.append(try await redeem("WRONG\(number)").status) }
            #expect(statuses.count { $0 == 404 } >= 20 && statuses.last == 429)
            #expect(try await redeem("RIGHT").code == "rate_limited")
        }
    }

    @Test func aFormerSubscriberComesBackOnThePage() async throws {
        try await with { server in
            let token = try await server.signIn().token
            _ = try await server.device(.purchases, token: token, body: server.purchase("club.monthly"))
            let found = try await server.device(.subscriptions(nil, after: nil), token: token)
                .decoded(SubscriptionsResponse.self).subscriptions
            let id = try #require(found.first).originalTransactionID
            #expect(found.first?.plans.isEmpty == true)
            let path = "/control/v1/sandbox/subscriptions/\(id)/expire"
            #expect(try await server.control("POST", path).status == 200)
            let over = try await server.device(.subscriptions(nil, after: nil), token: token)
                .decoded(SubscriptionsResponse.self).subscriptions
            #expect(over.first?.plans.map { $0.offer?.offerID } == ["return", nil])

            let url = try await server.device(.openSubscriptions, token: token, body: SubscriptionsPageRequest())
                .decoded(SubscriptionsPageDescription.self).url
            let page = try await server.send("GET", url)
            #expect(page.text.contains("$9.99 for 3 months, then $5.99 a month"))
            let base = "\(url)/\(id)/plan"
            let choice = try await server.send("GET", base + "?product=club.monthly&offer=return")
            #expect(choice.text.contains("pays $9.99 for 3 months, then $5.99 a month."))
            #expect(choice.text.contains(#"name="price" value="9990""#))
            let none = try await server.send("GET", base + "?product=club.monthly&offer=none")
            #expect(none.text.contains("This offer is not available to you."))
            let done = try await server.send(
                "POST", base, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array("product=club.monthly&key=\(UUID())&price=9990&offer=return".utf8))
            #expect(done.status == 200 || done.status == 303)
            let ledger = try await server.control("GET", "/control/v1/sandbox/transactions")
                .decoded(ControlAPI.Page<ControlAPI.Transaction>.self).rows
            #expect(ledger.map(\.price) == ["9.99", "5.99"])
        }
    }
}
