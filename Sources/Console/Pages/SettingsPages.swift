import ConsolePages
import ControlWire
import Foundation
import StoreWire

/// Addresses, roots, secrets, limits, the audit list, and snippets for other languages.
enum SettingsPages {
    static let routes = [
        PageRoute(path: "settings", area: .settings, topics: [.audit], make: settings),
        PageRoute(path: "snippets", area: .snippets, make: snippets),
    ]

    static let actions = [
        ConsoleAction(
            path: "settings/tester", routes: [.control(.revealTester)], page: "settings"
        ) { action in
            let tester: ControlAPI.TesterPassword = try await action.api.ask(.revealTester)
            return .page(
                revealed(
                    action, "Sandbox tester",
                    [
                        ConsoleFact("E-mail address", tester.email, isID: true),
                        ConsoleFact("Password", tester.password, isID: true),
                    ]))
        },
        ConsoleAction(
            path: "settings/secret", routes: [.control(.revealSecret(bundle: ""))], page: "settings"
        ) { action in
            let bundle = try action.required("bundle", "App")
            let secret: ControlAPI.SharedSecret = try await action.api.ask(.revealSecret(bundle: bundle))
            return .page(
                revealed(
                    action, "Shared secret of \(bundle)",
                    [ConsoleFact("Shared secret", secret.sharedSecret, isID: true)]))
        },
    ]

    /// A page with a secret, which the browser leaves after 30 seconds.
    private static func revealed(_ action: ActionRequest, _ heading: String, _ facts: [ConsoleFact]) -> ConsolePage {
        var page = ConsolePage(heading)
        page.trail = [ConsoleLink("Settings", action.page.link("settings"))]
        page.message = "Shown for 30 seconds."
        page.leave = action.page.link("settings")
        var section = ConsoleSection("secret", heading)
        section.facts = facts
        page.sections = [section]
        return page
    }

    @Sendable private static func settings(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Settings")
        var secrets = ConsoleSection("secrets", "Secrets", text: "Shown for 30 seconds, when asked for.")
        secrets.forms = [
            ConsoleForm("Sandbox tester", action: request.action("settings/tester"), button: "Show the password")
        ]
        if !request.apps.isEmpty {
            secrets.forms.append(
                ConsoleForm(
                    "Shared secret", action: request.action("settings/secret"),
                    fields: [
                        ConsoleField(
                            "bundle", "App", .choice,
                            options: request.apps.prefix(500).map { ConsoleOption($0.bundleId, $0.name ?? $0.bundleId) }
                        )
                    ], button: "Show the secret"))
        }
        if let settings: ControlAPI.Settings = try? await request.api.ask(ControlRoute.settings) {
            page.sections += store(request, settings)
        } else {
            var section = ConsoleSection("addresses", "Addresses")
            section.facts = request.api.backends.addresses.all.sorted { $0.key < $1.key }.map {
                ConsoleFact($0.key, $0.value, isID: true)
            }
            page.sections.append(section)
        }
        page.sections += [apps(request), secrets]
        if let audit: [ControlAPI.AuditEntry] = try? await request.api.ask(
            .audit(before: request.filter("before").flatMap { Int64($0) }, limit: 50))
        {
            page.sections.append(self.audit(request, audit))
        }
        page.commands = [
            ConsoleCode("The apps", "cornerstore app list"), ConsoleCode("Control port", request.curl(.settings)),
            ConsoleCode("Changes", request.curl(.audit(limit: 50))),
        ]
        return page
    }

    private static func store(_ request: PageRequest, _ settings: ControlAPI.Settings) -> [ConsoleSection] {
        var addresses = ConsoleSection("addresses", "Addresses")
        var known = request.api.backends.addresses.all
        known.merge(settings.addresses) { $1 }
        addresses.facts = known.sorted { $0.key < $1.key }.map { ConsoleFact($0.key, $0.value, isID: true) }
        var server = ConsoleSection("server", "Server")
        server.facts =
            [
                ConsoleFact("Version", settings.version), ConsoleFact("Database", settings.database),
                ConsoleFact("Data directory", settings.dataDirectory), ConsoleFact("Node", "\(settings.node)"),
                ConsoleFact("Admin token", settings.needsAdminToken ? "required" : "none; this machine only"),
            ] + settings.limits.sorted { $0.key < $1.key }.map { ConsoleFact($0.key, "\($0.value)") }
        var roots = ConsoleSection("roots", "Roots")
        var table = ConsoleTable(
            "Root certificates", [ConsoleColumn("Root"), ConsoleColumn("SHA-256")], nothing: "None.")
        for root in settings.roots { table.add([ConsoleCell(root.name), ConsoleCell(root.sha256, isID: true)]) }
        roots.table = table
        return [addresses, server, roots]
    }

    private static func apps(_ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection("apps", "Apps")
        var table = ConsoleTable(
            "Apps that the store knows",
            [
                ConsoleColumn("App"), ConsoleColumn("Bundle id"), ConsoleColumn("Number"),
                ConsoleColumn("Products", isNumber: true), ConsoleColumn("State"),
            ],
            nothing: "No app. Start the store with a .storekit file.")
        for app in request.apps.prefix(50) {
            table.add([
                ConsoleCell(app.name ?? app.bundleId), ConsoleCell(app.bundleId, isID: true),
                ConsoleCell("\(app.appId)"),
                ConsoleCell("\(app.productIds.count)"),
                ConsoleCell(
                    app.isInCatalog ? "In the catalog" : "Not in the catalog", tone: app.isInCatalog ? .good : .dim),
            ])
        }
        section.table = table
        return section
    }

    private static func audit(_ request: PageRequest, _ entries: [ControlAPI.AuditEntry]) -> ConsoleSection {
        var section = ConsoleSection("audit", "Changes by operators", isLive: request.query["before"] == nil)
        var table = ConsoleTable(
            "Changes, newest first",
            [
                ConsoleColumn("When"), ConsoleColumn("Change"), ConsoleColumn("Of"), ConsoleColumn("By"),
                ConsoleColumn("Before → after"),
            ],
            nothing: "Changes that people make in the console, with commands or programs stand here.")
        for entry in entries.prefix(50) {
            let change =
                [entry.before, entry.after].contains { $0 != nil }
                ? "\((entry.before ?? "—").prefix(200)) → \((entry.after ?? "—").prefix(200))" : "—"
            table.add([
                request.moments.cell(entry.date), ConsoleCell(entry.operation, note: entry.environment),
                ConsoleCell(entry.subject ?? "—"), ConsoleCell(entry.operatorName ?? "—"), ConsoleCell(change),
            ])
        }
        if entries.count == 50, let last = entries.last {
            table.next = request.link("settings", [("before", "\(last.number)")]) + "#audit"
        }
        section.table = table
        return section
    }

    // MARK: Snippets

    @Sendable private static func snippets(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Snippets")
        page.text = "With this store's addresses. Each reads a receipt in Base64 and says whether the store takes it."
        let url = request.api.backends.addresses.base(request.environment.name) + StoreRoute.verifyReceipt.path
        var verify = ConsoleSection("verify", "Verify a receipt")
        verify.codes = Snippets.verify(url)
        var merchant = ConsoleSection("merchant", "Call the merchant")
        merchant.codes = Snippets.merchant(request.api.backends.addresses.base("merchant"))
        page.sections = request.api.hasMerchant ? [verify, merchant] : [verify]
        page.commands = [ConsoleCode("Verify a receipt file", "cornerstore receipt verify receipt")]
        return page
    }
}
