import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The managed catalog: apps and products that the store keeps, from the draft to the sale.
enum ManagedPages {
    static let routes = [
        PageRoute(path: "managed", area: .products, topics: [.catalog, .audit], make: apps),
        PageRoute(path: "managed/{bundle}", area: .products, topics: [.catalog, .audit], make: app),
        PageRoute(
            path: "managed/{bundle}/{product}", area: .products, topics: [.catalog, .content, .audit], make: product),
    ]

    private static let (appPage, productPage) = ("managed/{bundle}", "managed/{bundle}/{product}")
    /// The author of changes that are made here.
    static let author = "console"

    static let actions: [ConsoleAction] =
        [
            managed("managed/register", [.register], page: "managed", change: "register an app", register),
            managed("managed/checklist", [.changeChecklist], page: "managed", change: "change the checklist", check),
            managed("managed/import", [.importCatalog], page: "managed", change: "import a catalog", importCatalog),
            managed(
                appPage + "/create", [.createProduct("")], page: appPage, change: "create a product", create),
            managed(appPage + "/settings", [.changeApp("")], page: appPage, change: "change an app", changeApp),
            managed(
                appPage + "/group", [.app(""), .setGroup("", "")], page: appPage,
                change: "change a subscription group", ManagedSubscriptions.setGroup),
            managed(
                appPage + "/group-delete", [.deleteGroup("", "", revision: 1)], page: appPage,
                change: "delete a subscription group", ManagedSubscriptions.deleteGroup),
            managed(
                productPage + "/change", [.product("", ""), .changeProduct("", "")], page: productPage,
                change: "change a product", changeProduct),
            managed(
                productPage + "/language", [.product("", ""), .changeProduct("", "")], page: productPage,
                change: "change a product's texts", ManagedTexts.change),
            managed(
                productPage + "/language-remove", [.product("", ""), .changeProduct("", "")], page: productPage,
                change: "remove a product's texts", ManagedTexts.remove),
            managed(
                productPage + "/introductory", [.product("", ""), .changeProduct("", "")], page: productPage,
                change: "change an offer", ManagedSubscriptions.setIntroductory),
            managed(
                productPage + "/promotional", [.product("", ""), .changeProduct("", "")], page: productPage,
                change: "change an offer", ManagedSubscriptions.setPromotional),
            managed(
                productPage + "/offer-remove", [.product("", ""), .changeProduct("", "")], page: productPage,
                change: "remove an offer", ManagedSubscriptions.removeOffer),
            managed(productPage + "/submit", [.submit("")], page: productPage, change: "submit a product", submit),
            managed(
                productPage + "/delete", [.deleteProduct("", "", revision: 1)], page: productPage,
                change: "delete a product permanently", isFinal: true, delete),
        ]
        + ManagedRoute.Step.allCases.map { step in
            managed(
                productPage + "/\(step.rawValue)", [.step(step, "", "")], page: productPage,
                change: "\(step.rawValue) a product"
            ) { action in
                let reason = step == .reject ? try action.required("reason", "Reason") : nil
                let _: ControlAPI.ManagedProduct = try await action.api.send(
                    .managed(.step(step, action.page.parameter("bundle"), action.page.parameter("product"))),
                    ControlAPI.ManagedStep(revision: try revision(action), reason: reason, by: author))
                return .done(back(action), message: "Done: \(words(step)).")
            }
        }

    private static func managed(
        _ path: String, _ routes: [ManagedRoute], page: String, change: String, isFinal: Bool = false,
        _ perform: @escaping @Sendable (ActionRequest) async throws -> ActionOutcome
    ) -> ConsoleAction {
        ConsoleAction(
            path: path, routes: Set(routes.map { .control(.managed($0)) }), page: page, change: change,
            isFinal: isFinal, limit: 4 << 20, perform: perform)
    }

    static func back(_ action: ActionRequest) -> String {
        "managed/\(action.page.parameter("bundle").percentEncoded)/\(action.page.parameter("product").percentEncoded)"
    }

    /// The revision that the page showed: of two editors, the later one is told.
    static func revision(_ action: ActionRequest) throws -> Int64 {
        guard let revision = action.text("revision").flatMap({ Int64($0) }) else {
            throw FormProblem("", "The form has no revision. Load the page again.")
        }
        return revision
    }

    private static func words(_ step: ManagedRoute.Step) -> String {
        switch step {
        case .review: "the review began"
        case .approve: "approved"
        case .reject: "rejected"
        case .remove: "removed from sale"
        case .restore: "on sale again"
        }
    }

