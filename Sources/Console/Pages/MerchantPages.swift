import ConsolePages
import CornerstoreEncoding
import Foundation
import MerchantWire
import StoreWire

/// The merchant beside the store: products and what they give, users, the ledger, and the proof of the books.
enum MerchantPages {
    static let routes = [
        PageRoute(path: "merchant", area: .merchant, needsStore: false, topics: [.transactions], make: overview),
        PageRoute(
            path: "merchant/users/{user}", area: .merchant, needsStore: false, topics: [.transactions], make: user),
        PageRoute(
            path: "merchant/transaction", area: .merchant, needsStore: false, topics: [.transactions],
            make: transaction),
    ]

    static let actions = [
        ConsoleAction(
            path: "merchant/products/sale", routes: [.merchant(.adminProducts), .merchant(.putProduct("", ""))],
            page: "merchant", change: "change the merchant's products", perform: changeSale),
        ConsoleAction(
            path: "merchant/keys/make", routes: [.merchant(.makeAPIKey)], page: "merchant", change: "make an API key",
            perform: makeKey),
        ConsoleAction(
            path: "merchant/keys/revoke", routes: [.merchant(.revokeAPIKey(""))], page: "merchant",
            change: "revoke an API key"
        ) { action in
            let name = try action.required("name", "Name")
            try await action.api.perform(MerchantRoute.revokeAPIKey(name))
            return .done("merchant", message: "The key “\(name)” no longer opens anything.")
        },
        ConsoleAction(
            path: "merchant/check", routes: [.merchant(.checkBooks)], page: "merchant", perform: check),
        ConsoleAction(
            path: "merchant/users/{user}/adjust", routes: [.merchant(.userAdjustments(""))],
            page: "merchant/users/{user}", change: "give or take a user's credits", perform: adjust),
    ]

    @Sendable private static func overview(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Merchant")
        page.text = "The app's own server: it checks receipts, grants purchased products, and keeps the books."
        page.sections = [
            try await find(request), try await redemptions(request), try await products(request),
            try await content(request), try await keys(request), books(request),
        ]
        page.commands = [
            ConsoleCode("Products", "cornerstore merchant products list"),
            ConsoleCode("A user", "cornerstore merchant user ann"),
            ConsoleCode("The books", "cornerstore merchant check"),
            ConsoleCode("Admin API", request.merchantCurl(.adminProducts)),
        ]
        return page
    }

    private static func find(_ request: PageRequest) async throws -> ConsoleSection {
        var section = ConsoleSection("users", "Users", isLive: request.query["after"] == nil)
        let start = request.filter("start") ?? ""
        section.filter = ConsoleForm(
            action: request.action("merchant"), method: "get",
            fields: [ConsoleField("start", "Name starts with", .search, value: start)], button: "Filter", isLine: true)
        var table = ConsoleTable(
            "Users by name", [ConsoleColumn("User"), ConsoleColumn("Last redeemed")],
            nothing: start.isEmpty
                ? "No users yet. Users appear once they redeem a purchase or get credits. Give credits:"
                : "No user's name begins with this text.",
            command: start.isEmpty ? "cornerstore merchant adjust ann --give 10 --currency coins" : nil)
        let list: UserList = try await request.api.ask(
            MerchantRoute.users(startingWith: start, after: request.filter("after").map { UserID($0) }, limit: 20))
        for user in list.users.prefix(20) {
            table.add([
                ConsoleCell(user.userID.rawValue, link: request.userLink(user.userID)),
                request.machineMoments.cell(user.lastRedeemedAt.map(Moments.iso)),
            ])
        }
        table.next = list.next.map {
            request.link("merchant", [("start", start.nonEmpty), ("after", $0.rawValue)]) + "#users"
        }
        table.nextLabel = "More users"
        if request.query["after"] != nil {
            table.first = request.link("merchant", [("start", start.nonEmpty)]) + "#users"
        }
        table.firstLabel = "First users"
        section.table = table
        return section
    }

