import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The products of the catalog files: the list with its problems, and one product.
enum ProductPages {
    static let routes = [
        PageRoute(path: "products", area: .products, topics: [.catalog], make: list),
        PageRoute(
            path: "products/{bundle}/{product}", area: .products, topics: [.catalog, .content, .transactions], make: one
        ),
    ]

    /// The largest number of products on the page of an app.
    private static let most = 50

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Products")
        page.text = "The catalog files are the truth; the store reloads a file when it changes."
        var managed = ConsoleSection("managed", "Managed apps")
        managed.text = "The store itself keeps the products of managed apps: with drafts, review and a history."
        managed.links = [ConsoleLink("Create and change products", request.link("managed"))]
        let state: ControlAPI.CatalogState = try await request.api.ask(.catalog)
        page.sections.append(catalog(request, state))
        let storefront = request.filter("storefront")?.uppercased()
        let from = request.offset("from")
        let apps = request.apps.filter { request.app == nil ? $0.isInCatalog : $0.bundleId == request.app }
        for app in apps.prefix(request.app == nil ? 10 : 1) {
            let detail: ControlAPI.CatalogApp = try await request.api.ask(.app(bundle: app.bundleId))
            page.sections.append(section(request, detail, storefront, from: request.app == nil ? 0 : from))
        }
        if apps.count > 10 {
            var more = ConsoleSection("more", "More apps")
            more.links = apps.dropFirst(10).prefix(200).map {
                ConsoleLink($0.bundleId, request.link("products", [("app", $0.bundleId)], keepsApp: false))
            }
            page.sections.append(more)
        }
        page.sections.append(managed)
        page.commands = [
            ConsoleCode(
                "Check a catalog file", "cornerstore catalog check \((state.files.first ?? "App.storekit").shellWord)"),
            ConsoleCode("The apps", "cornerstore app list"),
            ConsoleCode("Control port", request.curl(.catalog)),
        ]
        return page
    }

    private static func catalog(_ request: PageRequest, _ state: ControlAPI.CatalogState) -> ConsoleSection {
        var section = ConsoleSection("catalog", "Catalog files", isLive: true)
        section.facts =
            [request.machineMoments.fact("Loaded", state.loadedDate)]
            + state.files.prefix(50).map { ConsoleFact("File", $0) }
            + state.notes.prefix(20).map { ConsoleFact("Note", $0) }
        guard !state.problems.isEmpty else { return section }
        section.warning =
            "A changed file was not loaded. The old catalog stays in use until the problems are corrected."
        var table = ConsoleTable(
            "Problems", [ConsoleColumn("File"), ConsoleColumn("Place"), ConsoleColumn("Problem")],
            nothing: "None.")
        for problem in state.problems.prefix(50) {
            let place = [
                problem.line.map { "line \($0)" }, problem.column.map { "column \($0)" }, problem.keyPath.nonEmpty,
            ]
            table.add([
                ConsoleCell(problem.file), ConsoleCell(place.compactMap { $0 }.joined(separator: ", ")),
                ConsoleCell(problem.message, tone: .bad),
            ])
        }
        section.table = table
        return section
    }

    private static func section(
        _ request: PageRequest, _ app: ControlAPI.CatalogApp, _ storefront: String?, from: Int
    ) -> ConsoleSection {
        var section = ConsoleSection("app-\(app.appId ?? 0)", app.name ?? app.bundleId, isLive: true)
        section.facts = [
            ConsoleFact("Bundle id", app.bundleId, isID: true),
            ConsoleFact("App number", app.appId.map(String.init) ?? "—"),
            ConsoleFact("Storefront of the prices", storefront ?? app.storefront),
        ]
        if let file = app.file { section.facts.append(ConsoleFact("File", file)) }
        if request.app != nil {
            section.filter = ConsoleForm(
                action: request.action("products"), method: "get",
                fields: [ConsoleField("storefront", "Prices in", value: storefront ?? app.storefront)],
                hidden: [ConsoleHidden("app", app.bundleId)], button: "Show", isLine: true)
        }
        var table = ConsoleTable(
            "Products of \(app.name ?? app.bundleId)",
            [
                ConsoleColumn("Product"), ConsoleColumn("Reference name"), ConsoleColumn("Kind"),
                ConsoleColumn("Price", isNumber: true), ConsoleColumn("Languages"), ConsoleColumn("State"),
            ],
            nothing: "The app's catalog file has no products.")
        let from = min(from, max(0, app.products.count - 1) / most * most)
        for product in app.products.dropFirst(from).prefix(most) {
            table.add([
                ConsoleCell(
                    product.productId,
                    link: request.link("products/\(app.bundleId.percentEncoded)/\(product.productId.percentEncoded)")),
                ConsoleCell(product.referenceName ?? "—"), ConsoleCell(LedgerParts.kind(product.kind)),
                ConsoleCell(price(product.prices, storefront ?? app.storefront) ?? "—"),
                ConsoleCell(product.texts.map(\.locale).prefix(6).joined(separator: ", ")), state(product),
            ])
        }
        if app.products.count > from + most {
            table.next = request.link(
                "products", [("app", app.bundleId), ("from", "\(request.app == nil ? most : from + most)")],
                keepsApp: false)
            table.nextLabel = "More products"
        }
        if from > 0 { table.first = request.link("products", [("app", app.bundleId)], keepsApp: false) }
        table.firstLabel = "First products"
        section.table = table
        return section
    }

    private static func price(_ prices: [ControlAPI.CatalogPrice], _ storefront: String) -> String? {
        (prices.first { $0.storefront == storefront }).map { "\($0.price) \($0.currency)" }
    }

    /// A product of a file is sold, or misses something that App Store Connect requires.
    private static func state(_ product: ControlAPI.CatalogProduct) -> ConsoleCell {
        if product.prices.isEmpty { return ConsoleCell("Missing price", tone: .bad) }
        if product.texts.isEmpty { return ConsoleCell("Missing metadata", tone: .bad) }
        return ConsoleCell("On sale", tone: .good)
    }

    // MARK: One product

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let (bundle, id) = (request.parameter("bundle"), request.parameter("product"))
        let app: ControlAPI.CatalogApp = try await request.api.ask(.app(bundle: bundle, product: id))
        guard let product = app.products.first(where: { $0.productId == id }) else {
            throw APIProblem(status: 404, code: "not_found", message: "The catalog has no product \(id) in \(bundle).")
        }
        var page = ConsolePage(product.referenceName ?? product.productId)
        page.trail = [ConsoleLink("Products", request.link("products"))]
        var summary = ConsoleSection("summary", "Summary", isLive: true)
        summary.facts = [
            ConsoleFact("Product id", product.productId, isID: true),
            ConsoleFact("Kind", LedgerParts.kind(product.kind)), ConsoleFact("App", app.name ?? app.bundleId),
            ConsoleFact("Item id", "\(product.itemId)", isID: true),
            ConsoleFact("Family sharing", product.familyShareable ? "yes" : "no"),
            ConsoleFact(
                "Hosted content", product.hosted ? "yes" : "no", link: product.hosted ? request.link("content") : nil),
        ]
        if let line = product.line {
            summary.facts.append(ConsoleFact("In the file", "\(app.file ?? "") line \(line)"))
        }
        summary.links = [
            ConsoleLink("As devices get it", request.link("preview/\(bundle.percentEncoded)/\(id.percentEncoded)")),
            ConsoleLink("Buy it", request.link("buy", [("product", "\(bundle) \(id)")])),
            ConsoleLink("Its transactions", request.link("transactions", [("product", id)])),
        ]
        page.sections = [summary, texts(product)]
        if let subscription = product.subscription { page.sections.append(self.subscription(app, subscription)) }
        page.sections.append(prices(product, request.filter("prices") == "all", request))
        page.sections.append(try await sales(request, bundle, id))
        page.commands = [
            ConsoleCode("Buy it", "cornerstore buy \(id.shellWord) --app \(bundle.shellWord)\(request.flag)"),
            ConsoleCode("Control port", request.curl(.app(bundle: bundle, product: id))),
        ]
        return page
    }

    private static func texts(_ product: ControlAPI.CatalogProduct) -> ConsoleSection {
        var section = ConsoleSection("texts", "Texts for customers", isLive: true)
        var table = ConsoleTable(
            "Texts by language", [ConsoleColumn("Language"), ConsoleColumn("Name"), ConsoleColumn("Description")],
            nothing: "The catalog file has no texts for this product.")
        for text in product.texts.prefix(50) {
            table.add([ConsoleCell(text.locale), ConsoleCell(text.displayName), ConsoleCell(text.description ?? "—")])
        }
        section.table = table
        return section
    }

    private static func subscription(
        _ app: ControlAPI.CatalogApp, _ subscription: ControlAPI.CatalogSubscription
    ) -> ConsoleSection {
        var section = ConsoleSection("subscription", "Subscription", isLive: true)
        let group = app.groups.first { $0.id == subscription.groupId }
        section.facts = [
            ConsoleFact("Group", group?.name ?? subscription.groupId), ConsoleFact("Level", "\(subscription.level)"),
            ConsoleFact("Period", subscription.period),
        ]
        var table = ConsoleTable(
            "Offers",
            [ConsoleColumn("Offer"), ConsoleColumn("Payment"), ConsoleColumn("Period"), ConsoleColumn("Price")],
            nothing: "The subscription has no offers.")
        for offer in subscription.offers.prefix(50) {
            table.add([
                ConsoleCell(offer.referenceName ?? offer.offerId ?? offer.kind, note: offer.kind),
                ConsoleCell(offer.paymentMode), ConsoleCell("\(offer.numberOfPeriods) × \(offer.period)"),
                ConsoleCell(price(offer.prices, app.storefront) ?? "—"),
            ])
        }
        section.table = table
        return section
    }

    private static func prices(
        _ product: ControlAPI.CatalogProduct, _ all: Bool, _ request: PageRequest
    ) -> ConsoleSection {
        var section = ConsoleSection("prices", "Prices", isLive: true)
        var table = ConsoleTable(
            "Prices by storefront", [ConsoleColumn("Storefront"), ConsoleColumn("Price", isNumber: true)],
            nothing: "No storefront sells this product.")
        for price in product.prices.prefix(all ? 200 : 12) {
            table.add([ConsoleCell(price.storefront), ConsoleCell("\(price.price) \(price.currency)")])
        }
        if !all, product.prices.count > 12 {
            table.next =
                request.link(
                    "products/\(request.parameter("bundle").percentEncoded)/\(product.productId.percentEncoded)",
                    [("prices", "all")]) + "#prices"
            table.nextLabel = "All \(product.prices.count) storefronts"
        }
        section.table = table
        return section
    }

    private static func sales(_ request: PageRequest, _ bundle: String, _ id: String) async throws -> ConsoleSection {
        let sums = try await request.memory.value("product \(request.environment.name) \(bundle) \(id)") {
            let page: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
                .transactions(request.environment, LedgerFilter(bundle: bundle, product: id), limit: LedgerSums.most))
            let refunded: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
                .transactions(
                    request.environment, LedgerFilter(bundle: bundle, product: id, state: .refunded),
                    limit: LedgerSums.most))
            return LedgerSums(page, refunded: refunded, now: request.clock.milliseconds)
        }
        var section = ConsoleSection("sales", "Sales of 30 days", isLive: true)
        let note = sums.isCut ? "at least" : nil
        section.numbers = [
            ConsoleNumber("Purchases", "\(sums.month.purchases)", note: note),
            ConsoleNumber("Money", LedgerParts.money(sums.month.money), note: note),
            ConsoleNumber("Refunds", "\(sums.month.refunds)", note: sums.hasMoreRefunds ? "at least" : nil),
        ]
        section.bars = sums.bars
        section.barsLabel =
            "Purchases of the last 30 days, the oldest first: "
            + sums.days.map(String.init).joined(separator: ", ")
        return section
    }
}