    // MARK: All apps

    @Sendable private static func apps(_ request: PageRequest) async throws -> ConsolePage {
        let apps: [ControlAPI.ManagedApp] = try await request.api.ask(.managed(.apps))
        let checklist: ControlAPI.Checklist = try await request.api.ask(.managed(.checklist))
        var page = ConsolePage("Managed apps")
        page.trail = [ConsoleLink("Products", request.link("products"))]
        page.text = "The store keeps these apps' products: drafts, states, review and a history of changes."
        var section = ConsoleSection("apps", "Apps", isLive: true)
        var table = ConsoleTable(
            "Apps that the store manages",
            [
                ConsoleColumn("App"), ConsoleColumn("Products", isNumber: true), ConsoleColumn("In-app purchase"),
                ConsoleColumn("Review"), ConsoleColumn("Missing"),
            ],
            nothing: "No managed apps yet. Register the first one:",
            command: "cornerstore app register com.example.app")
        for app in request.rows(apps, of: &table, at: "managed", in: "apps", by: "from") {
            table.add([
                ConsoleCell(
                    app.bundleId, link: request.link("managed/\(app.bundleId.percentEncoded)"), note: app.name),
                ConsoleCell("\(app.products)"),
                ConsoleCell(app.inAppPurchase ? "on" : "off", tone: app.inAppPurchase ? .good : .bad),
                ConsoleCell(app.review),
                ConsoleCell(
                    app.missing.isEmpty ? "—" : app.missing.joined(separator: ", "),
                    tone: app.missing.isEmpty ? nil : .bad),
            ])
        }
        section.table = table
        section.forms = [
            ConsoleForm(
                "Register an app", action: request.action("managed/register"),
                fields: [
                    ConsoleField("bundle", "Bundle id", hint: "Explicit, such as com.example.app.", isRequired: true),
                    ConsoleField("name", "Name"),
                ], button: "Register"),
            ConsoleForm(
                "Import a catalog file", action: request.action("managed/import"),
                fields: [
                    ConsoleField(
                        "format", "Format", .choice,
                        options: [ConsoleOption("yaml", "YAML"), ConsoleOption("storekit", ".storekit")]),
                    ConsoleField("bundle", "Bundle id", hint: "For a .storekit file, which has no bundle id."),
                    ConsoleField("text", "The file's text", .area, isRequired: true),
                ], button: "Import"),
        ]
        page.sections = [section, self.checklist(request, checklist)]
        page.commands = [
            ConsoleCode("Register", "cornerstore app register com.example.app"),
            ConsoleCode("Checklist", "cornerstore app checklist"),
            ConsoleCode("Control port", request.curl(.managed(.apps))),
        ]
        return page
    }

    private static func checklist(_ request: PageRequest, _ list: ControlAPI.Checklist) -> ConsoleSection {
        var section = ConsoleSection(
            "checklist", "Agreement, tax and bank",
            text:
                "While an item that is required is missing, all products are invalid identifiers. No account numbers are kept.",
            isLive: true)
        var table = ConsoleTable(
            "Checklist", [ConsoleColumn("Item"), ConsoleColumn("State"), ConsoleColumn("By"), ConsoleColumn("Do")],
            nothing: "The list is empty.")
        for item in list.items {
            func button(_ label: String, _ name: String, _ value: String) -> ConsoleButton {
                ConsoleButton(
                    label, about: "\(label): \(item.item)", action: request.action("managed/checklist"),
                    hidden: [ConsoleHidden("item", item.item), ConsoleHidden(name, value)])
            }
            let isDone = item.doneDate != nil
            table.add([
                ConsoleCell(item.item),
                ConsoleCell(
                    isDone ? "Done" : item.required ? "Missing" : "Not required",
                    tone: isDone ? .good : item.required ? .bad : .dim),
                ConsoleCell(item.doneBy ?? "—"),
                ConsoleCell(buttons: [
                    button(isDone ? "Not done" : "Done", "done", isDone ? "no" : "yes"),
                    button(item.required ? "Not required" : "Require", "required", item.required ? "no" : "yes"),
                ]),
            ])
        }
        section.table = table
        return section
    }

