import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// An app and its products as StoreKit describes them, by storefront, language and customer; and promotions.
enum PreviewPages {
    static let routes = [
        PageRoute(path: "preview", area: .preview, topics: [.catalog, .content, .accounts, .transactions], make: app),
        PageRoute(
            path: productPage, area: .preview, topics: [.catalog, .content, .accounts, .transactions, .offers],
            make: product),
    ]

    static let actions = [
        ConsoleAction(
            path: productPage + "/promote", routes: [.control(.promote(.sandbox))], page: productPage,
            change: "promote a product", perform: promote)
    ]

    private static let productPage = "preview/{bundle}/{product}"
    /// The names of the filters, which every link between the pages keeps.
    private static let filters = ["storefront", "language", "account"]

    /// The query for the page: the app or one product, with the filters.
    private static func query(_ request: PageRequest, _ bundle: String, product: String? = nil) -> PreviewQuery {
        PreviewQuery(
            bundle: bundle, product: product, storefront: request.filter("storefront"),
            language: request.filter("language"), account: request.filter("account"),
            after: product == nil ? request.filter("after") : nil, limit: product == nil ? 50 : nil)
    }

    private static func kept(_ request: PageRequest) -> [(String, String?)] {
        filters.map { ($0, request.filter($0)) }
    }

    private static func address(_ bundle: String, _ product: String) -> String {
        "preview/\(bundle.percentEncoded)/\(product.percentEncoded)"
    }

    private static func filter(
        _ request: PageRequest, _ path: String, _ preview: ControlAPI.Preview?, asksProduct: Bool
    ) -> ConsoleForm {
        var fields = [
            ConsoleField(
                "storefront", "Storefront", .search, value: request.filter("storefront") ?? "",
                hint: preview.map { "Three letters; empty for \($0.storefront)." }),
            ConsoleField(
                "language", "Languages", .search, value: request.filter("language") ?? "",
                hint: "Best first, such as de,en; empty for the storefront's."),
            ConsoleField(
                "account", "Customer", .search, value: request.filter("account") ?? "",
                hint: "Address or id; empty for a customer who is not signed in."),
        ]
        if asksProduct {
            fields.append(
                ConsoleField(
                    "product", "Product id", .search, value: request.filter("product") ?? "",
                    hint: "Any text that an app asks for; empty for all."))
        }
        return ConsoleForm(
            action: request.action(path), method: "get", fields: fields,
            hidden: request.app.map { [ConsoleHidden("app", $0)] } ?? [], button: "Show", isLine: true)
    }

    /// The product that a line for the shell names, as its options.
    private static func command(_ query: PreviewQuery, _ request: PageRequest) -> String {
        let options = [
            ("product", query.product), ("storefront", query.storefront), ("language", query.language),
            ("account", query.account),
        ].compactMap { name, value in value.map { " --\(name) \($0.shellWord)" } }
        return "cornerstore app preview \(query.bundle.shellWord)" + options.joined() + request.flag
    }

    // MARK: An app

    @Sendable private static func app(_ request: PageRequest) async throws -> ConsolePage {
        let apps = request.apps.filter(\.isInCatalog)
        guard let bundle = request.app ?? apps.first?.bundleId else {
            var page = ConsolePage("Preview")
            var section = ConsoleSection("products", "Products")
            section.table = ConsoleTable(
                "Products", [], nothing: "No products yet. Register an app:",
                command: "cornerstore app register com.example.app")
            page.sections = [section]
            return page
        }
        let query = query(request, bundle, product: request.filter("product"))
        let preview: ControlAPI.Preview = try await request.api.ask(.preview(request.environment, query))
        var page = ConsolePage("Preview of \(preview.name ?? bundle)")
        page.text = "The answer to an app's SKProductsRequest, with the reasons for the invalid identifiers."
        page.sections = [answer(request, preview), products(request, preview), invalid(request, preview)]
        if let next = preview.next {
            var more = ConsoleSection("more", "More identifiers")
            more.links = [
                ConsoleLink("Next page", request.link("preview", kept(request) + [("after", next)]))
            ]
            page.sections.append(more)
        }
        if request.app == nil, apps.count > 1 {
            var others = ConsoleSection("apps", "Other apps")
            others.links = apps.filter { $0.bundleId != bundle }.prefix(200).map {
                ConsoleLink($0.name ?? $0.bundleId, request.link("preview", [("app", $0.bundleId)], keepsApp: false))
            }
            page.sections.append(others)
        }
        page.commands = [
            ConsoleCode("Command", command(query, request)),
            ConsoleCode("Control port", request.curl(.preview(request.environment, query))),
        ]
        return page
    }

