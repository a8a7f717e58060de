import ArgumentParser
import ControlWire
import CornerstoreCommands
import Foundation
import HTTPTypes
import MerchantWire
import Store
import StoreWire
import TestSupport
import Testing

@testable import Console

@Suite(.timeLimit(.minutes(1))) struct ConsoleFormTests {
    /// Every route that a form may use is in the table of its API.
    @Test func everyFormUsesRoutesThatProgramsHave() {
        let known = Set(ControlRoute.all.map(RouteUse.control) + MerchantRoute.all.map(RouteUse.merchant))
        let device: Set<RouteUse> = [
            .device(.signIn), .device(.purchases), .device(.finish(TransactionID(rawValue: 1))), .device(.signOut),
            .device(.verifyReceipt),
        ]
        for action in PageController.actions {
            #expect(!action.routes.isEmpty, "\(action.path)")
            #expect(action.routes.isSubset(of: known.union(device)), "\(action.path)")
            #expect(PageController.routes.contains { $0.path == action.page }, "\(action.path)")
        }
        let paths = PageController.actions.map(\.path)
        #expect(Set(paths).count == paths.count)
    }

    /// Every form of every page is sent to an address of the table.
    @Test func everyFormOfEveryPageHasItsRoute() async throws {
        try await RunningConsole.with { console in
            let email = try await console.customer()
            let browser = console.browser()
            let bought = try await console.buy(browser)
            let paths = [
                "", "/customers", "/customers/\(email)", "/buy", "/transactions", "/transactions/\(bought)",
                "/transactions/\(bought)/refund", "/transactions/\(bought)/refund-request", "/refund-requests",
                "/server-notifications", "/api-keys", "/attempts", "/products", "/products/com.example.monkeys/hats",
                "/clock", "/content", "/reviews", "/notifications", "/webhooks/e1", "/managed", "/inspector",
                "/merchant", "/merchant/users/ann", "/merchant/transaction?id=\(bought)",
                "/settings", "/snippets", "/search?q=tester", "/preview", "/preview/com.example.monkeys/hats",
                "/preview/com.example.monkeys/club.monthly?account=\(email)", "/preview/com.example.monkeys/none",
                "/subscriptions", "/subscriptions/\(email)",
            ]
            var (seen, checked): (Set<String>, Set<String>) = ([], [])
            for path in paths {
                let page = try await browser.get("/sandbox\(path)")
                Self.checkCommands(page.text, path, &checked)
                #expect(page.status == 200, "\(path): \(page.text.prefix(2000))")
                for form in page.forms {
                    let action = PageController.actions.first { Self.matches(form.action, $0.path) }
                    #expect(action != nil, "\(form.action)")
                    if let action { seen.insert(action.path) }
                }
            }
            #expect(seen.count > 12)
        }
    }

    /// Every line that a page shows for the shell is a command that exists, with options that exist.
    static func checkCommands(_ html: String, _ path: String) {
        var checked: Set<String> = []
        checkCommands(html, path, &checked)
    }

    /// - Parameter checked: the lines of earlier pages, which are not checked again. To parse a command takes long.
    private static func checkCommands(_ html: String, _ path: String, _ checked: inout Set<String>) {
        for match in html.matches(of: /<code>(cornerstore [^<]*)<\/code>/) {
            let line = String(match.1).unescaped
            guard checked.insert(line).inserted else { continue }
            let words = line.split(separator: " ").dropFirst().map { $0.trimmingCharacters(in: ["'"]) }
            #expect(throws: Never.self, "\(path): \(line)") { try Cornerstore.parseAsRoot(words) }
        }
    }

    static func matches(_ action: String, _ template: String) -> Bool {
        let (parts, wanted) = (action.split(separator: "/").dropFirst(), template.split(separator: "/"))
        return parts.count == wanted.count && zip(parts, wanted).allSatisfy { $1.hasPrefix("{") || $0 == $1 }
    }

    @Test func aPurchaseIsMadeSeenAndRefunded() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let id = try await console.buy(browser)
            let list = try await browser.get("/sandbox/transactions")
            #expect(list.text.contains(id) && list.text.contains("× 2") && list.text.contains("Finished"))
            let question = try await browser.get("/sandbox/transactions/\(id)/refund")
            #expect(question.text.contains("Refund 1.98 USD?") && question.text.contains("1 delivery"))
            _ = console.asked.take()
            let done = try await browser.submit(
                question, "/sandbox/transactions/\(id)/refund", [("reason", "app")])
            #expect(done.status == 303)
            #expect(console.asked.take().contains("POST /control/v1/sandbox/transactions/\(id)/refund"))
            let page = try await browser.follow(done)
            #expect(page.text.contains("Refunded 1.98 USD; 1 delivery revoked."))
            #expect(try await browser.get("/sandbox/transactions").text.contains("Refunded"))
            let again = try await browser.submit(question, "/sandbox/transactions/\(id)/refund", [("reason", "app")])
            #expect(again.status == 422 || again.status == 303)
        }
    }

    @Test func aRepeatedFormBuysOnce() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let form = try await browser.get("/sandbox/buy")
            let typed = [
                ("email", "tester@sandbox.example"), ("password", ""), ("product", "com.example.monkeys credits5"),
                ("quantity", "1"),
            ]
            let first = try await browser.submit(form, "/sandbox/buy", typed)
            let second = try await browser.submit(form, "/sandbox/buy", typed)
            let places = [first, second].map { $0.headers[.location]?.prefix { $0 != "?" } }
            #expect(places[0] != nil && places[0] == places[1])
            #expect(try await console.store.sandbox.ledger(LedgerQuery()).rows.count == 1)
        }
    }

    @Test func aRefusedFormKeepsWhatWasTyped() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let form = try await browser.get("/sandbox/buy")
            let page = try await browser.submit(
                form, "/sandbox/buy",
                [
                    ("email", "nobody@example.com"), ("password", "hunter2"), ("product", "com.example.monkeys hats"),
                    ("quantity", "99"), ("username", "<b>"),
                ])
            #expect(page.status == 422)
            #expect(page.text.contains("nobody@example.com") && page.text.contains("value=\"99\""))
            #expect(page.text.contains("value=\"&lt;b&gt;\"") && !page.text.contains("hunter2"))
            #expect(page.text.contains("must be a number from 1 to 10") && page.text.contains("aria-invalid"))
            #expect(page.text.contains("value=\"com.example.monkeys hats\" selected"))
            #expect(page.text.contains("<code>test-request</code>"))
        }
    }

    @Test func productionAsksBeforeAChange() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let form = try await browser.get("/production/clock")
            #expect(form.text.contains("class=\"production\"") && form.text.contains("Real customers"))
            let question = try await browser.submit(form, "/production/clock/freeze")
            #expect(question.status == 200 && question.text.contains("Change production?"))
            #expect(console.store.production.clock.current == .running(offset: 0))
            #expect(try await browser.submit(question, "/production/clock/freeze").status == 303)
            #expect(console.store.production.clock.current != .running(offset: 0))
            #expect(console.store.sandbox.clock.current == .running(offset: 0))
        }
    }

    @Test func aRefusedFilterKeepsItsForm() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            for (query, words) in [
                ("transactions?from=25%2F11%2F2026&product=hats", "25/11/2026"),
                ("transactions?account=nobody&product=hats", "nobody"), ("attempts?account=nobody", "nobody"),
            ] {
                let page = try await browser.get("/sandbox/\(query)")
                #expect(page.status == 200 && page.text.contains("value=\"\(words)\""), "\(query)")
                #expect(
                    page.text.contains("class=\"note bad\"") && page.text.contains("Change the filter."), "\(query)")
                #expect(query.hasPrefix("attempts") || page.text.contains("value=\"hats\""), "\(query)")
            }
        }
    }

    @Test func anAppIsFoundByTheBeginningOfItsName() async throws {
        try await RunningConsole.with { console in
            let found = try await console.browser().get("/sandbox/search?q=monk")
            #expect(found.text.contains("products?app=com.example.monkeys"))
        }
    }

    /// What the machine's clock says does not age when the store's moves.
    @Test func theOperatorsChangesKeepTheirAge() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let clock = try await browser.get("/sandbox/clock")
            let token = try #require(clock.form("/sandbox/clock/advance")?.first { $0.0 == "token" }?.1)
            let moved = try await browser.send(
                .post, "/sandbox/clock/advance", body: "token=\(token)&step=2592000000")
            #expect(moved.status == 303, "\(moved.text)")
            for (path, words) in [("products", "Loaded"), ("settings", "clock")] {
                let page = try await browser.get("/sandbox/\(path)")
                #expect(page.text.contains(words) && !page.text.contains("30 d ago"), "\(path)")
            }
        }
    }

    @Test func faultsAndRulesAreOrderedAndRemoved() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let page = try await browser.get("/sandbox/clock")
            let recipe = try await browser.send(
                .post, "/sandbox/recipes",
                body: "token=\(try #require(page.form("/sandbox/recipes")?.first { $0.0 == "token" }?.1))&recipe=card")
            #expect(recipe.status == 303)
            let rules = try await browser.get("/sandbox/clock")
            #expect(rules.text.contains("declined-once"))
            let typed = [
                ("email", "tester@sandbox.example"), ("password", ""), ("product", "com.example.monkeys credits5"),
                ("quantity", "1"),
            ]
            let declined = try await browser.submit(try await browser.get("/sandbox/buy"), "/sandbox/buy", typed)
            #expect(declined.status == 422 && declined.text.contains("The purchase failed"), "\(declined.text)")
            let bought = try await browser.submit(try await browser.get("/sandbox/buy"), "/sandbox/buy", typed)
            #expect(bought.status == 303)
        }
    }

    @Test func aChildsPurchaseIsApprovedWithOneButton() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let form = try await browser.get("/sandbox/customers")
            let made = try await browser.submit(
                form, "/sandbox/customers/new",
                [("email", "child@example.com"), ("storefront", "USA"), ("asks", "yes"), ("pays", "yes")])
            #expect(made.status == 200 && made.text.contains("shown for 30 seconds, and not again"))
            let password = try #require(made.text.firstMatch(of: /<code class="id">([a-z0-9]{4}(-[a-z0-9]{4}){3})</)?.1)
            let asked = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", "child@example.com"), ("password", String(password)),
                    ("product", "com.example.monkeys hats"), ("quantity", "1"), ("finish", "yes"),
                ])
            let overview = try await browser.follow(asked)
            let approve = try #require(overview.forms.first { $0.action.hasSuffix("/approve") })
            #expect(try await browser.submit(overview, approve.action).status == 303)
            #expect(try await console.store.sandbox.ledger(LedgerQuery()).rows.count == 1)
            #expect(try await browser.get("/sandbox").text.contains("hats"))
        }
    }

    @Test func aProductIsDraftedSubmittedAndBought() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let apps = try await browser.get("/sandbox/managed")
            let registered = try await browser.submit(
                apps, "/sandbox/managed/register", [("bundle", "com.example.drafts"), ("name", "Drafts")])
            let app = try await browser.follow(registered)
            Self.checkCommands(app.text, "managed app")
            let made = try await browser.submit(
                app, "/sandbox/managed/com.example.drafts/create",
                [
                    ("kind", "consumable"), ("product", "com.example.drafts.coins"), ("price", "0.99"),
                    ("locale", "en_US"), ("name", "Coins"), ("description", "Ten coins."), ("reference", "Coins"),
                ])
            let draft = try await browser.follow(made)
            #expect(draft.text.contains("Ready to Submit"), "\(made.text) \(draft.text)")
            Self.checkCommands(draft.text, "managed product")
            let path = "/sandbox/managed/com.example.drafts/com.example.drafts.coins"
            func typed(_ price: String) -> [(String, String)] {
                [
                    ("price", price), ("locale", "en_US"), ("name", "Coins"), ("description", "Ten coins."),
                    ("reference", "Coins"),
                ]
            }
            // Another editor is faster.
            let first = try await browser.submit(draft, path + "/change", typed("1.99"))
            #expect(first.status == 303, "\(first.text)")
            let second = try await browser.submit(draft, path + "/change", typed("2.99"))
            #expect(second.status == 422 && second.text.contains("value=\"2.99\""))
            let now = try await browser.get(path)
            let submitted = try await browser.submit(now, path + "/submit")
            #expect(try await browser.follow(submitted).text.contains("Approved"))
            let bought = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", "tester@sandbox.example"), ("password", ""),
                    ("product", "com.example.drafts com.example.drafts.coins"), ("quantity", "1"), ("finish", "yes"),
                ])
            #expect(bought.status == 303, "\(bought.text)")
            #expect(try await browser.follow(bought).text.contains("1.99 USD"))
            let file = try await browser.get("/sandbox/managed/com.example.drafts?export=yaml")
            #expect(file.text.contains("com.example.drafts.coins"))
        }
    }

    @Test func theOverviewHasTheLastEventsAndWhatIsInReview() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let id = try await console.buy(browser)
            let transaction = try #require(TransactionID(id))
            // Events of one millisecond have no order.
            try await console.store.sandbox.changeClock { try $0.advance(by: 1_000) }
            let rule = DeclineRule(
                ruleID: "all", accountID: nil, productID: nil, minimumAmount: nil, remaining: 1)
            try await console.store.sandbox.payments.setRule(rule)
            let declined = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", "tester@sandbox.example"), ("password", ""), ("product", "com.example.monkeys hats"),
                    ("quantity", "1"),
                ])
            #expect(declined.status == 422)
            try await console.store.sandbox.changeClock { try $0.advance(by: 1_000) }
            _ = try await console.store.sandbox.refund(transaction, reason: .other)
            let managed = console.store.managed
            _ = try await managed.register("com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            _ = try await managed.changeApp(
                "com.example.drafts", revision: 1, sellsInAppPurchases: nil, review: .manual, keys: nil, by: "anna")
            let text: JSONValue = .object([
                "locale": .string("en_US"), "displayName": .string("Coins"), "description": .string("Ten."),
            ])
            let coins = try await managed.createProduct(
                "coins", .consumable, in: nil, of: "com.example.drafts",
                document: .object(["displayPrice": .string("0.99"), "localizations": .array([text])]), by: "anna")
            _ = try await managed.submit(
                [("coins", coins.revision)], of: "com.example.drafts", appVersion: nil, by: "anna")
            let page = try await browser.get("/sandbox")
            func number(_ name: String) -> String? {
                guard let place = page.text.range(of: "<dt>\(name)</dt><dd>") else { return nil }
                let rest = page.text[place.upperBound...]
                let value = rest.hasPrefix("<a") ? rest.drop { $0 != ">" }.dropFirst() : rest
                return String(value.prefix { $0 != "<" && $0 != " " })
            }
            #expect(number("Products in review") == "1", "\(page.text)")
            for span in ["24 hours", "30 days"] {
                #expect(number("Purchases, \(span)") == "1" && number("Refunds, \(span)") == "1")
                #expect(number("Failed attempts, \(span)") == "1")
            }
            let last = try #require(page.text.range(of: "Last events"))
            let events = page.text[last.upperBound...].matches(of: />(Bought|Refunded|Declined)</).map { $0.1 }
            #expect(events == ["Refunded", "Declined", "Bought"])
        }
    }

    @Test func aSubscriptionIsDraftedWithGroupLanguagesAndOffers() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let apps = try await browser.get("/sandbox/managed")
            let registered = try await browser.submit(
                apps, "/sandbox/managed/register", [("bundle", "com.example.drafts"), ("name", "Drafts")])
            let app = try await browser.follow(registered)
            #expect(!app.text.contains("value=\"autoRenewableSubscription\""))
            let path = "/sandbox/managed/com.example.drafts"
            let group = [("group", "21000009"), ("name", "Club"), ("locale", "en_US"), ("display", "The Club")]
            let grouped = try await browser.submit(app, path + "/group", group)
            let page = try await browser.follow(grouped)
            #expect(page.text.contains("en_US: The Club"), "\(grouped.text)")
            // Of two editors the later is told, and keeps what was typed.
            let late = try await browser.submit(app, path + "/group", [("group", "21000010"), ("name", "Gym")])
            #expect(late.status == 422 && late.text.contains("value=\"Gym\""), "\(late.text)")
            let made = try await browser.submit(
                page, path + "/create",
                [
                    ("kind", "autoRenewableSubscription"), ("product", "club"), ("price", "3.99"),
                    ("group", "21000009"), ("level", "2"), ("period", "P1M"), ("locale", "en_US"), ("name", "Club"),
                    ("description", "All monkeys."), ("reference", "Club"),
                ])
            let draft = try await browser.follow(made)
            #expect(draft.text.contains("Ready to Submit") && draft.text.contains("21000009"), "\(made.text)")
            Self.checkCommands(draft.text, "managed subscription")
            for form in draft.forms {
                #expect(PageController.actions.contains { Self.matches(form.action, $0.path) }, "\(form.action)")
            }
            let product = path + "/club"
            func now() async throws -> TestBrowser.Page { try await browser.get(product) }
            func change(_ page: TestBrowser.Page, _ name: String, _ typed: [(String, String)]) async throws -> Int {
                try await browser.submit(page, product + "/" + name, typed).status
            }
            let german = [("locale", "de"), ("name", "Verein"), ("description", "Alle Affen.")]
            #expect(try await change(draft, "language", german) == 303)
            #expect(try await change(draft, "language", german) == 422)
            let free = [("payment", "free"), ("period", "P1W"), ("periods", "1"), ("price", "")]
            #expect(try await change(try await now(), "introductory", free) == 303)
            let signed = [
                ("id", "come-back"), ("reference", "Come back"), ("payment", "payAsYouGo"), ("period", "P1M"),
                ("periods", "3"), ("price", "1.99"),
            ]
            #expect(try await change(try await now(), "promotional", signed) == 303)
            let wrong = try await browser.submit(
                try await now(), product + "/promotional", Array(signed.dropLast()) + [("price", "")])
            #expect(wrong.status == 422 && wrong.text.contains("value=\"come-back\""))
            let settings = [("reference", "Club"), ("price", "4.99"), ("level", "1"), ("period", "P1Y")]
            #expect(try await change(try await now(), "change", settings) == 303)
            let known = try console.store.managed.product("club", of: "com.example.drafts").product
            let subscription = try #require(known.subscription)
            #expect(known.localizations.map(\.locale) == ["en_US", "de"])
            #expect(subscription.level == 1 && subscription.period == SubscriptionPeriod(unit: .year, count: 1))
            #expect(subscription.introductoryOffers.map(\.paymentMode) == [.free])
            #expect(subscription.promotionalOffers.map(\.offerID) == ["come-back"])
            #expect(subscription.promotionalOffers.map(\.numberOfPeriods) == [3])
            let shown = try await browser.get(product + "?locale=de&offer=come-back")
            #expect(shown.text.contains("value=\"Verein\"") && shown.text.contains("value=\"1.99\""))
            // The first button of each kind removes.
            #expect(try await change(try await now(), "language-remove", []) == 303)
            #expect(try await change(try await now(), "offer-remove", []) == 303)
            let left = try console.store.managed.product("club", of: "com.example.drafts").product
            #expect(left.localizations.map(\.locale) == ["de"])
            #expect(left.subscription?.introductoryOffers.isEmpty == true)
            #expect(left.subscription?.promotionalOffers.count == 1)
            // What cannot be undone is asked in the sandbox too, and by its name.
            let question = try await browser.submit(try await now(), product + "/delete")
            #expect(question.status == 200 && question.text.contains("Change both environments?"))
            #expect(question.text.contains("com.example.drafts") && question.text.contains(">club<"))
            #expect(try console.store.managed.product("club", of: "com.example.drafts").product.productID == "club")
            let deleted = try await browser.submit(question, product + "/delete")
            #expect(deleted.status == 303, "\(deleted.text)")
            let gone = try await browser.submit(try await browser.get(path), path + "/group-delete")
            #expect(gone.status == 303, "\(gone.text)")
            #expect(try console.store.managed.app("com.example.drafts").groups.isEmpty)
        }
    }

    @Test func aPreviewIsWhatADeviceGetsAndSendsPromotions() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let email = try await console.customer()
            let page = try await browser.get("/sandbox/preview?storefront=DEU&language=de")
            #expect(page.text.contains("Hüte") && page.text.contains("Ein Hut für jeden Affen."), "\(page.text)")
            #expect(page.text.contains("None of these identifiers is invalid."))
            let france = try await browser.get("/sandbox/preview?storefront=FRA")
            #expect(france.text.contains("not available in the storefront FRA"))
            let typed = try await browser.get("/sandbox/preview?product=HATS")
            #expect(typed.text.contains("It has hats, written differently."))
            let unknown = try await browser.get("/sandbox/preview/com.example.monkeys/none")
            #expect(unknown.text.contains("The app has no product with this identifier."))
            #expect(!unknown.text.contains("/promote"))
            let path = "/sandbox/preview/com.example.monkeys/hats"
            let product = try await browser.get("\(path)?account=\(email)")
            #expect(product.text.contains("$2.99") && product.text.contains("value=\"\(email)\""))
            let club = try await browser.get("/sandbox/preview/com.example.monkeys/club.monthly?account=\(email)")
            #expect(club.text.contains("for this customer"))
            _ = console.asked.take()
            let sent = try await browser.submit(product, path + "/promote", [("account", email)])
            #expect(sent.status == 303 && console.asked.take().contains("POST /control/v1/sandbox/promoted"))
            #expect(try await browser.follow(sent).text.contains("Sent to \(email)."))
            let account = try #require(try await console.store.sandbox.accounts.account(email: email))
            #expect(try await console.store.sandbox.promotions(of: account).map(\.productID) == ["hats"])
            let refused = try await browser.submit(product, path + "/promote", [("account", "nobody@example.com")])
            #expect(refused.status == 422 && refused.text.contains("value=\"nobody@example.com\""))
        }
    }

    @Test func pricesAreRaisedAndCodesMadeAndBothWithdrawn() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let tester = "tester@sandbox.example"
            let empty = try await browser.get("/sandbox/subscriptions")
            #expect(empty.text.contains("club.monthly") && empty.text.contains("1 introductory"), "\(empty.text)")
            let increase = "/sandbox/subscriptions/price-increase"
            let typed = [
                ("account", tester), ("product", "com.example.monkeys club.monthly"), ("price", "7.99"),
            ]
            let early = try await browser.submit(empty, increase, typed)
            #expect(early.status == 422 && early.text.contains("last period is not of") && early.text.contains("7.99"))
            let bought = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", tester), ("password", ""), ("product", "com.example.monkeys club.monthly"),
                    ("quantity", "1"), ("finish", "yes"),
                ])
            #expect(bought.status == 303, "\(bought.text)")
            let raised = try await browser.submit(empty, increase, typed)
            let page = try await browser.follow(raised)
            #expect(page.text.contains("5.99 → 7.99 USD") && page.text.contains("Not answered"), "\(raised.text)")
            #expect(page.text.contains(tester) && page.text.contains("trial"))
            let withdrawn = try await browser.submit(page, "/sandbox/subscriptions/withdraw-increase")
            #expect(withdrawn.status == 303, "\(withdrawn.text)")
            let without = try await browser.follow(withdrawn)
            #expect(!without.text.contains("5.99 → 7.99 USD"))
            let again = try await browser.submit(page, "/sandbox/subscriptions/withdraw-increase")
            #expect(again.status == 422 && again.text.contains("no price increase"))

            let made = try await browser.submit(
                page, "/sandbox/subscriptions/code", [("product", "com.example.monkeys hats")])
            let codes = try await browser.follow(made)
            let code = try #require(try await console.store.sandbox.codes().first?.code)
            #expect(codes.text.contains(code) && codes.text.contains("Not redeemed"))
            let gone = try await browser.submit(codes, "/sandbox/subscriptions/withdraw-code")
            #expect(gone.status == 303)
            #expect(try await console.store.sandbox.codes().isEmpty)

            let one = try await browser.get("/sandbox/subscriptions/\(tester)")
            #expect(one.text.contains("First period") && one.text.contains("Current"))
            Self.checkCommands(one.text, "subscriber")
            // The customer's page has the same button.
            let anew = try await browser.submit(page, increase, typed)
            #expect(anew.status == 303)
            let customer = try await browser.get("/sandbox/customers/\(tester)")
            let withdraw = try #require(customer.forms.first { $0.action.hasSuffix("/withdraw-increase") })
            let done = try await browser.submit(customer, withdraw.action)
            #expect(done.status == 303, "\(done.text)")
            #expect(try await console.store.sandbox.priceIncreases().isEmpty)
        }
    }

    @Test func theLedgerIsSavedAsCSVAndJSON() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let id = try await console.buy(browser)
            let csv = try await browser.get("/sandbox/transactions.csv")
            let lines = csv.text.split(separator: "\r\n")
            #expect(lines.count == 2 && lines[1].hasPrefix("\(id),\(id),"), "\(csv.text)")
            #expect(csv.headers[.contentDisposition]?.contains("transactions-sandbox.csv") == true)
            let json = try await browser.get("/sandbox/transactions.json")
            let rows = try JSONDecoder().decode([ControlAPI.Transaction].self, from: Data(json.text.utf8))
            #expect(rows.map(\.transactionId) == [id])
            #expect(ExportController.field("=1+1") == "'=1+1" && ExportController.field("a,\"b\"") == "\"a,\"\"b\"\"\"")
        }
    }

    @Test func aReceiptIsInspected() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let form = try await browser.get("/sandbox/inspector")
            let noise = try await browser.submit(form, "/sandbox/inspector", [("receipt", "bm9uc2Vuc2U=")])
            #expect(noise.status == 200 && noise.text.contains("Refused: malformed"))
            let answer = try await browser.submit(form, "/sandbox/inspector", [("receipt", #"{"status": 21007}"#)])
            #expect(answer.text.contains("The receipt is of the sandbox."))
            let empty = try await browser.submit(form, "/sandbox/inspector", [("receipt", " ")])
            #expect(empty.status == 422)
        }
    }

    @Test func aReceiptsFileIsInspected() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let id = try await console.buy(browser)
            let (form, action) = (try await browser.get("/sandbox/inspector"), "/sandbox/inspector")
            #expect(form.text.contains("enctype=\"multipart/form-data\"") && form.text.contains("type=\"file\""))
            let made = try await browser.get("/sandbox/inspector?transaction=\(id)").text
            let base64 = try #require(made.firstMatch(of: /<textarea [^>]*>\n([^<]+)<\/textarea>/)?.1)
            let binary = try #require(Data(base64Encoded: String(base64)))
            for (file, text) in [
                (Array(binary), "Genuine"), (Array(base64.utf8), "Genuine"),
                (Array(base64.utf8) + Array("\n".utf8), "Genuine"),
                (Array(" \n{\"status\": 21007}".utf8), "The receipt is of the sandbox."),
                (Array("eyJhbGciOiJFUzI1NiJ9.e30.AA".utf8), "Signed payload (JWS)"),
                (Array(binary.prefix(100)), "Refused: "), ([0, 0xFF], "Refused: "),
            ] {
                // What was pasted does not count.
                let page = try await browser.upload(form, action, [("receipt", "nonsense")], file: file)
                #expect(page.status == 200 && page.text.contains(text), "\(text)")
            }
            let pasted = try await browser.upload(form, action, [("receipt", String(base64))], file: [])
            #expect(pasted.status == 200 && pasted.text.contains("Genuine"))
            let nothing = try await browser.upload(form, action, [("receipt", "")], file: [])
            #expect(nothing.status == 422 && nothing.text.contains("Paste a receipt or choose its file."))
            let large = try await browser.upload(
                form, action, [("bundle", "kept")], file: Array(repeating: 0x30, count: (4 << 20) + 1))
            #expect(large.status == 422 && large.text.contains("The receipt is over 4 MiB."))
            #expect(large.text.contains("value=\"kept\""))
        }
    }

    @Test func aHostileFormWithAFileIsRefused() async throws {
        try await RunningConsole.with { console in
            let (browser, action) = (console.browser(), "/sandbox/inspector")
            let token = try await browser.get(action).form(action) ?? []
            let file = MultipartForm.File(name: "file", content: [1])
            let two = MultipartForm(token, files: [file, file])
            let whole = MultipartForm(token, files: [file])
            let large = MultipartForm(
                token, files: [.init(name: "file", content: Array(repeating: 1, count: 13 << 20))])
            for (body, type, status, text) in [
                (two.bytes[...], two.type, 400, "several files"),
                (whole.bytes.dropLast(4), whole.type, 400, "incomplete"),
                (whole.bytes[...], "multipart/form-data; boundary=other", 400, "incomplete"),
                (whole.bytes[...], "multipart/form-data", 400, "incomplete"),
                (large.bytes[...], large.type, 413, "too large"),
            ] as [(ArraySlice<UInt8>, String, Int, String)] {
                let page = try await browser.send(.post, action, bytes: Array(body), headers: [("Content-Type", type)])
                #expect(page.status == status && page.text.contains(text), "\(page.status) \(text)")
            }
            // The form's token is needed as in every form.
            let without = MultipartForm([], files: [file])
            let page = try await browser.send(
                .post, action, bytes: without.bytes, headers: [("Content-Type", without.type)])
            #expect(page.status == 403 && page.text.contains("another session"))
        }
    }

    @Test func theMerchantsHalfAsksTheAdminAPI() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let page = try await browser.get("/sandbox/merchant")
            #expect(page.text.contains("5 coins"))
            _ = console.asked.take()
            #expect(try await browser.submit(page, "/sandbox/merchant/products/sale").status == 303)
            #expect(console.asked.take().contains("PUT /admin/v1/products/com.example.monkeys/credits5"))
            #expect(try await browser.submit(page, "/sandbox/merchant/keys/revoke").status == 303)
            #expect(console.asked.take().contains("DELETE /admin/v1/keys/backend"))
            let proof = try await browser.submit(page, "/sandbox/merchant/check")
            #expect(proof.text.contains("The books balance"))
            let user = try await browser.get("/sandbox/merchant/users/ann")
            #expect(user.text.contains("coins") && user.text.contains("grant"))
            let given = try await browser.submit(
                user, "/sandbox/merchant/users/ann/adjust", [("currency", "coins"), ("amount", "1"), ("note", "")])
            #expect(given.status == 303)
            let none = try await browser.submit(
                user, "/sandbox/merchant/users/ann/adjust", [("currency", "coins"), ("amount", "x")])
            #expect(none.status == 422)
        }
    }
}