    @Sendable private static func register(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = try action.required("bundle", "Bundle id")
        let app: ControlAPI.ManagedApp = try await action.api.send(
            .managed(.register),
            ControlAPI.NewManagedApp(bundleId: bundle, name: action.text("name"), inAppPurchase: true, by: author))
        return .done(
            "managed/\(app.bundleId.percentEncoded)", message: "Registered \(app.bundleId). Create its products.")
    }

    @Sendable private static func check(_ action: ActionRequest) async throws -> ActionOutcome {
        let _: ControlAPI.Checklist = try await action.api.send(
            .managed(.changeChecklist),
            ControlAPI.ChecklistChange(
                item: try action.required("item", "Item"), required: action.form["required"].map { $0 == "yes" },
                done: action.form["done"].map { $0 == "yes" }, by: author))
        return .done("managed", message: "Saved.")
    }

    @Sendable private static func importCatalog(_ action: ActionRequest) async throws -> ActionOutcome {
        let imported: ControlAPI.CatalogImported = try await action.api.send(
            .managed(.importCatalog),
            ControlAPI.CatalogImport(
                format: action.form["format"] == "storekit" ? .storekit : .yaml,
                text: try action.required("text", "The file's text"), bundleId: action.text("bundle"), approved: nil,
                by: author))
        return .done(
            imported.apps.count == 1 ? "managed/\(imported.apps[0].bundleId.percentEncoded)" : "managed",
            message: "Imported: \(imported.created.count) new products, \(imported.changed.count) changed.")
    }

    // MARK: One app

    @Sendable private static func app(_ request: PageRequest) async throws -> ConsolePage {
        let bundle = request.parameter("bundle")
        let app: ControlAPI.ManagedApp = try await request.api.ask(.managed(.app(bundle)))
        let products: [ControlAPI.ManagedProduct] = try await request.api.ask(.managed(.products(bundle)))
        var page = ConsolePage(app.name ?? app.bundleId)
        page.trail = [ConsoleLink("Managed apps", request.link("managed"))]
        page.sections = [
            list(request, app, products), ManagedSubscriptions.groups(request, app, products),
            try await history(request, bundle, nil), settings(request, app),
        ]
        if let format = request.filter("export").flatMap(ControlAPI.CatalogFormat.init(rawValue:)) {
            let export: ControlAPI.CatalogExport = try await request.api.ask(.managed(.export(bundle, format: format)))
            var section = ConsoleSection("export", "As a catalog file")
            if !export.omitted.isEmpty {
                section.warning = "The format cannot say: \(export.omitted.prefix(20).joined(separator: ", "))."
            }
            section.codes = [ConsoleCode(format == .yaml ? "App.yaml" : "App.storekit", export.text)]
            page.sections.insert(section, at: 0)
        }
        page.commands = [
            ConsoleCode(
                "Create a product",
                "cornerstore product create consumable \(bundle.shellWord).coins --app \(bundle.shellWord) --price 0.99"
            ),
            ConsoleCode("History", "cornerstore product history --app \(bundle.shellWord)"),
            ConsoleCode("Control port", request.curl(.managed(.products(bundle)))),
        ]
        return page
    }

    private static func list(
        _ request: PageRequest, _ app: ControlAPI.ManagedApp, _ products: [ControlAPI.ManagedProduct]
    ) -> ConsoleSection {
        var section = ConsoleSection("products", "Products", isLive: true)
        if !app.missing.isEmpty {
            section.warning =
                "All products are invalid identifiers until this is done: \(app.missing.joined(separator: ", "))."
        }
        var table = ConsoleTable(
            "Products of \(app.bundleId)",
            [
                ConsoleColumn("Product"), ConsoleColumn("Name"), ConsoleColumn("Kind"),
                ConsoleColumn("Price", isNumber: true), ConsoleColumn("State"), ConsoleColumn("On sale in"),
            ],
            nothing: "No products yet. Create one below, or run:",
            command:
                "cornerstore product create consumable \(app.bundleId.shellWord).coins --app \(app.bundleId.shellWord) --price 0.99"
        )
        let path = "managed/\(app.bundleId.percentEncoded)"
        for product in request.rows(products, of: &table, at: path, in: "products", by: "from") {
            let sold = [product.inSandbox ? "sandbox" : nil, product.inProduction ? "production" : nil].compactMap {
                $0
            }
            table.add([
                ConsoleCell(product.productId, link: request.link("\(path)/\(product.productId.percentEncoded)")),
                ConsoleCell(product.referenceName ?? product.displayName ?? "—"),
                ConsoleCell(LedgerParts.kind(product.kind)),
                ConsoleCell(product.price.map { "\($0) \(product.currency)" } ?? "—"),
                state(product.state, product.stateName),
                ConsoleCell(sold.isEmpty ? "—" : sold.joined(separator: ", ")),
            ])
        }
        section.table = table
        section.forms = [newProduct(request, app)]
        return section
    }

