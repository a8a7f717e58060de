import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The subscription groups, who subscribes now, one subscriber's periods, price increases and codes.
enum SubscriptionPages {
    static let routes = [
        PageRoute(
            path: "subscriptions", area: .subscriptions, topics: [.transactions, .offers, .catalog, .clock], make: list),
        PageRoute(
            path: "subscriptions/{account}", area: .subscriptions,
            topics: [.transactions, .offers, .accounts, .clock], make: one),
    ]

    static let actions = [
        ConsoleAction(
            path: "subscriptions/price-increase", routes: [.control(.increasePrice(.sandbox))], page: "subscriptions",
            change: "raise a price", perform: increasePrice),
        ConsoleAction(
            path: "subscriptions/withdraw-increase",
            routes: [.control(.withdrawPriceIncrease(.sandbox, account: "", bundle: "", product: ""))],
            page: "subscriptions", change: "withdraw a price increase", perform: withdrawIncrease),
        ConsoleAction(
            path: "subscriptions/{account}/renewal", routes: [.control(.changeSubscription(.sandbox, id: ""))],
            page: "subscriptions/{account}", change: "turn auto-renew off or on", perform: setAutoRenew),
        ConsoleAction(
            path: "subscriptions/{account}/event",
            routes: Set(
                SubscriptionAction.allCases.map { .control(.actOnSubscription(.sandbox, id: "", $0)) }
                    + [.control(.changeSubscription(.sandbox, id: ""))]),
            page: "subscriptions/{account}", change: "change a subscription", perform: act),
        ConsoleAction(
            path: "subscriptions/grace",
            routes: [.control(.setGracePeriod(bundle: "")), .control(.removeGracePeriod(bundle: ""))],
            page: "subscriptions", change: "change an app's grace period", perform: setGrace),
        ConsoleAction(
            path: "subscriptions/code", routes: [.control(.addCode(.sandbox))], page: "subscriptions",
            change: "make a code", perform: addCode),
        ConsoleAction(
            path: "subscriptions/withdraw-code", routes: [.control(.withdrawCode(.sandbox, code: ""))],
            page: "subscriptions", change: "withdraw a code", perform: withdrawCode),
    ]

    /// The most apps whose groups are on the page without a filter.
    private static let mostApps = 10

    private static func details(
        _ apps: [ControlAPI.App], _ request: PageRequest
    ) async throws -> [ControlAPI.CatalogApp] {
        var details: [ControlAPI.CatalogApp] = []
        for app in apps.prefix(mostApps) { details.append(try await request.api.ask(.app(bundle: app.bundleId))) }
        return details
    }

    /// The auto-renewable subscriptions of all apps, or of the filter's app, as `app product`.
    static func options(_ request: PageRequest) async throws -> [ConsoleOption] {
        try await request.memory.value("subscriptions \(request.app ?? "")") {
            let apps = request.apps.filter { $0.isInCatalog && (request.app == nil || $0.bundleId == request.app) }
            return options(try await details(apps, request))
        }
    }

    /// The first subscription as a word of a command.
    private static func subscription(_ apps: [ControlAPI.CatalogApp]) -> String {
        options(apps).first?.label.shellWord ?? "SUBSCRIPTION"
    }

    private static func options(_ apps: [ControlAPI.CatalogApp]) -> [ConsoleOption] {
        apps.flatMap { app in
            app.products.filter { $0.subscription != nil }.map {
                ConsoleOption("\(app.bundleId) \($0.productId)", $0.productId)
            }
        }.prefix(500).map { $0 }
    }

