import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Subscriptions of a customer", .timeLimit(.minutes(1)))
struct SubscriptionPageTests {
    private static let plans = """

                  - productID: club.yearly
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1Y
                    displayPrice: 49.99
                    localizations: [{ locale: en_US, displayName: "Yearly & <b>Co</b>", description: All of it }]
                  - productID: club.weekly
                    groupNumber: 3
                    recurringSubscriptionPeriod: P1W
                    displayPrice: 1.99
        """

    private func with(
        _ change: @escaping @Sendable (inout StoreServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningServer) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            let text = RunningServer.catalogText.replacing("groupNumber: 1", with: "groupNumber: 2") + Self.plans
            try Data(text.utf8).write(to: catalog)
            try await RunningServer.with(directory.url, change, body)
        }
    }

    private static func list(_ server: RunningServer, _ token: String) async throws -> [ManagedSubscription] {
        let reply = try await server.device(.subscriptions(nil, after: nil), token: token)
        return try reply.decoded(SubscriptionsResponse.self).subscriptions
    }

    private static func subscribe(
        _ server: RunningServer, _ token: String
    ) async throws -> ManagedSubscription {
        let bought = try await server.device(.purchases, token: token, body: server.purchase("club.monthly"))
        #expect(bought.status == 200)
        return try #require(try await list(server, token).first)
    }

    private static func usd(_ milliunits: Int64) -> Money { Money(milliunits: milliunits, currency: "USD") }

    // MARK: The device

    @Test(arguments: Backend.available) func aDeviceManagesItsSubscriptions(_ backend: Backend) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await with {
                $0.databaseURL = url
                $0.schemaPrefix = prefix
            } _: { server in
                try await Self.manage(server)
            }
        }
    }

    private static func manage(_ server: RunningServer) async throws {
        let token = try await server.signIn().token
        #expect(try await list(server, token).isEmpty)
        let first = try await subscribe(server, token)
        #expect(first.appName == "Monkeys" && first.groupName == "Club" && first.nextCharge?.price == usd(5990))
        #expect(first.plans.map(\.name) == ["Yearly & <b>Co</b>", "club.weekly"])
        let id = first.originalTransactionID
        let other = try await server.device(.subscriptions("com.example.other", after: nil), token: token)
        #expect(
            try other.decoded(SubscriptionsResponse.self) == SubscriptionsResponse(subscriptions: [], hasMore: false))
        let off = try await server.device(.setRenewal(id), token: token, body: RenewalRequest(willRenew: false))
        #expect(try off.decoded(ManagedSubscription.self).canTurnRenewalOn)
        let on = try await server.device(.setRenewal(id), token: token, body: RenewalRequest(willRenew: true))
        #expect(try on.decoded(ManagedSubscription.self) == first)

        let change = PlanChangeRequest(productID: "club.weekly", agreedPrice: usd(1990), idempotencyKey: UUID())
        for _ in 1...2 {
            let changed = try await server.device(.changePlan(id), token: token, body: change)
            #expect(try changed.decoded(PurchaseResponse.self).state == .purchased)
        }
        #expect(try await list(server, token).first?.nextCharge?.productID == "club.weekly")
        let dearer = PlanChangeRequest(productID: "club.yearly", agreedPrice: usd(1), idempotencyKey: UUID())
        let refused = try await server.device(.changePlan(id), token: token, body: dearer)
        #expect(try refused.decoded(PurchaseResponse.self).failure?.code == .priceChanged)

        // Nobody else has it, and nobody without a token has anything.
        let new = #"{"email":"eve@example.com","password":"bananas","storefront":"USA"}"#
        #expect(try await server.control("POST", "/control/v1/sandbox/accounts", new).status == 201)
        let eve = try await server.device(
            .signIn, body: SignInRequest(email: "eve@example.com", password: "bananas", deviceID: UUID())
        ).decoded(SignInResponse.self).token
        #expect(try await list(server, eve).isEmpty)
        for (bearer, status, code) in [
            (eve, 404, "unknown_transaction"), (nil, 401, "not_signed_in"), ("x", 401, "not_signed_in"),
        ] as [(String?, Int, String)] {
            for reply in [
                try await server.device(.setRenewal(id), token: bearer, body: RenewalRequest(willRenew: false)),
                try await server.device(.changePlan(id), token: bearer, body: change),
            ] {
                #expect(reply.status == status && reply.code == code)
            }
        }
        for route in [StoreRoute.subscriptions(nil, after: nil), .openSubscriptions] {
            let body = route == .openSubscriptions ? SubscriptionsPageRequest() : nil
            #expect(try await server.device(route, body: body).status == 401)
        }
        let base = server.addresses.store(.sandbox) + "/device/v1/subscriptions"
        for (method, path, body) in [
            ("GET", "?after=x", nil), ("POST", "/x/renewal", #"{"willRenew":true}"#),
            ("POST", "/\(id)/renewal", "{}"), ("POST", "/\(id)/plan", #"{"productId":"club.yearly"}"#),
            ("POST", "/\(id)/plan", String(repeating: " ", count: 17 << 10)),
        ] as [(String, String, String?)] {
            let reply = try await server.send(method, base + path, token: token, body: body.map { Array($0.utf8) })
            #expect([400, 413].contains(reply.status), "\(path)")
        }
        #expect(try await list(server, token).first?.willRenew == true)
    }

    // MARK: The page

    private static func post(_ server: RunningServer, _ url: String, _ form: String = "") async throws
        -> RunningServer.Reply
    {
        try await server.send(
            "POST", url, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
    }

    private static func open(_ server: RunningServer, _ token: String, returnTo address: String? = nil) async throws
        -> String
    {
        try await server.device(
            .openSubscriptions, token: token, body: SubscriptionsPageRequest(returnAddress: address)
        ).decoded(SubscriptionsPageDescription.self).url
    }

    @Test func theCustomerManagesOnThePage() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let url = try await Self.open(server, token)
            #expect(url.hasPrefix(server.addresses.storefront + "/subscriptions/"))
            #expect(try await server.send("GET", url).text.contains("You have no subscriptions."))
            let one = try await Self.subscribe(server, token)
            let base = "\(url)/\(one.originalTransactionID)"
            let page = try await server.send("GET", url)
            #expect(page.status == 200 && page.headers.first(name: "Cache-Control") == "no-store")
            #expect(page.headers.first(name: "Content-Security-Policy")?.hasPrefix("default-src 'none'") == true)
            #expect(page.text.contains("Monkeys · Club") && page.text.contains("$5.99 on "))
            // Hostile text stays text.
            #expect(page.text.contains("Yearly &amp; &lt;b&gt;Co&lt;/b&gt;") && !page.text.contains("<b>Co"))
            #expect(page.text.contains("$49.99 a year") && page.text.contains("Begins now"))
            #expect(page.text.contains("$1.99 a week") && page.text.contains("Begins with the next renewal"))

            let question = try await server.send("GET", base + "/off")
            #expect(question.text.contains("Turn off renewal of “club.monthly”?"))
            #expect(question.text.contains("You keep the subscription until "))
            let off = try await Self.post(server, base + "/off")
            #expect(off.text.contains("Renewal is off.") && off.text.contains("None: renewal is off"))
            #expect(try await server.send("GET", base + "/off").text.contains("Turn on renewal again"))
            #expect(try await Self.post(server, base + "/on").text.contains("The subscription renews again."))

            let choice = try await server.send("GET", base + "/plan?product=club.weekly")
            #expect(choice.text.contains("Change to “club.weekly” for $1.99 a week?"))
            #expect(choice.text.contains("Nothing is paid now."))
            let key = try #require(choice.text.firstMatch(of: /name="key" value="([^"]+)"/)?.1)
            let form = "product=club.weekly&key=\(key)&price="
            #expect(try await Self.post(server, base + "/plan", form + "1").text.contains("The price has changed."))
            let again = UUID()
            for _ in 1...2 {
                let chosen = try await Self.post(server, base + "/plan", "product=club.weekly&key=\(again)&price=1990")
                #expect(chosen.text.contains("The plan begins with the next renewal."))
                #expect(chosen.text.contains("<dt>Next plan</dt><dd dir=\"auto\">club.weekly</dd>"))
            }
            let upgrade = try await server.send("GET", base + "/plan?product=club.yearly")
            #expect(upgrade.text.contains("The unused part of the present period is refunded."))
            let now = "product=club.yearly&key=\(UUID())&price=49990"
            for _ in 1...2 {
                #expect(try await Self.post(server, base + "/plan", now).text.contains("The plan has begun."))
            }
            #expect(try await Self.list(server, token).first?.productID == "club.yearly")

            for form in ["", "product=club.weekly", "product=club.weekly&key=1&price=1990", "key=\(UUID())&price=x"] {
                #expect(
                    try await Self.post(server, base + "/plan", form).text.contains("This did not work."), "\(form)")
            }
            let none = try await server.send("GET", base + "/plan?product=hats")
            #expect(none.text.contains("This plan is not available."))
            let strange = try await Self.post(server, url + "/2000000000000001/on")
            #expect(strange.text.contains("The account has no such subscription."))
            #expect(try await server.send("GET", url + "/x/off").status == 404)

            #expect(try await Self.post(server, url + "/done").text.contains("You can return to the app."))
            #expect(try await server.send("GET", url).status == 404)
        }
    }

    @Test func otherAddressesManageNothing() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let id = try await Self.subscribe(server, token).originalTransactionID
            let back = server.addresses.storefront + "/lookup"
            let url = try await Self.open(server, token, returnTo: back)
            let policy = try await server.send("GET", url).headers.first(name: "content-security-policy")
            #expect(policy?.contains("form-action 'self' \(server.addresses.storefront);") == true)
            let foreign = try await server.device(
                .openSubscriptions, token: token, body: SubscriptionsPageRequest(returnAddress: "http://example.com/"))
            #expect(foreign.status == 400)
            // A visit of an item is no page of subscriptions, and the other way round.
            let forged = server.addresses.storefront + "/subscriptions/" + String(repeating: "0", count: 32)
            let visit = url.replacing("/subscriptions/", with: "/visit/")
            for address in [forged, visit] {
                #expect(try await server.send("GET", address).status == 404)
                #expect(try await Self.post(server, address + "/\(id)/off").status == 404)
            }
            #expect(try await Self.post(server, url + "/done").text.contains("resultCount"))
            // The page ends with the device's sign-in.
            let second = try await Self.open(server, token)
            #expect(try await server.device(.signOut, token: token).status == 204)
            #expect(try await server.send("GET", second).status == 404)
            #expect(try await Self.post(server, second + "/\(id)/off").status == 404)
            let other = try await server.signIn().token
            #expect(try await Self.list(server, other).first?.willRenew == true)
        }
    }

    @Test func aCustomerSignsInOnThePage() async throws {
        try await with { server in
            let tester = try #require(SandboxTester.read(from: server.directory))
            _ = try await Self.subscribe(server, try await server.signIn().token)
            let start = server.addresses.storefront + "/subscriptions"
            #expect(try await server.send("GET", server.addresses.storefront).text.contains("href=\"/subscriptions\""))
            #expect(try await server.send("GET", start).text.contains("type=\"password\""))
            let wrong = "email=\(tester.email)&password=%3Cb%3E&environment=sandbox"
            let refused = try await Self.post(server, start, wrong)
            #expect(refused.status == 401 && refused.text.contains("role=\"alert\"") && !refused.text.contains("<b>"))
            // The same account is none in production, where its password is no secret of anyone.
            let password = "email=\(tester.email)&password=\(tester.password)&environment="
            #expect(try await Self.post(server, start, password + "production").status == 401)
            for form in [
                "", "email=a", "email=a&password=b", password + "elsewhere", "email=&password=&environment=sandbox",
            ] {
                #expect(try await Self.post(server, start, form).status == 422, "\(form)")
            }
            // Another site's form signs nobody in.
            let headers = [
                ("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "cross-site"),
            ]
            let foreign = try await server.send(
                "POST", start, headers: headers, body: Array((password + "sandbox").utf8))
            #expect(foreign.status == 403)
            let page = try await Self.post(server, start, password + "sandbox")
            #expect(page.status == 200 && page.text.contains("Monkeys · Club") && page.text.contains(tester.email))
            let done = try #require(page.text.firstMatch(of: /action="(\/subscriptions\/[0-9a-f]{32})\/done"/)?.1)
            let url = server.addresses.storefront + done
            #expect(try await server.send("GET", url).status == 200)
            // A locked account manages nothing.
            let lock = "/control/v1/sandbox/accounts/\(tester.email)"
            #expect(try await server.control("PATCH", lock, #"{"locked":true}"#).status == 200)
            #expect(try await server.send("GET", url).status == 404)
            #expect(try await server.control("PATCH", lock, #"{"locked":false}"#).status == 200)
            #expect(try await Self.post(server, url + "/done").text.contains("type=\"password\""))
            #expect(try await server.send("GET", url).status == 404)
        }
    }

    @Test func signInsToThePageAreLimited() async throws {
        try await with {
            $0.signInRates = SignInLimits.Rates(
                address: .init(burst: 60, perSecond: 1), account: .init(burst: 2, perSecond: 0.001))
        } _: { server in
            try await Self.tryOften(server)
        }
    }

    private static func tryOften(_ server: RunningServer) async throws {
        let start = server.addresses.storefront + "/subscriptions"
        let form = "email=a%40example.com&password=b&environment=sandbox"
        for status in [401, 401, 429] {
            let reply = try await post(server, start, form)
            #expect(reply.status == status)
        }
    }
}