    /// The form for a new product: the type first, then the id, which are both fixed once saved.
    private static func newProduct(_ request: PageRequest, _ app: ControlAPI.ManagedApp) -> ConsoleForm {
        let kinds = ProductKind.allCases.filter { $0 != .autoRenewableSubscription || !app.groups.isEmpty }
        var fields = [
            ConsoleField(
                "kind", "Type", .choice,
                options: kinds.map { ConsoleOption($0.rawValue, LedgerParts.kind($0.rawValue)) },
                hint: app.groups.isEmpty
                    ? "Fixed once saved. An auto-renewable subscription needs a group first." : "Fixed once saved."),
            ConsoleField(
                "product", "Product id", hint: "Fixed once saved, and never usable again in this app.",
                isRequired: true),
            ConsoleField("reference", "Reference name"),
            ConsoleField("price", "Price", hint: "A decimal such as 0.99."),
        ]
        if !app.groups.isEmpty { fields += ManagedSubscriptions.fields(app.groups) }
        fields += [
            ConsoleField("locale", "Language", value: app.locale ?? "en_US"),
            ConsoleField("name", "Name that customers read"), ConsoleField("description", "Description"),
        ]
        return ConsoleForm(
            "New product", action: request.action("managed/\(app.bundleId.percentEncoded)/create"), fields: fields,
            button: "Create")
    }

    /// The colours of App Store Connect: red, you act; yellow, under way; green, on sale.
    static func state(_ state: String, _ name: String) -> ConsoleCell {
        let tone: ConsoleTone =
            switch state {
            case "APPROVED": .good
            case "WAITING_FOR_REVIEW", "IN_REVIEW", "PROCESSING_CONTENT", "READY_TO_SUBMIT": .warn
            default: .bad
            }
        return ConsoleCell(name, tone: tone)
    }

    /// The product's own keys that a form has: those that are no texts.
    private static func changes(_ action: ActionRequest) throws -> [String: ControlAPI.CatalogValue] {
        var changes: [String: ControlAPI.CatalogValue] = [:]
        changes["referenceName"] = action.text("reference").map { .string($0) } ?? .null
        if let price = action.text("price") {
            guard Money(decimal: price, currency: "") != nil else {
                throw FormProblem("price", "“Price” must be a decimal such as 0.99.")
            }
            changes["displayPrice"] = .string(price)
        }
        return changes
    }

    @Sendable private static func create(_ action: ActionRequest) async throws -> ActionOutcome {
        let kind = try action.required("kind", "Type")
        var document = try changes(action).filter { $0.value != .null }
        if let name = action.text("name") {
            let locale = try action.required("locale", "Language")
            let texts = ControlAPI.DocumentTexts(nil)
            document["localizations"] =
                ManagedTexts.setting(texts, locale, name, action.text("description")).value
        }
        var group: String?
        if kind == ProductKind.autoRenewableSubscription.rawValue {
            group = try action.required("group", "Group")
            document.merge(try ManagedSubscriptions.changes(action)) { $1 }
        }
        let product: ControlAPI.ManagedProduct = try await action.api.send(
            .managed(.createProduct(action.page.parameter("bundle"))),
            ControlAPI.NewManagedProduct(
                kind: kind, productId: try action.required("product", "Product id"), groupId: group,
                document: .object(document), by: author))
        return .done(
            "managed/\(product.bundleId.percentEncoded)/\(product.productId.percentEncoded)",
            message: "Created. It is in “\(product.stateName)”.")
    }

    private static func settings(_ request: PageRequest, _ app: ControlAPI.ManagedApp) -> ConsoleSection {
        var section = ConsoleSection("settings", "App")
        section.forms = [
            ConsoleForm(
                action: request.action("managed/\(app.bundleId.percentEncoded)/settings"),
                fields: [
                    ConsoleField("iap", "In-app purchase is enabled", .tick, isOn: app.inAppPurchase),
                    ConsoleField(
                        "review", "Review", .choice,
                        options: ["automatic", "manual"].map { ConsoleOption($0, $0, isChosen: $0 == app.review) }),
                ], hidden: [ConsoleHidden("revision", "\(app.revision)")], button: "Save")
        ]
        let path = "managed/\(app.bundleId.percentEncoded)"
        section.links = [
            ConsoleLink("Show as YAML", request.link(path, [("export", "yaml")])),
            ConsoleLink("Show as .storekit", request.link(path, [("export", "storekit")])),
        ]
        return section
    }

