import ConsolePages
import ControlWire
import Foundation
import StoreWire

/// Addresses, roots, secrets, limits, the audit list, and snippets for other languages.
enum SettingsPages {
    static let routes = [
        PageRoute(path: "settings", area: .settings, needsStore: false, topics: [.audit, .processes], make: settings),
        PageRoute(path: "snippets", area: .snippets, needsStore: false, make: snippets),
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
        guard request.api.hasStore else {
            var page = ConsolePage("Settings")
            page.sections = [addresses(request, [:])] + (await MerchantSettings.sections(request))
            page.commands = MerchantSettings.commands(request)
            return page
        }
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
            if let processes = settings.processes {
                page.sections.append(ProcessParts.section(request, processes))
            }
        } else {
            page.sections.append(addresses(request, [:]))
        }
        page.sections += [apps(request), secrets]
        if request.api.hasMerchant { page.sections += await MerchantSettings.sections(request) }
        if let audit: [ControlAPI.AuditEntry] = try? await request.api.ask(
            .audit(before: request.filter("before").flatMap { Int64($0) }, limit: 50))
        {
            page.sections.append(self.audit(request, audit))
        }
        page.commands = [
            ConsoleCode("The apps", "cornerstore app list"), ConsoleCode("The server", "cornerstore server settings"),
            ConsoleCode("Control port", request.curl(.settings)),
            ConsoleCode("Changes", request.curl(.audit(limit: 50))),
        ]
        if request.api.hasMerchant { page.commands += MerchantSettings.commands(request) }
        return page
    }

    private static func addresses(_ request: PageRequest, _ stated: [String: String]) -> ConsoleSection {
        var section = ConsoleSection("addresses", "Addresses")
        let known = request.api.backends.addresses.all.merging(stated) { $1 }
        section.facts = known.sorted { $0.key < $1.key }.map {
            ConsoleFact(ports[$0.key] ?? $0.key, $0.value, isID: true)
        }
        return section
    }

    private static func store(_ request: PageRequest, _ settings: ControlAPI.Settings) -> [ConsoleSection] {
        var server = ConsoleSection("server", "Server")
        server.facts =
            [
                ConsoleFact("Version", settings.version), ConsoleFact("Database", settings.database),
                ConsoleFact("Data directory", settings.dataDirectory), ConsoleFact("Node", "\(settings.node)"),
                ConsoleFact("Admin token", settings.needsAdminToken ? "required" : "none; this machine only"),
            ]
        var limits = ConsoleSection(
            "limits", "Limits and rates",
            text: "Options of “cornerstore serve” change the rates and the limits on connections and memory.")
        limits.facts =
            settings.limits.sorted { $0.key < $1.key }.map { name, value in
                guard let words = limitNames[name] else { return ConsoleFact(name, "\(value)") }
                return ConsoleFact(words, "\(value)", note: name)
            }
            + rates.map { name, words in
                ConsoleFact(
                    words,
                    settings.rates?[name].map { MerchantSettings.words(burst: $0.burst, perSecond: $0.perSecond) }
                        ?? "not limited")
            }
        var roots = ConsoleSection("roots", "Roots")
        var table = ConsoleTable(
            "Root certificates", [ConsoleColumn("Root"), ConsoleColumn("SHA-256")], nothing: "None.")
        for root in settings.roots {
            let name = ["receipts": "Receipts", "jws": "Signed payloads (JWS)"][root.name] ?? root.name
            table.add([ConsoleCell(name), ConsoleCell(root.sha256, isID: true)])
        }
        roots.table = table
        return [addresses(request, settings.addresses), server, limits, roots]
    }

    private static let ports = [
        "control": "Control port", "sandbox": "Sandbox", "production": "Production", "storefront": "Storefront",
        "merchant": "Merchant", "console": "Console",
    ]

    private static let limitNames = [
        "connections": "Connections of each port", "connectionsPerAddress": "Connections of each address",
        "bodyBytes": "Bytes of request bodies in memory", "bodySeconds": "Seconds to send a request's body",
        "answerSeconds": "Seconds to take an answer", "sheets": "Payment sheets that wait",
        "eventStreams": "Streams of changes", "loggedRequests": "Requests in the log",
    ]

    private static let rates = [
        ("signInsOfAddress", "Failed sign-ins of each address"),
        ("signInsOfAccount", "Failed sign-ins of each account"),
        ("searchesOfAddress", "Searches of each address"),
    ]

    private static func apps(_ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection("apps", "Apps")
        var table = ConsoleTable(
            "Apps that the store knows",
            [
                ConsoleColumn("App"), ConsoleColumn("Bundle id"), ConsoleColumn("Number"),
                ConsoleColumn("Products", isNumber: true), ConsoleColumn("State"),
            ],
            nothing:
                "No apps yet. Start the store with a .storekit file, or register an app whose products the store manages:",
            command: "cornerstore app register com.example.app")
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
        section.links = [ConsoleLink("Keys of the server API", request.link("api-keys"))]
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
            nothing:
                "No changes yet. The list shows changes made in the console, with commands and by programs. Make the first one:",
            command: "cornerstore clock freeze\(request.flag)")
        for entry in entries.prefix(50) {
            let (words, route) = words(entry)
            let note = [route, entry.environment].compactMap { $0 }.joined(separator: " · ").nonEmpty
            table.add([
                request.machineMoments.cell(entry.date), ConsoleCell(words, note: note),
                ConsoleCell(entry.subject ?? "—"), ConsoleCell(entry.operatorName ?? "—"), ConsoleCell(change(entry)),
            ])
        }
        if entries.count == 50, let last = entries.last {
            table.next = request.link("settings", [("before", "\(last.number)")]) + "#audit"
        }
        if request.query["before"] != nil { table.first = request.link("settings") + "#audit" }
        section.table = table
        return section
    }

    /// A change in the words of the form that makes it, and its route; the route alone when forms differ.
    static func words(_ entry: ControlAPI.AuditEntry) -> (words: String, route: String?) {
        changes[entry.operation].map { ($0, entry.operation) } ?? (entry.operation, nil)
    }

    private static let changes: [String: String] = {
        var found: [String: Set<String>] = [:]
        for action in PageController.actions where action.routes.count == 1 {
            guard let change = action.change, let route = action.routes.first else { continue }
            found["\(route.method.rawValue) \(route.template)", default: []].insert(change)
        }
        return found.compactMapValues { changes in
            changes.count == 1 ? changes.first.map { $0.prefix(1).uppercased() + $0.dropFirst() } : nil
        }
    }()

    /// The states before and after a change.
    static func change(_ entry: ControlAPI.AuditEntry) -> String {
        guard entry.before != nil || entry.after != nil else { return "—" }
        return "\((entry.before ?? "—").prefix(200)) → \((entry.after ?? "—").prefix(200))"
    }

    // MARK: Snippets

    @Sendable private static func snippets(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Snippets")
        var webhook = ConsoleSection(
            "webhook", "Take a webhook",
            text:
                "Stop the \(request.api.hasStore ? "store" : "merchant") first. Standard Webhooks has libraries for other languages, which check the same signature."
        )
        webhook.codesHaveCommands = true
        webhook.codes = Snippets.webhook(hasStore: request.api.hasStore)
        guard request.api.hasStore else {
            var merchant = ConsoleSection("merchant", "Call the merchant")
            merchant.codesHaveCommands = true
            merchant.codes = Snippets.merchant(request.api.backends.addresses.base("merchant"))
            page.sections = [merchant, webhook]
            return page
        }
        page.text = "Programs with this store's addresses."
        let url = request.api.backends.addresses.base(request.environment.name) + StoreRoute.verifyReceipt.path
        let app = request.apps.first { $0.bundleId == request.app } ?? request.apps.first
        let bundle = app?.bundleId ?? "com.example.app"
        var verify = ConsoleSection(
            "verify", "Verify a receipt",
            text:
                "Each reads the file receipt and says whether the store takes it. A receipt with an auto-renewable subscription needs the app's shared secret, in CORNERSTORE_SHARED_SECRET."
        )
        verify.codesHaveCommands = true
        verify.codes = Snippets.verify(url, bundle: bundle)
        var check = ConsoleSection(
            "check", "Check a JWS",
            text:
                "Each reads the files payload and jws-root.der, a copy of the store's roots/jws-root.der, and prints the signed payload. With Apple's root they check Apple's payloads."
        )
        check.codesHaveCommands = true
        check.codes = Snippets.check(
            isProduction: request.environment == .production, bundle: bundle, app: app?.appId ?? 1_000_000)
        var merchant = ConsoleSection("merchant", "Call the merchant")
        merchant.codesHaveCommands = true
        merchant.codes = Snippets.merchant(request.api.backends.addresses.base("merchant"))
        page.sections = request.api.hasMerchant ? [verify, check, merchant, webhook] : [verify, check]
        page.commands = [ConsoleCode("Verify a receipt file", "cornerstore receipt verify receipt")]
        return page
    }
}
