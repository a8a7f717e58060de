import ConsolePages
import ControlWire
import Foundation
import StoreWire

/// The list of customers, the form for a new one, and the page of one customer with everything that happened.
enum CustomerPages {
    static let routes = [
        PageRoute(path: "customers", area: .customers, topics: [.accounts], make: list),
        PageRoute(
            path: "customers/{account}", area: .customers, topics: [.accounts, .transactions, .attempts, .offers],
            make: one),
    ]

    static let actions: [ConsoleAction] = [
        ConsoleAction(
            path: "customers/new", routes: [.control(.createAccount(.sandbox))], page: "customers",
            change: "create a customer", perform: create),
        ConsoleAction(
            path: "customers/{account}/change", routes: [.control(.changeAccount(.sandbox, email: ""))],
            page: "customers/{account}", change: "change a customer", perform: change),
        ConsoleAction(
            path: "customers/{account}/sign-out", routes: [.control(.signOut(.sandbox, email: ""))],
            page: "customers/{account}", change: "sign a customer's devices out", perform: signOut),
        ConsoleAction(
            path: "customers/{account}/clear", routes: [.control(.clearHistory(.sandbox, email: ""))],
            page: "customers/{account}", change: "clear a customer's history", perform: clear),
        ConsoleAction(
            path: "customers/{account}/promote", routes: [.control(.promote(.sandbox))], page: "customers/{account}",
            change: "promote a product", perform: promote),
        ConsoleAction(
            path: "customers/{account}/price-increase", routes: [.control(.increasePrice(.sandbox))],
            page: "customers/{account}", change: "raise a price", perform: increasePrice),
        ConsoleAction(
            path: "customers/{account}/withdraw",
            routes: [
                .control(.withdrawPromotion(.sandbox, id: UUID(), account: ""))
            ], page: "customers/{account}", change: "withdraw a promoted purchase", perform: withdraw),
        ConsoleAction(
            path: "customers/{account}/withdraw-increase",
            routes: [.control(.withdrawPriceIncrease(.sandbox, account: "", bundle: "", product: ""))],
            page: "customers/{account}", change: "withdraw a price increase", perform: withdrawIncrease),
    ]

    // MARK: The list