    @Sendable private static func changeApp(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = action.page.parameter("bundle")
        let _: ControlAPI.ManagedApp = try await action.api.send(
            .managed(.changeApp(bundle)),
            ControlAPI.ManagedAppChange(
                revision: try revision(action), inAppPurchase: action.isOn("iap"),
                review: action.form["review"] == "manual" ? "manual" : "automatic", changes: nil, by: author))
        return .done("managed/\(bundle.percentEncoded)", message: "Saved.")
    }

    // MARK: One product

    @Sendable private static func product(_ request: PageRequest) async throws -> ConsolePage {
        let (bundle, id) = (request.parameter("bundle"), request.parameter("product"))
        let product: ControlAPI.ManagedProduct = try await request.api.ask(.managed(.product(bundle, id)))
        let path = "managed/\(bundle.percentEncoded)/\(id.percentEncoded)"
        var page = ConsolePage(product.referenceName ?? id)
        page.trail = [
            ConsoleLink("Managed apps", request.link("managed")),
            ConsoleLink(bundle, request.link("managed/\(bundle.percentEncoded)")),
        ]
        page.sections = [
            summary(request, product, path), edit(request, product, path),
            ManagedTexts.languages(request, product, path),
        ]
        if product.groupId != nil { page.sections.append(ManagedSubscriptions.offers(request, product, path)) }
        page.sections += [
            ManagedTexts.versions(product, try await request.productionMoments()),
            try await history(request, bundle, id),
        ]
        page.commands = [
            ConsoleCode(
                "Change the price", "cornerstore product set \(id.shellWord) --app \(bundle.shellWord) --price 1.29"),
            ConsoleCode(
                "Add a language",
                "cornerstore product set \(id.shellWord) --app \(bundle.shellWord) --name de=Name --description de=Text"
            ),
            ConsoleCode("Submit", "cornerstore product submit \(id.shellWord) --app \(bundle.shellWord)"),
            ConsoleCode("Control port", request.curl(.managed(.product(bundle, id)))),
        ]
        return page
    }

    private static func summary(
        _ request: PageRequest, _ product: ControlAPI.ManagedProduct, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection("summary", "State", isLive: true)
        let cell = state(product.state, product.stateName)
        var fact = ConsoleFact("State", product.stateName)
        fact.tone = cell.tone
        section.facts = [
            fact, ConsoleFact("Product id", product.productId, isID: true),
            ConsoleFact("Kind", LedgerParts.kind(product.kind)),
            ConsoleFact("Price", product.price.map { "\($0) \(product.currency)" } ?? "none"),
            ConsoleFact("Languages", product.locales.isEmpty ? "none" : product.locales.joined(separator: ", ")),
            ConsoleFact(
                "Sandbox", product.inSandbox ? "sells it" : "does not sell it", tone: product.inSandbox ? .good : .dim),
            ConsoleFact(
                "Production", product.inProduction ? "sells it" : "does not sell it",
                tone: product.inProduction ? .good : .dim),
            ConsoleFact("Needs", product.needs.isEmpty ? "nothing" : product.needs.joined(separator: ", ")),
        ]
        if let group = product.groupId {
            let period = product.document["recurringSubscriptionPeriod"]?.text ?? "—"
            section.facts += [ConsoleFact("Group", group, isID: true), ConsoleFact("Period", period)]
        }
        let preview = "preview/\(product.bundleId.percentEncoded)/\(product.productId.percentEncoded)"
        section.links = [ConsoleLink("As devices get it", request.link(preview))]
        let revision = ConsoleHidden("revision", "\(product.revision)")
        func form(_ step: String, _ button: String, tone: ConsoleTone? = nil, reason: Bool = false) -> ConsoleForm {
            ConsoleForm(
                action: request.action("\(path)/\(step)"),
                fields: reason ? [ConsoleField("reason", "Reason", isRequired: true)] : [], hidden: [revision],
                button: button, tone: tone)
        }
        section.forms =
            switch product.state {
            case "READY_TO_SUBMIT", "REJECTED":
                [form("submit", "Submit for review"), form("remove", "Remove from sale", tone: .bad)]
            case "WAITING_FOR_REVIEW":
                [
                    form("review", "Begin the review"), form("approve", "Approve"),
                    form("reject", "Reject", tone: .bad, reason: true),
                ]
            case "IN_REVIEW": [form("approve", "Approve"), form("reject", "Reject", tone: .bad, reason: true)]
            case "APPROVED": [form("remove", "Remove from sale", tone: .bad)]
            case "DEVELOPER_REMOVED_FROM_SALE": [form("restore", "Put on sale again")]
            default: []
            }
        return section
    }