    private static func answer(_ request: PageRequest, _ preview: ControlAPI.Preview) -> ConsoleSection {
        var section = ConsoleSection("shown", "Shown to", isLive: true)
        section.facts =
            [
                ConsoleFact("Bundle id", preview.bundleId, isID: true),
                ConsoleFact("App number", preview.appId.map(String.init) ?? "—"),
                ConsoleFact("Storefront", preview.storefront, note: preview.storefrontId),
            ] + customer(request, preview)
        section.filter = filter(request, "preview", preview, asksProduct: true)
        return section
    }

    private static func customer(_ request: PageRequest, _ preview: ControlAPI.Preview) -> [ConsoleFact] {
        guard let account = preview.account else { return [ConsoleFact("Customer", "nobody is signed in")] }
        let pays = preview.paymentsAllowed ?? true
        return [
            ConsoleFact("Customer", account, link: request.link("customers/\(account.percentEncoded)")),
            ConsoleFact(
                "canMakePayments", pays ? "true" : "false", note: pays ? nil : "The account may not pay.",
                tone: pays ? nil : .warn),
        ]
    }

    private static func products(_ request: PageRequest, _ preview: ControlAPI.Preview) -> ConsoleSection {
        var section = ConsoleSection("products", "Products", isLive: true)
        var table = ConsoleTable(
            "SKProductsResponse.products",
            [
                ConsoleColumn("localizedTitle"), ConsoleColumn("localizedDescription"),
                ConsoleColumn("Price", isNumber: true), ConsoleColumn("Kind"), ConsoleColumn("Customer"),
            ],
            nothing: "This storefront sells none of these products.")
        for product in preview.products.prefix(50) {
            table.add([
                ConsoleCell(
                    product.displayName,
                    link: request.link(address(preview.bundleId, product.productId), kept(request)),
                    note: product.productId),
                ConsoleCell(product.description.isEmpty ? "—" : String(product.description.prefix(300))),
                ConsoleCell(product.price.text), ConsoleCell(LedgerParts.kind(product.kind)),
                ConsoleCell(product.owned == true ? "Owns it" : "—", tone: product.owned == true ? .good : .dim),
            ])
        }
        section.table = table
        return section
    }

    private static func invalid(_ request: PageRequest, _ preview: ControlAPI.Preview) -> ConsoleSection {
        var section = ConsoleSection("invalid", "Invalid identifiers", isLive: true)
        var table = ConsoleTable(
            "SKProductsResponse.invalidProductIdentifiers", [ConsoleColumn("Product id"), ConsoleColumn("Reason")],
            nothing: "None of these identifiers is invalid.")
        for product in preview.invalid.prefix(50) {
            table.add([
                ConsoleCell(
                    product.productId,
                    link: request.link(address(preview.bundleId, product.productId), kept(request))),
                ConsoleCell(product.message, tone: .bad),
            ])
        }
        section.table = table
        return section
    }

    // MARK: One product

    @Sendable private static func product(_ request: PageRequest) async throws -> ConsolePage {
        let (bundle, id) = (request.parameter("bundle"), request.parameter("product"))
        let query = query(request, bundle, product: id)
        let preview: ControlAPI.Preview = try await request.api.ask(.preview(request.environment, query))
        var page = ConsolePage(preview.products.first?.displayName ?? id)
        let back = kept(request) + [("app", bundle)]
        page.trail = [
            ConsoleLink("Preview of \(preview.name ?? bundle)", request.link("preview", back, keepsApp: false))
        ]
        if let product = preview.products.first {
            page.text = product.description.nonEmpty
            page.sections = [described(request, preview, product)]
            if let subscription = product.subscription { page.sections.append(offers(subscription)) }
            page.sections.append(promotion(request, bundle, id))
        } else {
            var section = ConsoleSection("shown", "Invalid identifier", isLive: true)
            section.warning = preview.invalid.first?.message
            section.text = "A device finds this identifier in invalidProductIdentifiers and does not learn the reason."
            section.facts = [
                ConsoleFact("Product id", id, isID: true),
                ConsoleFact("Storefront", preview.storefront, note: preview.storefrontId),
            ]
            section.filter = filter(request, address(bundle, id), preview, asksProduct: false)
            page.sections = [section]
        }
        page.commands = [
            ConsoleCode("Command", command(query, request)),
            ConsoleCode(
                "Promote it",
                "cornerstore promote \(id.shellWord) --app \(bundle.shellWord) --account "
                    + (request.filter("account") ?? "anna@example.com").shellWord + request.flag),
            ConsoleCode("Control port", request.curl(.preview(request.environment, query))),
        ]
        return page
    }