    private static let flags: [(AccountFlag, String)] = [
        (.locked, "Locked"), (.asksToBuy, "Asks to buy"), (.interruptsPurchases, "Interrupts purchases"),
        (.paymentsForbidden, "May not pay"), (.inactive, "No purchase in 180 days"),
    ]

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Customers")
        let start = request.filter("start")
        let flag = request.filter("flag").flatMap(AccountFlag.init(rawValue:))
        let found: ControlAPI.Page<ControlAPI.Account> = try await request.api.ask(
            .accounts(request.environment, after: request.filter("after"), start: start, flag: flag, limit: 50))
        var section = ConsoleSection("list", "Accounts of \(request.environment.rawValue.lowercased())", isLive: true)
        section.filter = ConsoleForm(
            action: request.action("customers"), method: "get",
            fields: [
                ConsoleField("start", "Address starts with", .search, value: start ?? ""),
                ConsoleField(
                    "flag", "Who", .choice,
                    options: [ConsoleOption("", "Everybody")]
                        + flags.map { ConsoleOption($0.rawValue, $1, isChosen: $0 == flag) }),
            ], button: "Filter", isLine: true)
        var table = ConsoleTable(
            "Accounts by address",
            [
                ConsoleColumn("Address"), ConsoleColumn("Storefront"), ConsoleColumn("Flags"),
                ConsoleColumn("Last purchase"),
            ],
            nothing: start == nil && flag == nil
                ? "No customers yet. Create the first one:" : "No customer matches. Try fewer letters.",
            command: start == nil && flag == nil ? "cornerstore account create anna@example.com\(request.flag)" : nil)
        for account in found.rows.prefix(50) {
            table.add([
                ConsoleCell(account.email, link: request.link("customers/\(account.email.percentEncoded)")),
                ConsoleCell(account.storefront), flagCell(account), request.moments.cell(account.lastPurchaseDate),
            ])
        }
        table.next = (found.rows.count > 50 ? found.rows[49].email : found.next).map {
            request.link("customers", [("after", $0), ("start", start), ("flag", flag?.rawValue)])
        }
        table.nextLabel = "More"
        if request.query["after"] != nil {
            table.first = request.link("customers", [("start", start), ("flag", flag?.rawValue)])
        }
        table.firstLabel = "First"
        section.table = table
        page.sections = [section, newAccount(request)]
        page.commands = [
            ConsoleCode("Command", "cornerstore account list\(request.flag)"),
            ConsoleCode("Control port", request.curl(.accounts(request.environment, start: start, flag: flag))),
        ]
        return page
    }

    private static func flagCell(_ account: ControlAPI.Account) -> ConsoleCell {
        let words = flagWords(account)
        return words.isEmpty
            ? ConsoleCell("—", tone: .dim)
            : ConsoleCell(words.joined(separator: ", "), tone: account.locked ? .bad : .warn)
    }

    private static func flagWords(_ account: ControlAPI.Account) -> [String] {
        [
            account.locked ? "locked" : nil, account.paymentsAllowed ? nil : "may not pay",
            account.asksToBuy ? "asks to buy" : nil, account.interruptsPurchases ? "interrupts purchases" : nil,
        ].compactMap { $0 }
    }

    private static func newAccount(_ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection(
            "new", request.environment == .sandbox ? "New tester" : "New customer",
            text: "The password is made here. It is shown for 30 seconds, and not again.")
        section.forms = [
            ConsoleForm(
                action: request.action("customers/new"),
                fields: [
                    ConsoleField(
                        "email", "E-mail address", .email, hint: "Any address; nothing is sent to it.", isRequired: true
                    ),
                    ConsoleField("storefront", "Storefront", value: "USA", hint: "Three letters, such as USA or DEU."),
                    ConsoleField("asks", "Asks to buy (a child's account)", .tick),
                    ConsoleField("pays", "May pay", .tick, isOn: true),
                ], button: "Create")
        ]
        return section
    }

    @Sendable private static func create(_ action: ActionRequest) async throws -> ActionOutcome {
        let email = try action.required("email", "E-mail address")
        let password = password()
        let account: ControlAPI.Account = try await action.api.send(
            .createAccount(action.environment),
            ControlAPI.NewAccount(
                email: email, password: password, storefront: action.text("storefront"),
                paymentsAllowed: action.isOn("pays"), asksToBuy: action.isOn("asks")))
        var page = ConsolePage("\(account.email) was created")
        page.message = "Copy the password now. It is shown for 30 seconds, and not again."
        var section = ConsoleSection("password", "Sign in on a device with")
        section.facts = [
            ConsoleFact("E-mail address", account.email, isID: true), ConsoleFact("Password", password, isID: true),
        ]
        let link = action.page.link("customers/\(account.email.percentEncoded)")
        page.leave = link
        section.links = [
            ConsoleLink("Open this customer", link),
            ConsoleLink("Buy as this customer", action.page.link("buy", [("account", account.email)])),
        ]
        page.sections = [section]
        return .page(page)
    }

    /// A password of 80 random bits that can be typed.
    private static func password() -> String {
        var generator = SystemRandomNumberGenerator()
        let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
        return (0..<4).map { _ in
            String((0..<4).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
        }.joined(separator: "-")
    }

    // MARK: One customer

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let detail: ControlAPI.AccountDetail = try await request.api.ask(
            .account(request.environment, email: request.parameter("account")))
        let account = detail.account
        let path = "customers/\(account.email.percentEncoded)"
        var page = ConsolePage(account.email)
        page.trail = [ConsoleLink("Customers", request.link("customers"))]
        let bought: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
            .transactions(request.environment, LedgerFilter(account: account.email), limit: 30))
        page.sections = [
            summary(request, detail), settings(request, account, path),
            try await changes(request, account), try await timeline(request, detail, bought),
            unfinished(request, detail), owned(request, detail),
            devices(request, detail, path), try await offers(request, detail, path),
        ]
        if request.api.hasMerchant { page.sections.append(await MerchantParts.customer(request, bought.rows)) }
        if request.environment == .sandbox { page.sections.append(history(request, account, path)) }
        let email = account.email.shellWord
        page.commands = [
            ConsoleCode("Change the customer", "cornerstore account change \(email) --asks-to-buy on\(request.flag)"),
            ConsoleCode("The customer's purchases", "cornerstore transaction list --account \(email)\(request.flag)"),
            ConsoleCode("Control port", request.curl(.account(request.environment, email: account.email))),
        ]
        return page
    }

    private static func summary(_ request: PageRequest, _ detail: ControlAPI.AccountDetail) -> ConsoleSection {
        let account = detail.account
        var section = ConsoleSection("summary", "Summary", isLive: true)
        let flags = flagWords(account)
        section.facts = [
            ConsoleFact("Account", account.accountId, isID: true), ConsoleFact("Storefront", account.storefront),
            ConsoleFact(
                "Flags", flags.isEmpty ? "none" : flags.joined(separator: ", "), tone: flags.isEmpty ? nil : .warn),
            request.moments.fact("Created", account.createdDate),
            request.moments.fact("Last purchase", account.lastPurchaseDate, absent: "never"),
            ConsoleFact("Devices", "\(detail.devices.count)", link: "#devices"),
            ConsoleFact("Unfinished", "\(detail.unfinished.count)", tone: detail.unfinished.isEmpty ? nil : .warn),
            ConsoleFact("Family", family(detail.family)),
        ]
        section.links = [
            ConsoleLink("Buy as this customer", request.link("buy", [("account", account.email)])),
            ConsoleLink("All transactions", request.link("transactions", [("account", account.email)])),
            ConsoleLink("Subscriptions", request.link("subscriptions/\(account.accountId.percentEncoded)")),
        ]
        return section
    }

    /// The members of a family in words, the organizer first.
    private static func family(_ family: ControlAPI.Family?) -> String {
        guard let family else { return "none" }
        return family.members.map { member in
            (member.account ?? member.accountId)
                + (member.accountId == family.organizerId ? " (organizer)" : "")
                + (member.shares ? "" : " (does not share)")
        }.joined(separator: ", ")
    }

    private static func settings(
        _ request: PageRequest, _ account: ControlAPI.Account, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection("settings", "Settings")
        section.forms = [
            ConsoleForm(
                action: request.action(path + "/change"),
                fields: [
                    ConsoleField("storefront", "Storefront", value: account.storefront, isRequired: true),
                    ConsoleField("pays", "May pay", .tick, isOn: account.paymentsAllowed),
                    ConsoleField("asks", "Asks to buy", .tick, isOn: account.asksToBuy),
                    ConsoleField("interrupts", "Interrupts purchases", .tick, isOn: account.interruptsPurchases),
                    ConsoleField("locked", "Locked", .tick, isOn: account.locked),
                ] + (request.environment == .sandbox ? [rate(account.renewalRate)] : []), button: "Save")
        ]
        return section
    }

    /// The field for a tester's renewal rate.
    private static func rate(_ current: String) -> ConsoleField {
        let rates = [
            ("real", "As long as the catalog says"), ("3m", "3 minutes a month"), ("5m", "5 minutes a month"),
            ("15m", "15 minutes a month"), ("30m", "30 minutes a month"), ("1h", "1 hour a month"),
            ("never", "Do not renew"),
        ]
        return ConsoleField(
            "rate", "Subscription periods", .choice, value: current,
            options: rates.map { ConsoleOption($0.0, $0.1, isChosen: $0.0 == current) },
            hint: "From the next period on.")
    }

    private static func timeline(
        _ request: PageRequest, _ detail: ControlAPI.AccountDetail, _ bought: ControlAPI.Page<ControlAPI.Transaction>
    ) async throws -> ConsoleSection {
        let account = detail.account
        var section = ConsoleSection("timeline", "Timeline", isLive: true)
        let tried: ControlAPI.Page<ControlAPI.Attempt> = try await request.api.ask(
            .attempts(request.environment, AttemptFilter(account: account.email), limit: 20))
        let timeline = Timeline(request, detail, bought.rows, tried.rows)
        section.events = timeline.events
        if bought.next != nil || timeline.isCut {
            section.links = [
                ConsoleLink("Older purchases", request.link("transactions", [("account", account.email)]))
            ]
        }
        return section
    }

    /// The changes of settings, each with the operator who made it.
    private static func changes(
        _ request: PageRequest, _ account: ControlAPI.Account
    ) async throws -> ConsoleSection {
        var section = ConsoleSection(
            "changes", "Changes of settings", text: "By the machine's clock. Kept for seven days.", isLive: true)
        let entries: [ControlAPI.AuditEntry] = try await request.api.ask(.audit(subject: account.email, limit: 20))
        var table = ConsoleTable(
            "Changes by operators, the last first",
            [ConsoleColumn("When"), ConsoleColumn("Change"), ConsoleColumn("By"), ConsoleColumn("Before → after")],
            nothing: "No changes yet. Change a setting:",
            command: "cornerstore account change \(account.email.shellWord) --asks-to-buy on\(request.flag)")
        for entry in entries.filter({ $0.environment == request.environment.name }).prefix(20) {
            var time = ConsoleCell(Moments.text(entry.date))
            time.time = entry.date
            let (words, route) = SettingsPages.words(entry)
            table.add([
                time, ConsoleCell(words, note: route), ConsoleCell(entry.operatorName ?? "—"),
                ConsoleCell(SettingsPages.change(entry)),
            ])
        }
        section.table = table
        return section
    }

    private static func unfinished(_ request: PageRequest, _ detail: ControlAPI.AccountDetail) -> ConsoleSection {
        var section = ConsoleSection("unfinished", "Unfinished transactions", isLive: true)
        section.table = LedgerParts.table(
            Array(detail.unfinished.prefix(50)), request, caption: "Delivered to a device, and not yet finished there")
        section.table?.nothing = "No unfinished transactions."
        section.table?.command = nil
        return section
    }

    private static func owned(_ request: PageRequest, _ detail: ControlAPI.AccountDetail) -> ConsoleSection {
        var section = ConsoleSection("owned", "Owned", isLive: true)
        var table = ConsoleTable(
            "Products that stay with the customer",
            [ConsoleColumn("Product"), ConsoleColumn("App"), ConsoleColumn("Since")],
            nothing: "The customer owns no products. Buy one:",
            command: request.buyCommand(account: detail.account.email))
        for product in detail.owned.prefix(50) {
            table.add([
                ConsoleCell(
                    product.productId,
                    link: request.link("transactions/\(product.originalTransactionId.percentEncoded)")),
                ConsoleCell(product.bundleId), request.moments.cell(product.originalPurchaseDate),
            ])
        }
        for item in detail.items.prefix(max(0, 50 - table.rows.count)) {
            table.add([
                ConsoleCell(
                    item.name ?? item.productId, link: request.link("transactions/\(item.transactionId.percentEncoded)")
                ),
                ConsoleCell("—", tone: .dim), request.moments.cell(item.purchaseDate),
            ])
        }
        section.table = table
        return section
    }

    private static func devices(
        _ request: PageRequest, _ detail: ControlAPI.AccountDetail, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection("devices", "Devices", isLive: true)
        var table = ConsoleTable(
            "Devices that are signed in", [ConsoleColumn("Device"), ConsoleColumn("Signed in"), ConsoleColumn("Do")],
            nothing: "No device is signed in. Sign in on one:",
            command: "cornerstore restore --account \(detail.account.email.shellWord)\(request.flag)")
        for device in detail.devices.prefix(50) {
            table.add([
                ConsoleCell(device.deviceId, isID: true), request.moments.cell(device.signedInDate),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Sign out", about: "Sign out the device \(device.deviceId)",
                        action: request.action(path + "/sign-out"), hidden: [ConsoleHidden("device", device.deviceId)])
                ]),
            ])
        }
        section.table = table
        if detail.devices.count > 1 {
            section.forms = [ConsoleForm(action: request.action(path + "/sign-out"), button: "Sign out all devices")]
        }
        return section
    }

    private static func offers(
        _ request: PageRequest, _ detail: ControlAPI.AccountDetail, _ path: String
    ) async throws -> ConsoleSection {
        var section = ConsoleSection("offers", "Promotions, price increases and codes", isLive: true)
        var table = ConsoleTable(
            "Offers to the customer",
            [
                ConsoleColumn("Offer"), ConsoleColumn("Product"), ConsoleColumn("When"), ConsoleColumn("State"),
                ConsoleColumn("Do"),
            ],
            nothing: "No promoted purchases, price increases or redeemed codes. Promote a purchase:",
            command: "cornerstore promote \(request.firstProduct) --account \(detail.account.email.shellWord)"
                + request.flag)
        for promotion in detail.promotions.prefix(20) {
            table.add([
                ConsoleCell("Promoted purchase"), ConsoleCell(promotion.productId),
                request.moments.cell(promotion.createdDate), ConsoleCell("Waits for a device", tone: .warn),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Withdraw", about: "Withdraw the promotion of \(promotion.productId)",
                        action: request.action(path + "/withdraw"),
                        hidden: [ConsoleHidden("id", promotion.promotionId.uuidString)])
                ]),
            ])
        }
        for increase in detail.priceIncreases.sorted(by: { $0.askedDate > $1.askedDate }).prefix(20) {
            table.add([
                ConsoleCell("Price increase", note: "\(increase.oldPrice) → \(increase.newPrice) \(increase.currency)"),
                ConsoleCell(increase.productId), request.moments.cell(increase.askedDate),
                ConsoleCell(increase.answer ?? "Not answered", tone: increase.answer == nil ? .warn : nil),
                increase.answer == nil
                    ? ConsoleCell(buttons: [
                        ConsoleButton(
                            "Withdraw", about: "Withdraw the price increase of \(increase.productId)",
                            action: request.action(path + "/withdraw-increase"),
                            hidden: [
                                ConsoleHidden("bundle", increase.bundleId),
                                ConsoleHidden("product", increase.productId),
                            ])
                    ]) : ConsoleCell(""),
            ])
        }
        for code in detail.codes.prefix(10) {
            table.add([
                ConsoleCell("Code", note: code.code), ConsoleCell(code.productId),
                request.moments.cell(code.createdDate),
                ConsoleCell("Redeemed", tone: .good), ConsoleCell(""),
            ])
        }
        section.table = table
        section.forms = [
            ConsoleForm(
                "Promote a product", action: request.action(path + "/promote"),
                fields: [ConsoleField("product", "Product", .choice, options: productOptions(request))],
                button: "Promote", text: "The app gets the payment at once if it runs, or at its next launch.")
        ]
        let subscriptions = try await SubscriptionPages.options(request)
        guard !subscriptions.isEmpty else { return section }
        section.forms.append(
            ConsoleForm(
                "Raise a price", action: request.action(path + "/price-increase"),
                fields: [
                    ConsoleField("product", "Subscription", .choice, options: subscriptions),
                    ConsoleField("price", "New price", hint: "A decimal such as 9.99."),
                ], button: "Ask the customer"))
        return section
    }

    /// The products of all apps, or of the filter's app, as `app product`.
    static func productOptions(_ request: PageRequest, chosen: String? = nil) -> [ConsoleOption] {
        request.apps.filter { request.app == nil || $0.bundleId == request.app }.flatMap { app in
            app.productIds.map { id in
                ConsoleOption("\(app.bundleId) \(id)", id, isChosen: "\(app.bundleId) \(id)" == chosen || id == chosen)
            }
        }.prefix(500).map { $0 }
    }

    /// The app and product of a choice.
    static func product(_ action: ActionRequest) throws -> (bundle: String, product: String) {
        let parts = (action.form["product"] ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw FormProblem("product", "Choose a product.") }
        return (parts[0], parts[1])
    }

    private static func history(
        _ request: PageRequest, _ account: ControlAPI.Account, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection(
            "clear", "Clear the purchase history",
            text:
                "Deletes this tester's transactions, items and attempts, so that a test can begin again. The merchant keeps its own books."
        )
        section.forms = [
            ConsoleForm(
                action: request.action(path + "/clear"),
                fields: [ConsoleField("sure", "Yes, delete the history of \(account.email)", .tick, isRequired: true)],
                button: "Clear the history", tone: .bad)
        ]
        return section
    }

    // MARK: Changes

    private static func back(_ action: ActionRequest) -> String {
        "customers/" + action.page.parameter("account").percentEncoded
    }

    @Sendable private static func change(_ action: ActionRequest) async throws -> ActionOutcome {
        try await action.api.perform(
            .changeAccount(action.environment, email: action.page.parameter("account")),
            ControlAPI.AccountChange(
                storefront: try action.required("storefront", "Storefront"), paymentsAllowed: action.isOn("pays"),
                asksToBuy: action.isOn("asks"), locked: action.isOn("locked"),
                interruptsPurchases: action.isOn("interrupts"),
                renewalRate: action.environment == .sandbox ? action.text("rate") : nil))
        return .done(back(action), message: "Saved.")
    }

    @Sendable private static func signOut(_ action: ActionRequest) async throws -> ActionOutcome {
        let result: ControlAPI.SignedOut = try await action.api.ask(
            .signOut(
                action.environment, email: action.page.parameter("account"), device: action.text("device")))
        return .done(
            back(action), message: result.tokens == 1 ? "Signed out." : "Signed out; \(result.tokens) sessions ended.")
    }

    @Sendable private static func clear(_ action: ActionRequest) async throws -> ActionOutcome {
        guard action.isOn("sure") else { throw FormProblem("sure", "Tick the box to delete the history.") }
        let result: ControlAPI.ClearedHistory = try await action.api.ask(
            .clearHistory(action.environment, email: action.page.parameter("account")))
        return .done(
            back(action),
            message:
                "Deleted \(result.transactions) transactions, \(result.items) items and \(result.attempts) attempts.")
    }

    @Sendable private static func promote(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, product) = try product(action)
        try await action.api.perform(
            .promote(action.environment),
            ControlAPI.Promotion(bundleId: bundle, productId: product, account: action.page.parameter("account")))
        return .done(back(action), message: "Promoted \(product).")
    }

    @Sendable private static func increasePrice(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, product) = try product(action)
        try await action.api.perform(
            .increasePrice(action.environment),
            ControlAPI.NewPriceIncrease(
                bundleId: bundle, productId: product, account: action.page.parameter("account"),
                price: try action.required("price", "New price")))
        return .done(back(action), message: "The customer is asked about the new price of \(product).")
    }

    @Sendable private static func withdraw(_ action: ActionRequest) async throws -> ActionOutcome {
        guard let id = action.text("id").flatMap(UUID.init(uuidString:)) else {
            throw FormProblem("", "The form has no promotion. Load the page again.")
        }
        try await action.api.perform(
            .withdrawPromotion(action.environment, id: id, account: action.page.parameter("account")))
        return .done(back(action), message: "Withdrawn.")
    }

    @Sendable private static func withdrawIncrease(_ action: ActionRequest) async throws -> ActionOutcome {
        let product = try action.required("product", "Product")
        try await action.api.perform(
            .withdrawPriceIncrease(
                action.environment, account: action.page.parameter("account"),
                bundle: try action.required("bundle", "App"), product: product))
        return .done(back(action), message: "Withdrawn. \(product) keeps its price for the customer.")
    }
}