    /// The redeemed purchases of all users, and the form that finds one.
    static func redemptions(_ request: PageRequest) async throws -> ConsoleSection {
        let before = request.filter("redeemed")
        var section = ConsoleSection("redemptions", "Redeemed purchases", isLive: before == nil)
        section.filter = transactionForm(request)
        let list: RedemptionRecordList = try await request.api.ask(
            MerchantRoute.adminRedemptions(before: before, limit: 20))
        var table = MerchantParts.table(
            list.redemptions, request, caption: "Of each store, app and kind, the newest purchase first",
            nothing: list.next != nil
                ? "None of the 1,000 purchases before this place is redeemed."
                : before == nil ? "No redeemed purchases yet." : "No more redeemed purchases.")
        table.next = list.next.map { request.link("merchant", [("redeemed", $0)]) + "#redemptions" }
        table.nextLabel = "More purchases"
        if before != nil { table.first = request.link("merchant") + "#redemptions" }
        section.table = table
        return section
    }

    private static func transactionForm(_ request: PageRequest) -> ConsoleForm {
        ConsoleForm(
            action: request.action("merchant/transaction"), method: "get",
            fields: [
                ConsoleField("id", "Transaction", .search, value: request.filter("id") ?? "", isRequired: true),
                ConsoleField(
                    "original", "Original transaction, if another", .search, value: request.filter("original") ?? ""),
            ], button: "Find", isLine: true)
    }

    private static func userRedemptions(_ request: PageRequest, _ user: UserID) async throws -> ConsoleSection {
        var section = ConsoleSection("redemptions", "Redemptions", isLive: true)
        let list: RedemptionRecordList = try await request.api.ask(MerchantRoute.userRedemptions(user, limit: 20))
        section.table = MerchantParts.table(
            list.redemptions, request, caption: "Purchases that the user redeemed, newest first",
            nothing: "The user has redeemed no purchases.")
        return section
    }

    // MARK: One transaction

    @Sendable private static func transaction(_ request: PageRequest) async throws -> ConsolePage {
        let (id, original) = (request.filter("id") ?? "", request.filter("original"))
        var page = ConsolePage(id.isEmpty ? "Find a transaction" : "Transaction \(id)")
        page.trail = [ConsoleLink("Merchant", request.link("merchant"))]
        var find = ConsoleSection("find", "Find a transaction")
        find.filter = transactionForm(request)
        page.sections = [find]
        guard !id.isEmpty else { return page }
        page.sections += await MerchantParts.transaction(request, id: id, original: original, bundle: nil)
        page.commands = [
            ConsoleCode("Command", command(id, original)),
            ConsoleCode("Admin API", request.merchantCurl(.transaction(id, original: original))),
        ]
        return page
    }

    /// The command that shows a transaction in the merchant's books.
    static func command(_ id: String, _ original: String?, app: String? = nil) -> String {
        "cornerstore merchant transaction \(id.shellWord)"
            + (original.map { " --original \($0.shellWord)" } ?? "") + (app.map { " --app \($0.shellWord)" } ?? "")
    }

    private static func keys(_ request: PageRequest) async throws -> ConsoleSection {
        var section = ConsoleSection("keys", "API keys", isLive: true)
        let list: APIKeyList = try await request.api.ask(MerchantRoute.apiKeys)
        var table = ConsoleTable(
            "Keys of backends",
            [ConsoleColumn("Name"), ConsoleColumn("Scopes"), ConsoleColumn("Made"), ConsoleColumn("Do")],
            nothing: "No keys yet. Create one below, or run:",
            command: "cornerstore merchant key make backend --scope users")
        for key in request.rows(list.keys, of: &table, at: "merchant", in: "keys", by: "keys") {
            let revoke = ConsoleButton(
                "Revoke", about: "Revoke the key \(key.name)", action: request.action("merchant/keys/revoke"),
                hidden: [ConsoleHidden("name", key.name)], tone: .bad)
            table.add([
                ConsoleCell(key.name), ConsoleCell(key.scopes.joined(separator: ", ")),
                request.machineMoments.cell(Moments.iso(key.createdAt)),
                key.revokedAt == nil ? ConsoleCell(buttons: [revoke]) : ConsoleCell("Revoked", tone: .dim),
            ])
        }
        section.table = table
        section.forms = [
            ConsoleForm(
                "Make a key", action: request.action("merchant/keys/make"),
                fields: [
                    ConsoleField("name", "Name", isRequired: true),
                    ConsoleField(
                        "scopes", "Scopes", value: "users ledger", hint: scopes.joined(separator: " "), isRequired: true
                    ),
                ], button: "Make", text: "The key is shown for 30 seconds, and not again.")
        ]
        return section
    }