    private static func described(
        _ request: PageRequest, _ preview: ControlAPI.Preview, _ product: ControlAPI.PreviewProduct
    ) -> ConsoleSection {
        var section = ConsoleSection("shown", "As SKProduct describes it", isLive: true)
        section.numbers = [ConsoleNumber("Price", product.price.text, note: product.price.currency)]
        section.facts =
            [
                ConsoleFact("productIdentifier", product.productId, isID: true),
                ConsoleFact("localizedTitle", product.displayName),
                ConsoleFact("localizedDescription", product.description.nonEmpty ?? "—"),
                ConsoleFact("price", product.price.price), ConsoleFact("priceLocale", product.priceLocale, isID: true),
                ConsoleFact("Kind", LedgerParts.kind(product.kind)),
                ConsoleFact("isFamilyShareable", product.familyShareable ? "true" : "false"),
                ConsoleFact(
                    "Downloads", product.contentVersion.map { "version \($0)" } ?? "none",
                    note: product.contentLength.map { "\($0) bytes" }),
                ConsoleFact("Storefront", preview.storefront, note: preview.storefrontId),
            ] + customer(request, preview)
        if let owned = product.owned {
            section.facts.append(
                ConsoleFact(
                    "Owned", owned ? "yes" : "no", note: owned ? "Buying it again is free." : nil,
                    tone: owned ? .good : nil))
        }
        section.filter = filter(request, address(preview.bundleId, product.productId), preview, asksProduct: false)
        let place = "products/\(preview.bundleId.percentEncoded)/\(product.productId.percentEncoded)"
        section.links = [
            ConsoleLink("The product in the catalog", request.link(place)),
            ConsoleLink(
                "Buy it",
                request.link(
                    "buy", [("product", "\(preview.bundleId) \(product.productId)"), ("account", preview.account)])),
        ]
        return section
    }

    private static func offers(_ subscription: ControlAPI.PreviewSubscription) -> ConsoleSection {
        var section = ConsoleSection("subscription", "Subscription", isLive: true)
        section.facts = [
            ConsoleFact("Group", subscription.groupName, note: subscription.groupId),
            ConsoleFact("Level", "\(subscription.level)"), ConsoleFact("Period", subscription.period),
        ]
        if let isNew = subscription.isNewSubscriber, subscription.offers.contains(where: { $0.kind == "introductory" })
        {
            section.facts.append(
                ConsoleFact(
                    "Introductory offer", isNew ? "for this customer" : "not for this customer",
                    note: isNew ? nil : "The customer subscribes in the group, or had the offer or a code there.",
                    tone: isNew ? .good : .dim))
        }
        var table = ConsoleTable(
            "Offers",
            [
                ConsoleColumn("Offer"), ConsoleColumn("Payment"), ConsoleColumn("Period"),
                ConsoleColumn("Price", isNumber: true),
            ],
            nothing: "The subscription has no introductory or promotional offer.")
        for offer in subscription.offers.prefix(50) {
            table.add([
                ConsoleCell(offer.offerId ?? offer.kind, note: offer.offerId == nil ? nil : offer.kind),
                ConsoleCell(offer.paymentMode), ConsoleCell("\(offer.numberOfPeriods) × \(offer.period)"),
                ConsoleCell(offer.price.text),
            ])
        }
        section.table = table
        return section
    }

    // MARK: A promotion

    private static func promotion(_ request: PageRequest, _ bundle: String, _ id: String) -> ConsoleSection {
        var section = ConsoleSection(
            "promotion", "Send a promotion",
            text:
                "As if the customer had tapped the product in the store: the app gets the payment (shouldAddStorePayment) at once if it runs, or at its next launch within a day."
        )
        let tester = request.environment == .sandbox ? request.api.backends.tester()?.email : nil
        let account = request.filter("account") ?? tester
        section.forms = [
            ConsoleForm(
                action: request.action(address(bundle, id) + "/promote"),
                fields: [
                    ConsoleField(
                        "account", "Customer", value: account ?? "", hint: "Address or id.", isRequired: true)
                ], button: "Send the promotion")
        ]
        if let account {
            section.links = [
                ConsoleLink(
                    "Promotions that wait for \(account)",
                    request.link("customers/\(account.percentEncoded)") + "#offers")
            ]
        }
        return section
    }

    @Sendable private static func promote(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, product) = (action.page.parameter("bundle"), action.page.parameter("product"))
        let account = try action.required("account", "Customer")
        try await action.api.perform(
            .promote(action.environment),
            ControlAPI.Promotion(bundleId: bundle, productId: product, account: account))
        return .done(
            address(bundle, product),
            message: "Sent to \(account). The app gets the payment at once if it runs, or at its next launch.")
    }
}