    private static func edit(
        _ request: PageRequest, _ product: ControlAPI.ManagedProduct, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection(
            "edit", "Change",
            text: "These belong to the product, not to a version: a change takes effect at once in both environments.")
        let revision = ConsoleHidden("revision", "\(product.revision)")
        var fields = [
            ConsoleField("reference", "Reference name", value: product.referenceName ?? ""),
            ConsoleField("price", "Price", value: product.price ?? "", hint: "A decimal such as 0.99."),
        ]
        if product.groupId != nil { fields += ManagedSubscriptions.fields(of: product) }
        section.forms = [
            ConsoleForm(action: request.action(path + "/change"), fields: fields, hidden: [revision], button: "Save"),
            ConsoleForm(
                "Delete", action: request.action(path + "/delete"), hidden: [revision], button: "Delete permanently",
                tone: .bad, text: "The id can never be used again in this app. Customers keep what they bought."),
        ]
        return section
    }

    private static func history(
        _ request: PageRequest, _ bundle: String, _ product: String?
    ) async throws -> ConsoleSection {
        let changes: [ControlAPI.ManagedChange] = try await request.api.ask(
            .managed(.history(bundle, product: product, limit: 20)))
        let moments = try await request.productionMoments()
        var section = ConsoleSection("history", "History", isLive: true)
        var table = ConsoleTable(
            "Changes, newest first",
            [ConsoleColumn("When"), ConsoleColumn("Change"), ConsoleColumn("By"), ConsoleColumn("Before → after")],
            nothing: "No changes yet.")
        for change in changes {
            table.add([
                moments.cell(change.date),
                ConsoleCell(change.action, note: product == nil ? change.productId : nil),
                ConsoleCell(change.by),
                ConsoleCell(
                    "\((change.before ?? "—").prefix(200)) → \((change.after ?? "—").prefix(200))", note: change.note),
            ])
        }
        section.table = table
        return section
    }

    @Sendable private static func changeProduct(_ action: ActionRequest) async throws -> ActionOutcome {
        try await change(action) { known in
            var changes = try self.changes(action)
            if known.groupId != nil { changes.merge(try ManagedSubscriptions.changes(action)) { $1 } }
            return changes
        }
    }

    /// Changes a product's document by the keys that are made of the product as it is. A change that was meant for an
    /// older revision is refused.
    static func change(
        _ action: ActionRequest, _ keys: (ControlAPI.ManagedProduct) throws -> [String: ControlAPI.CatalogValue]
    ) async throws -> ActionOutcome {
        let (bundle, id) = (action.page.parameter("bundle"), action.page.parameter("product"))
        let known: ControlAPI.ManagedProduct = try await action.api.ask(.managed(.product(bundle, id)))
        let changed: ControlAPI.ManagedProduct = try await action.api.send(
            .managed(.changeProduct(bundle, id)),
            ControlAPI.ManagedProductChange(
                revision: try revision(action), changes: .object(try keys(known)), by: author))
        return .done(back(action), message: "Saved. The product is in “\(changed.stateName)”.")
    }

    @Sendable private static func submit(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, id) = (action.page.parameter("bundle"), action.page.parameter("product"))
        let submitted: [ControlAPI.ManagedProduct] = try await action.api.send(
            .managed(.submit(bundle)),
            ControlAPI.Submission(
                products: [.init(productId: id, revision: try revision(action))], appVersion: nil, by: author))
        return .done(back(action), message: "Submitted. The product is in “\(submitted.first?.stateName ?? "review")”.")
    }

    @Sendable private static func delete(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, id) = (action.page.parameter("bundle"), action.page.parameter("product"))
        try await action.api.perform(
            .managed(.deleteProduct(bundle, id, revision: try revision(action), by: author)))
        return .done("managed/\(bundle.percentEncoded)", message: "Deleted \(id).")
    }
}