    /// The scopes of the admin routes.
    private static let scopes: [String] = Set(
        MerchantRoute.all.compactMap { route -> String? in
            if case .scope(let name) = route.access { return name }
            return nil
        }
    ).sorted()

    private static func products(_ request: PageRequest) async throws -> ConsoleSection {
        let list: ProductList = try await request.api.ask(MerchantRoute.adminProducts)
        let products = list.products.filter { request.app == nil || $0.bundleID.rawValue == request.app }
        var section = ConsoleSection("products", "Products", isLive: true)
        var table = ConsoleTable(
            "The merchant's products",
            [
                ConsoleColumn("Product"), ConsoleColumn("Kind"), ConsoleColumn("Gives"), ConsoleColumn("State"),
                ConsoleColumn("Do"),
            ],
            nothing: "The merchant has no products. Add them:", command: "cornerstore merchant products load FILE")
        for product in request.rows(products, of: &table, at: "merchant", in: "products", by: "from") {
            table.add([
                ConsoleCell(product.productID.rawValue, note: product.bundleID.rawValue),
                ConsoleCell(LedgerParts.kind(product.kind.rawValue)),
                ConsoleCell(product.grants.map(MerchantParts.words).joined(separator: ", ")),
                ConsoleCell(product.isOnSale ? "On sale" : "Off sale", tone: product.isOnSale ? .good : .dim),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        product.isOnSale ? "Take off sale" : "Put on sale",
                        about:
                            "\(product.isOnSale ? "Take" : "Put") \(product.productID.rawValue) \(product.isOnSale ? "off" : "on") sale",
                        action: request.action("merchant/products/sale"),
                        hidden: [
                            ConsoleHidden("bundle", product.bundleID.rawValue),
                            ConsoleHidden("product", product.productID.rawValue),
                            ConsoleHidden("sale", product.isOnSale ? "no" : "yes"),
                        ])
                ]),
            ])
        }
        section.table = table
        return section
    }

    private static func content(_ request: PageRequest) async throws -> ConsoleSection {
        let list: ContentList = try await request.api.ask(MerchantRoute.adminContent)
        var section = ConsoleSection("content", "Content", isLive: true)
        var table = ConsoleTable(
            "Files that the merchant gives",
            [
                ConsoleColumn("Item"), ConsoleColumn("Version", isNumber: true), ConsoleColumn("Type"),
                ConsoleColumn("Size", isNumber: true), ConsoleColumn("Since"),
            ],
            nothing: "No files yet. Add one:", command: "cornerstore merchant content put ITEM FILE"
        )
        for item in request.rows(list.items, of: &table, at: "merchant", in: "content", by: "content") {
            table.add([
                ConsoleCell(item.item.rawValue), ConsoleCell("\(item.version)"), ConsoleCell(item.mediaType),
                ConsoleCell("\(item.size) bytes"), request.machineMoments.cell(Moments.iso(item.createdAt)),
            ])
        }
        section.table = table
        return section
    }

    private static func books(_ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection(
            "books", "Proof of the books", text: "Adds up every entry, and compares the sums with the balances.")
        section.forms = [ConsoleForm(action: request.action("merchant/check"), button: "Check the books")]
        return section
    }

    // MARK: One user

    @Sendable private static func user(_ request: PageRequest) async throws -> ConsolePage {
        let id = UserID(request.parameter("user"))
        let report: UserReport = try await request.api.ask(MerchantRoute.user(id))
        var page = ConsolePage("User \(id.rawValue)")
        page.trail = [ConsoleLink("Merchant", request.link("merchant"))]
        var summary = ConsoleSection("summary", "Balances", isLive: true)
        summary.numbers = report.balances.prefix(50).map {
            ConsoleNumber(
                $0.currency.rawValue, "\($0.amount)",
                link: request.link(
                    "merchant/users/\(id.rawValue.percentEncoded)",
                    [("currency", $0.currency.rawValue), ("of", $0.environment.name)]) + "#ledger",
                note: $0.environment.rawValue, tone: $0.amount < 0 ? .bad : nil)
        }
        if report.balances.isEmpty { summary.text = "This user has no credits, and never had any." }
        page.sections = [
            summary, rights(request, report), try await userRedemptions(request, id), flags(request, report),
        ]
        let currency = request.filter("currency") ?? report.balances.first?.currency.rawValue
        if let currency {
            let environment =
                request.filter("of").flatMap(StoreEnvironment.init(name:))
                ?? report.balances.first { $0.currency.rawValue == currency }?.environment
            page.sections.append(try await ledger(request, id, CurrencyID(currency), environment))
        }
        page.sections.append(adjustment(request, id, currency))
        page.commands = [
            ConsoleCode("The user", "cornerstore merchant user \(id.rawValue.shellWord)"),
            ConsoleCode(
                "Give",
                "cornerstore merchant adjust \(id.rawValue.shellWord) --give 10 --currency \((currency ?? "coins").shellWord)"
            ),
            ConsoleCode("Admin API", request.merchantCurl(.user(id))),
        ]
        return page
    }

    private static func rights(_ request: PageRequest, _ report: UserReport) -> ConsoleSection {
        var section = ConsoleSection("rights", "Rights", isLive: true)
        var table = ConsoleTable(
            "The user's rights",
            [ConsoleColumn("Right"), ConsoleColumn("Product"), ConsoleColumn("State"), ConsoleColumn("Ends")],
            nothing: "The user has no rights.")
        for right in report.entitlements.prefix(50) {
            table.add([
                ConsoleCell(
                    right.entitlement?.rawValue ?? right.content?.rawValue ?? "—", note: right.environment.rawValue),
                ConsoleCell(right.productID.rawValue),
                ConsoleCell(right.state.rawValue, tone: right.isUsable ? .good : .bad),
                request.moments.cell(right.expiresAt.map(Moments.iso)),
            ])
        }
        section.table = table
        return section
    }

    private static func flags(_ request: PageRequest, _ report: UserReport) -> ConsoleSection {
        var section = ConsoleSection("flags", "Flags", isLive: true)
        var table = ConsoleTable(
            "The user's flags", [ConsoleColumn("Flag"), ConsoleColumn("Detail"), ConsoleColumn("When")],
            nothing: "No flags.")
        for flag in report.flags.prefix(50) {
            table.add([
                ConsoleCell(flag.code, tone: .warn), ConsoleCell(flag.detail),
                request.machineMoments.cell(Moments.iso(flag.createdAt)),
            ])
        }
        section.table = table
        return section
    }

    private static func ledger(
        _ request: PageRequest, _ id: UserID, _ currency: CurrencyID, _ environment: StoreEnvironment?
    ) async throws -> ConsoleSection {
        let history: HistoryPage = try await request.api.ask(
            MerchantRoute.userHistory(
                id, currency, before: request.filter("before").flatMap { Int64($0) }, in: environment))
        var section = ConsoleSection("ledger", "Ledger of \(currency.rawValue)", isLive: request.query["before"] == nil)
        var table = ConsoleTable(
            "Entries, newest first",
            [
                ConsoleColumn("When"), ConsoleColumn("Entry"), ConsoleColumn("Amount", isNumber: true),
                ConsoleColumn("Balance", isNumber: true), ConsoleColumn("Why"),
            ],
            nothing: "No entries yet. Give credits:",
            command: "cornerstore merchant adjust \(id.rawValue.shellWord) --give 10 --currency "
                + currency.rawValue.shellWord)
        for entry in history.entries.prefix(50) {
            table.add([
                request.machineMoments.cell(Moments.iso(entry.createdAt)),
                ConsoleCell(entry.kind.rawValue, note: "#\(entry.entry)"),
                ConsoleCell(entry.amount > 0 ? "+\(entry.amount)" : "\(entry.amount)"), ConsoleCell("\(entry.balance)"),
                ConsoleCell(entry.note ?? entry.reference ?? "—"),
            ])
        }
        if let next = history.entries.count > 50 ? history.entries[49].entry : history.next {
            table.next =
                request.link(
                    "merchant/users/\(id.rawValue.percentEncoded)",
                    [("currency", currency.rawValue), ("of", environment?.name), ("before", "\(next)")]) + "#ledger"
        }
        if request.query["before"] != nil {
            table.first =
                request.link(
                    "merchant/users/\(id.rawValue.percentEncoded)",
                    [("currency", currency.rawValue), ("of", environment?.name)]) + "#ledger"
        }
        section.table = table
        return section
    }

    private static func adjustment(_ request: PageRequest, _ id: UserID, _ currency: String?) -> ConsoleSection {
        var section = ConsoleSection("adjust", "Give or take")
        section.forms = [
            ConsoleForm(
                action: request.action("merchant/users/\(id.rawValue.percentEncoded)/adjust"),
                fields: [
                    ConsoleField("currency", "Currency", value: currency ?? "", isRequired: true),
                    ConsoleField("amount", "Amount", .number, hint: "Negative to take.", isRequired: true),
                    ConsoleField("note", "Note", hint: "The user's ledger shows it."),
                ], hidden: [ConsoleHidden("key", UUID().uuidString.lowercased())], button: "Change the balance")
        ]
        return section
    }

    // MARK: Changes

    @Sendable private static func changeSale(_ action: ActionRequest) async throws -> ActionOutcome {
        let list: ProductList = try await action.api.ask(MerchantRoute.adminProducts)
        let (bundle, id) = (action.form["bundle"] ?? "", action.form["product"] ?? "")
        guard
            var product = list.products.first(where: { $0.bundleID.rawValue == bundle && $0.productID.rawValue == id })
        else { throw FormProblem("", "The merchant no longer has this product. Load the page again.") }
        product.isOnSale = action.form["sale"] == "yes"
        let _: MerchantProduct = try await action.api.send(
            MerchantRoute.putProduct(product.bundleID, product.productID), product)
        return .done("merchant", message: "\(id) is \(product.isOnSale ? "on" : "off") sale.")
    }

    @Sendable private static func makeKey(_ action: ActionRequest) async throws -> ActionOutcome {
        let made: MadeAPIKey = try await action.api.send(
            MerchantRoute.makeAPIKey,
            APIKeyRequest(
                name: try action.required("name", "Name"),
                scopes: try action.required("scopes", "Scopes").split { " ,".contains($0) }.map(String.init)))
        var page = ConsolePage("The key \(made.name)")
        page.message = "Copy the key now. It is shown for 30 seconds, and not again."
        page.leave = action.page.link("merchant")
        page.trail = [ConsoleLink("Merchant", action.page.link("merchant"))]
        var section = ConsoleSection("key", "API key")
        section.facts = [
            ConsoleFact("Key", made.key, isID: true), ConsoleFact("Scopes", made.scopes.joined(separator: ", ")),
        ]
        page.sections = [section]
        return .page(page)
    }

    @Sendable private static func check(_ action: ActionRequest) async throws -> ActionOutcome {
        let report: BooksReport = try await action.api.ask(MerchantRoute.checkBooks)
        var page = ConsolePage(report.balances ? "The books balance" : "The books do not balance")
        page.trail = [ConsoleLink("Merchant", action.page.link("merchant"))]
        var section = ConsoleSection("proof", "Proof")
        section.numbers = [
            ConsoleNumber("Accounts", "\(report.accounts)"), ConsoleNumber("Entries", "\(report.entries)"),
            ConsoleNumber("Findings", "\(report.findings.count)", tone: report.balances ? .good : .bad),
        ]
        section.facts =
            report.outstanding.prefix(50).map {
                ConsoleFact("Outstanding \($0.currency.rawValue)", "\($0.amount)", note: $0.environment.rawValue)
            } + report.findings.prefix(50).map { ConsoleFact("Finding", $0, tone: .bad) }
        page.sections = [section]
        page.commands = [ConsoleCode("Command", "cornerstore merchant check")]
        return .page(page)
    }

    @Sendable private static func adjust(_ action: ActionRequest) async throws -> ActionOutcome {
        let user = UserID(action.page.parameter("user"))
        guard let amount = action.text("amount").flatMap({ Int64($0) }), amount != 0 else {
            throw FormProblem("amount", "“Amount” must be a whole number other than 0.")
        }
        let answer: LedgerEntry = try await action.api.send(
            MerchantRoute.userAdjustments(user),
            AdjustmentRequest(
                key: try action.required("key", "Key"),
                currency: CurrencyID(try action.required("currency", "Currency")),
                amount: amount, note: action.text("note"), environment: action.environment))
        return .done(
            "merchant/users/\(user.rawValue.percentEncoded)",
            message: "\(amount > 0 ? "Gave \(amount)" : "Took \(-amount)"). The balance is \(answer.balance).")
    }
}