    // MARK: The list

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Subscriptions")
        page.text = "Subscriptions renew by the store's clock. Move it to see renewals, failed payments and the end."
        let known = request.apps.filter { request.app == nil ? $0.isInCatalog : $0.bundleId == request.app }
        let apps = try await details(known, request)
        page.sections = [try await subscribers(request, apps)]
        page.sections += groups(request, apps)
        if let grace = grace(request, known) { page.sections.append(grace) }
        if known.count > mostApps {
            var more = ConsoleSection("more", "More apps")
            more.links = known.dropFirst(mostApps).prefix(200).map {
                ConsoleLink($0.bundleId, request.link("subscriptions", [("app", $0.bundleId)], keepsApp: false))
            }
            page.sections.append(more)
        }
        page.sections += [
            try await increases(request, apps), try await OfferCodePages.section(request, apps),
            try await codes(request, apps),
        ]
        page.commands = [
            ConsoleCode("Subscribers", "cornerstore subscription list\(request.flag)"),
            ConsoleCode("Price increases", "cornerstore price-increase list\(request.flag)"),
            ConsoleCode("Codes", "cornerstore code list\(request.flag)"),
            ConsoleCode("Offer codes", "cornerstore offer-code list\(request.flag)"),
            ConsoleCode("Control port", request.curl(.subscribers(request.environment))),
        ]
        return page
    }

    private static func subscribers(
        _ request: PageRequest, _ apps: [ControlAPI.CatalogApp]
    ) async throws -> ConsoleSection {
        let (group, product) = (request.filter("group"), request.filter("product"))
        let before = request.filter("before")
        let found: ControlAPI.Page<ControlAPI.Subscriber> = try await request.api.ask(
            .subscribers(
                request.environment, SubscriberFilter(bundle: request.app, group: group, product: product),
                before: before, limit: 50))
        var section = ConsoleSection("subscribers", "Current subscribers", isLive: before == nil)
        section.filter = ConsoleForm(
            action: request.action("subscriptions"), method: "get",
            fields: [
                ConsoleField("product", "Product id", .search, value: product ?? ""),
                ConsoleField("group", "Group", .search, value: group ?? ""),
            ], hidden: request.app.map { [ConsoleHidden("app", $0)] } ?? [], button: "Filter", isLine: true)
        var table = ConsoleTable(
            "Current periods, the newest first",
            [
                ConsoleColumn("Customer"), ConsoleColumn("Product"), ConsoleColumn("Since"), ConsoleColumn("Ends"),
                ConsoleColumn("Paid", isNumber: true),
            ],
            nothing: found.next == nil
                ? "No current periods. Buy a subscription:" : "None among the last 20,000 transactions.",
            command: found.next == nil ? request.buyCommand(subscription(apps)) : nil)
        for row in found.rows.prefix(50) {
            table.add([
                ConsoleCell(
                    row.account ?? LedgerParts.short(row.accountId),
                    link: request.link("subscriptions/\(row.accountId.percentEncoded)")),
                ConsoleCell(row.productId, note: row.groupId.map { "group \($0)" }),
                request.moments.cell(
                    row.purchaseDate, link: request.link("transactions/\(row.transactionId.percentEncoded)")),
                request.moments.cell(row.expiresDate),
                ConsoleCell("\(row.price) \(row.currency)", note: row.offer),
            ])
        }
        table.next = found.next.map {
            request.link("subscriptions", [("before", $0), ("group", group), ("product", product)])
        }
        table.nextLabel = found.rows.isEmpty ? "Look further" : "Older"
        if before != nil { table.first = request.link("subscriptions", [("group", group), ("product", product)]) }
        section.table = table
        return section
    }

    // MARK: Groups

    private static func groups(_ request: PageRequest, _ apps: [ControlAPI.CatalogApp]) -> [ConsoleSection] {
        let sections = apps.enumerated().compactMap { index, app in
            app.products.contains { $0.subscription != nil } || !app.groups.isEmpty
                ? section(request, app, "groups-\(index)") : nil
        }
        guard sections.isEmpty else { return sections }
        var empty = ConsoleSection("groups-0", "Groups", isLive: true)
        empty.table = ConsoleTable(
            "Groups", [], nothing: "No subscription groups yet. Create one:",
            command: "cornerstore app group 21000001 --name Club --app com.example.app")
        return [empty]
    }

    private static func section(
        _ request: PageRequest, _ app: ControlAPI.CatalogApp, _ id: String
    ) -> ConsoleSection {
        var section = ConsoleSection(id, "Groups of \(app.name ?? app.bundleId)", isLive: true)
        var table = ConsoleTable(
            "Products by group and level; level 1 is the highest",
            [
                ConsoleColumn("Group"), ConsoleColumn("Level", isNumber: true), ConsoleColumn("Product"),
                ConsoleColumn("Period"), ConsoleColumn("Price", isNumber: true), ConsoleColumn("Offers"),
            ], nothing: "The groups have no products yet.")
        let subscriptions = app.products.compactMap { product in product.subscription.map { (product, $0) } }
            .sorted { ($0.1.groupId, $0.1.level, $0.0.productId) < ($1.1.groupId, $1.1.level, $1.0.productId) }
        for (product, subscription) in subscriptions.prefix(50) {
            let group = app.groups.first { $0.id == subscription.groupId }
            let price = product.prices.first { $0.storefront == app.storefront }
            let kinds = Dictionary(grouping: subscription.offers, by: \.kind).sorted { $0.key < $1.key }
            let path = "products/\(app.bundleId.percentEncoded)/\(product.productId.percentEncoded)"
            table.add([
                ConsoleCell(
                    group?.name ?? subscription.groupId,
                    link: request.link("subscriptions", [("group", subscription.groupId)]),
                    note: group == nil ? nil : subscription.groupId),
                ConsoleCell("\(subscription.level)"), ConsoleCell(product.productId, link: request.link(path)),
                ConsoleCell(subscription.period),
                ConsoleCell(price.map { "\($0.price) \($0.currency)" } ?? "—"),
                ConsoleCell(
                    kinds.isEmpty ? "—" : kinds.map { "\($0.value.count) \($0.key)" }.joined(separator: ", ")),
            ])
        }
        section.table = table
        if subscriptions.count > 50 { section.text = "The first 50 of \(subscriptions.count) products." }
        return section
    }

    // MARK: Price increases

    private static func increases(
        _ request: PageRequest, _ apps: [ControlAPI.CatalogApp]
    ) async throws -> ConsoleSection {
        let found: [ControlAPI.PriceIncrease] = try await request.api.ask(.priceIncreases(request.environment))
        let shown = found.filter { request.app == nil || $0.bundleId == request.app }
        var section = ConsoleSection("increases", "Price increases", isLive: true)
        section.table = increaseTable(request, shown, at: "subscriptions")
        section.table?.command =
            "cornerstore price-increase add \(subscription(apps)) 9.99 --account anna@example.com\(request.flag)"
        let options = options(apps)
        guard !options.isEmpty else { return section }
        section.forms = [
            ConsoleForm(
                "Raise a price", action: request.action("subscriptions/price-increase"),
                fields: [
                    ConsoleField(
                        "account", "Customer", hint: "A current subscriber's address or id.", isRequired: true),
                    ConsoleField("product", "Subscription", .choice, options: options),
                    ConsoleField("price", "New price", hint: "A decimal such as 9.99.", isRequired: true),
                ], button: "Ask the customer",
                text: "The device asks at the app's next launch. The first answer is final.")
        ]
        return section
    }

    private static func increaseTable(
        _ request: PageRequest, _ found: [ControlAPI.PriceIncrease], at path: String
    ) -> ConsoleTable {
        var table = ConsoleTable(
            "Price increases, the last asked first",
            [
                ConsoleColumn("Product"), ConsoleColumn("Customer"), ConsoleColumn("Price"), ConsoleColumn("Asked"),
                ConsoleColumn("Answer"), ConsoleColumn("Do"),
            ], nothing: "No price increases.")
        let newest = found.sorted { $0.askedDate > $1.askedDate }
        for increase in request.rows(newest, of: &table, at: path, in: "increases", by: "increases") {
            let account = increase.account ?? increase.accountId
            var action = ConsoleCell("—", tone: .dim)
            if increase.answer == nil {
                action = ConsoleCell(buttons: [
                    ConsoleButton(
                        "Withdraw", about: "Withdraw the price increase of \(increase.productId) for \(account)",
                        action: request.action("subscriptions/withdraw-increase"),
                        hidden: [
                            ConsoleHidden("account", increase.accountId), ConsoleHidden("bundle", increase.bundleId),
                            ConsoleHidden("product", increase.productId),
                        ])
                ])
            }
            table.add([
                ConsoleCell(increase.productId),
                ConsoleCell(
                    increase.account ?? LedgerParts.short(increase.accountId),
                    link: request.link("subscriptions/\(increase.accountId.percentEncoded)")),
                ConsoleCell("\(increase.oldPrice) → \(increase.newPrice) \(increase.currency)"),
                request.moments.cell(increase.askedDate),
                ConsoleCell(increase.answer ?? "Not answered", tone: increase.answer == nil ? .warn : nil), action,
            ])
        }
        return table
    }

    @Sendable private static func increasePrice(_ action: ActionRequest) async throws -> ActionOutcome {
        let account = try action.required("account", "Customer")
        let (bundle, product) = try CustomerPages.product(action)
        let increase: ControlAPI.PriceIncrease = try await action.api.send(
            .increasePrice(action.environment),
            ControlAPI.NewPriceIncrease(
                bundleId: bundle, productId: product, account: account,
                price: try action.required("price", "New price")))
        return .done(
            "subscriptions",
            message: "\(account) is asked about \(increase.newPrice) \(increase.currency) for \(product).")
    }

    @Sendable private static func withdrawIncrease(_ action: ActionRequest) async throws -> ActionOutcome {
        let product = try action.required("product", "Product")
        try await action.api.perform(
            .withdrawPriceIncrease(
                action.environment, account: try action.required("account", "Customer"),
                bundle: try action.required("bundle", "App"), product: product))
        return .done("subscriptions", message: "Withdrawn. \(product) keeps its price for the customer.")
    }

    @Sendable private static func setAutoRenew(_ action: ActionRequest) async throws -> ActionOutcome {
        let willRenew = try action.required("renews", "Auto-renew") == "true"
        let changed: ControlAPI.Subscription = try await action.api.send(
            .changeSubscription(action.environment, id: try action.required("id", "Subscription")),
            ControlAPI.SubscriptionChange(willRenew: willRenew))
        let end = Moments.text(changed.expiresDate)
        return .done(
            "subscriptions/\(action.page.parameter("account").percentEncoded)",
            message: willRenew
                ? "Auto-renew is on. \(changed.renewalProductId) renews at the end of its period, \(end)."
                : changed.state == .active
                    ? "Auto-renew is off. \(changed.productId) ends with its period, \(end)."
                    : "Auto-renew is off. The payment was overdue, so \(changed.productId) has ended.")
    }

    // MARK: Codes

    private static func codes(
        _ request: PageRequest, _ apps: [ControlAPI.CatalogApp]
    ) async throws -> ConsoleSection {
        let all: [ControlAPI.Code] = try await request.api.ask(.codes(request.environment))
        let found = all.filter { request.app == nil || $0.bundleId == request.app }
        let from = request.offset("codes", in: found.count)
        var section = ConsoleSection(
            "codes", "Codes", text: "A code gives a product once, without charge.", isLive: from == 0)
        var table = ConsoleTable(
            "Codes, the newest first",
            [
                ConsoleColumn("Code"), ConsoleColumn("Product"), ConsoleColumn("Made"), ConsoleColumn("State"),
                ConsoleColumn("Do"),
            ], nothing: "No codes yet. Create the first one:", command: firstCode(request, apps))
        for code in found.dropFirst(from).prefix(50) {
            var (state, action) = (ConsoleCell("Not redeemed", tone: .warn), ConsoleCell("—", tone: .dim))
            if let transaction = code.transactionId {
                let link = request.link("transactions/\(transaction.percentEncoded)")
                state = ConsoleCell("Redeemed", link: link, tone: .good)
            } else {
                action = ConsoleCell(buttons: [
                    ConsoleButton(
                        "Withdraw", about: "Withdraw the code \(code.code)",
                        action: request.action("subscriptions/withdraw-code"),
                        hidden: [ConsoleHidden("code", code.code)])
                ])
            }
            table.add([
                ConsoleCell(code.code, isID: true), ConsoleCell(code.productId),
                request.moments.cell(code.createdDate), state, action,
            ])
        }
        if found.count > from + 50 {
            table.next = request.link("subscriptions", [("codes", "\(from + 50)")]) + "#codes"
        }
        if from > 0 { table.first = request.link("subscriptions") + "#codes" }
        section.table = table
        let options = codeProducts(apps).map { ConsoleOption("\($0.bundle) \($0.product)", $0.product) }
        guard !options.isEmpty else { return section }
        section.forms = [
            ConsoleForm(
                "Make a code", action: request.action("subscriptions/code"),
                fields: [ConsoleField("product", "Product", .choice, options: Array(options.prefix(500)))],
                button: "Make a code", text: "Auto-renewable subscriptions have offers instead.")
        ]
        return section
    }

    /// The products that a code can give.
    private static func codeProducts(_ apps: [ControlAPI.CatalogApp]) -> [(bundle: String, product: String)] {
        apps.flatMap { app in
            app.products.filter { $0.subscription == nil }.map { (bundle: app.bundleId, product: $0.productId) }
        }
    }

    private static func firstCode(_ request: PageRequest, _ apps: [ControlAPI.CatalogApp]) -> String {
        guard let first = codeProducts(apps).first else { return "cornerstore code add PRODUCT\(request.flag)" }
        return "cornerstore code add \(first.product.shellWord) --app \(first.bundle.shellWord)\(request.flag)"
    }

    @Sendable private static func addCode(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, product) = try CustomerPages.product(action)
        let code: ControlAPI.Code = try await action.api.send(
            .addCode(action.environment), ControlAPI.NewCode(bundleId: bundle, productId: product))
        return .done("subscriptions", message: "\(code.code) gives \(product) once.")
    }

    @Sendable private static func withdrawCode(_ action: ActionRequest) async throws -> ActionOutcome {
        let code = try action.required("code", "Code")
        try await action.api.perform(.withdrawCode(action.environment, code: code))
        return .done("subscriptions", message: "Withdrawn. \(code) gives nothing any more.")
    }

    // MARK: One subscriber

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let detail: ControlAPI.AccountDetail = try await request.api.ask(
            .account(request.environment, email: request.parameter("account")))
        let account = detail.account
        let before = request.filter("before")
        let found: ControlAPI.Page<ControlAPI.SubscriptionPeriod> = try await request.api.ask(
            .subscriptionPeriods(request.environment, email: account.accountId, before: before, limit: 50))
        var page = ConsolePage("Subscriptions of \(account.email)")
        page.trail = [ConsoleLink("Subscriptions", request.link("subscriptions"))]
        let path = "subscriptions/\(account.accountId.percentEncoded)"
        var section = ConsoleSection("periods", "Periods and changes of plan", isLive: before == nil)
        section.links = [
            ConsoleLink("The customer", request.link("customers/\(account.email.percentEncoded)")),
            ConsoleLink("Buy as this customer", request.link("buy", [("account", account.email)])),
        ]
        var table = ConsoleTable(
            "Periods, the newest first",
            [
                ConsoleColumn("Product"), ConsoleColumn("From"), ConsoleColumn("Until"), ConsoleColumn("State"),
                ConsoleColumn("Change"), ConsoleColumn("Paid", isNumber: true),
            ], nothing: "The customer has no subscription periods. Buy one:",
            command: request.buyCommand("SUBSCRIPTION", account: account.email))
        for period in found.rows.prefix(50) {
            table.add([
                ConsoleCell(
                    period.productId, link: request.link("transactions/\(period.transactionId.percentEncoded)"),
                    note: period.groupId.map { "group \($0)" }),
                request.moments.cell(period.purchaseDate),
                request.moments.cell(period.revocationDate ?? period.replacedDate ?? period.expiresDate),
                state(period.state),
                ConsoleCell(words(period.step), note: period.previousProductId.map { "from \($0)" }),
                ConsoleCell("\(period.price) \(period.currency)", note: period.offer),
            ])
        }
        table.next = found.next.map { request.link(path, [("before", $0)]) }
        if before != nil { table.first = request.link(path) }
        section.table = table
        let states: [ControlAPI.Subscription] = try await request.api.ask(
            .subscriptions(request.environment, account: account.accountId))
        var increases = ConsoleSection("increases", "Price increases", isLive: true)
        increases.table = increaseTable(request, detail.priceIncreases, at: path)
        increases.table?.command =
            "cornerstore price-increase add SUBSCRIPTION 9.99 --account \(account.email.shellWord)\(request.flag)"
        page.sections = [current(request, states, account), section, news(request, states), increases]
        if let events = events(request, states, account) { page.sections.insert(events, at: 1) }
        page.commands = [
            ConsoleCode("State and news", "cornerstore subscription state \(account.email.shellWord)\(request.flag)"),
            ConsoleCode("Periods", "cornerstore subscription show \(account.email.shellWord)\(request.flag)"),
            ConsoleCode("Auto-renew off", "cornerstore subscription cancel \(account.email.shellWord)\(request.flag)"),
            ConsoleCode("Try a payment", "cornerstore subscription recover \(account.email.shellWord)\(request.flag)"),
            ConsoleCode(
                "Price increases", "cornerstore price-increase list --account \(account.email.shellWord)\(request.flag)"
            ),
            ConsoleCode(
                "Control port", request.curl(.subscriptionPeriods(request.environment, email: account.email))),
        ]
        return page
    }

    private static func current(
        _ request: PageRequest, _ states: [ControlAPI.Subscription], _ account: ControlAPI.Account
    ) -> ConsoleSection {
        var section = ConsoleSection("state", "Subscriptions", isLive: true)
        var table = ConsoleTable(
            "By group",
            [
                ConsoleColumn("Product"), ConsoleColumn("State"), ConsoleColumn("Period ends"),
                ConsoleColumn("Next"), ConsoleColumn("Do"),
            ], nothing: "The customer has no subscriptions. Buy one:",
            command: request.buyCommand("SUBSCRIPTION", account: account.email))
        for subscription in states.prefix(50) {
            table.add([
                ConsoleCell(
                    subscription.productId,
                    link: request.link("transactions/\(subscription.transactionId.percentEncoded)"),
                    note: "group \(subscription.groupId)"
                        + (subscription.sharedBy == nil ? "" : ", shared by the family")),
                state(subscription), request.moments.cell(subscription.expiresDate),
                next(subscription, request), button(subscription, request, account),
            ])
        }
        section.table = table
        return section
    }

    private static func next(_ subscription: ControlAPI.Subscription, _ request: PageRequest) -> ConsoleCell {
        guard let date = subscription.dueDate else { return ConsoleCell("—", tone: .dim) }
        var cell = request.moments.cell(date)
        let isOverdue = subscription.state == .gracePeriod || subscription.state == .billingRetry
        cell.note =
            isOverdue
            ? "tries to charge again" : subscription.willRenew ? "renews as \(subscription.renewalProductId)" : "ends"
        return cell
    }

    private static func button(
        _ subscription: ControlAPI.Subscription, _ request: PageRequest, _ account: ControlAPI.Account
    ) -> ConsoleCell {
        guard subscription.willRenew || subscription.state == .active, subscription.sharedBy == nil else {
            return ConsoleCell("—", tone: .dim)
        }
        let words = subscription.willRenew ? "Turn auto-renew off" : "Turn auto-renew on"
        return ConsoleCell(buttons: [
            ConsoleButton(
                words, about: "\(words) for \(subscription.productId) of \(account.email)",
                action: request.action("subscriptions/\(account.accountId.percentEncoded)/renewal"),
                hidden: [
                    ConsoleHidden("id", subscription.originalTransactionId),
                    ConsoleHidden("renews", "\(!subscription.willRenew)"),
                ])
        ])
    }

    private static func state(_ subscription: ControlAPI.Subscription) -> ConsoleCell {
        switch subscription.state {
        case .active: ConsoleCell("Active", tone: .good)
        case .gracePeriod:
            ConsoleCell(
                "Grace period", note: subscription.gracePeriodExpiresDate.map { "until \(Moments.text($0))" },
                tone: .warn)
        case .billingRetry: ConsoleCell("Billing retry", note: "no access", tone: .warn)
        case .expired: ConsoleCell("Expired", note: subscription.expirationIntent.map(reason), tone: .dim)
        case .revoked:
            ConsoleCell(subscription.sharedBy == nil ? "Refunded" : "Refunded or not shared any longer", tone: .bad)
        }
    }

    /// Apple's `expirationIntent` in words.
    private static func reason(_ intent: Int64) -> String {
        switch intent {
        case 1: "auto-renew was off"
        case 2: "the payment failed"
        case 3: "the customer did not agree to the price"
        case 4: "the product is not for sale"
        default: "another reason"
        }
    }

    private static func news(_ request: PageRequest, _ states: [ControlAPI.Subscription]) -> ConsoleSection {
        var section = ConsoleSection("news", "Events", isLive: true)
        var table = ConsoleTable(
            "In the words of App Store Server Notifications, the last 20 of each subscription",
            [ConsoleColumn("When"), ConsoleColumn("Type"), ConsoleColumn("Subtype")],
            nothing: "No events.")
        for news in states.flatMap(\.news).sorted(by: { $0.date > $1.date }).prefix(50) {
            table.add([
                request.moments.cell(
                    news.date, link: request.link("transactions/\(news.transactionId.percentEncoded)")),
                ConsoleCell(news.type), ConsoleCell(news.subtype ?? "—"),
            ])
        }
        section.table = table
        return section
    }

    private static func state(_ state: ControlAPI.SubscriptionPeriod.State) -> ConsoleCell {
        switch state {
        case .current: ConsoleCell("Current", tone: .good)
        case .ended: ConsoleCell("Ended", tone: .dim)
        case .refunded: ConsoleCell("Refunded", tone: .bad)
        case .replaced: ConsoleCell("Replaced", tone: .dim)
        }
    }

    private static func words(_ step: ControlAPI.SubscriptionPeriod.Step) -> String {
        switch step {
        case .first: "First period"
        case .again: "Renewed"
        case .returned: "Came back"
        case .upgrade: "Upgrade"
        case .downgrade: "Downgrade"
        case .crossgrade: "Crossgrade"
        }
    }
}
