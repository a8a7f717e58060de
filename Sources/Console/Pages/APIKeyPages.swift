import ConsolePages
import ControlWire
import StoreWire

/// The keys with which apps' servers call the App Store Server API.
enum APIKeyPages {
    static let routes = [PageRoute(path: "api-keys", area: .settings, topics: [.audit], make: list)]

    static let actions = [
        ConsoleAction(
            path: "api-keys/make", routes: [.control(.makeAPIKey)], page: "api-keys",
            change: "make a key of the server API", perform: make),
        // Servers with the key are refused in both environments.
        ConsoleAction(
            path: "api-keys/revoke", routes: [.control(.revokeAPIKey(name: ""))], page: "api-keys",
            change: "revoke a key of the server API", isFinal: true, perform: revoke),
    ]

    /// The most keys on a page.
    private static let most = 50

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        let all: [ControlAPI.APIKey] = try await request.api.ask(ControlRoute.apiKeys)
        let found = all.reversed().filter { request.app == nil || $0.bundleId == request.app }
        let from = request.offset("keys", in: found.count)
        var page = ConsolePage("Keys of the server API")
        page.trail = [ConsoleLink("Settings", request.link("settings"))]
        let app = request.app ?? request.apps.first?.bundleId ?? "com.example.app"
        var section = ConsoleSection(
            "keys", "Keys", text: "With a key, an app's server signs its requests to both environments.",
            isLive: from == 0)
        var table = ConsoleTable(
            "Keys, the newest first",
            [
                ConsoleColumn("Key"), ConsoleColumn("App"), ConsoleColumn("Issuer"), ConsoleColumn("Made"),
                ConsoleColumn("Do"),
            ], nothing: "No API keys yet. Create one below, or run:",
            command: "cornerstore key make --app \(app.shellWord)")
        for key in found.dropFirst(from).prefix(most) {
            let revoke = ConsoleButton(
                "Revoke", about: "Revoke the key \(key.keyId)", action: request.action("api-keys/revoke"),
                hidden: [ConsoleHidden("name", key.keyId)], tone: .bad)
            table.add([
                ConsoleCell(key.keyId, isID: true), ConsoleCell(key.bundleId), ConsoleCell(key.issuerId, isID: true),
                request.machineMoments.cell(key.createdDate),
                key.revokedDate.map { ConsoleCell("Revoked", note: Moments.text($0), tone: .dim) }
                    ?? ConsoleCell(buttons: [revoke]),
            ])
        }
        if found.count > from + most { table.next = request.link("api-keys", [("keys", "\(from + most)")]) }
        if from > 0 { table.first = request.link("api-keys") }
        section.table = table
        if !request.apps.isEmpty {
            section.forms = [
                ConsoleForm(
                    "Make a key", action: request.action("api-keys/make"),
                    fields: [
                        ConsoleField(
                            "bundle", "App", .choice,
                            options: request.apps.prefix(500).map {
                                ConsoleOption(
                                    $0.bundleId, $0.name ?? $0.bundleId, isChosen: $0.bundleId == request.app)
                            })
                    ], button: "Make",
                    text: "The private half is shown for 30 seconds, and not again. The store does not keep it.")
            ]
        }
        page.sections = [section]
        page.commands = [
            ConsoleCode("Keys", "cornerstore key list"),
            ConsoleCode("Make a key, with its .p8 file", "cornerstore key make --app \(app.shellWord)"),
            ConsoleCode("Control port", request.curl(.apiKeys)),
        ]
        return page
    }

    @Sendable private static func make(_ action: ActionRequest) async throws -> ActionOutcome {
        let made: ControlAPI.CreatedAPIKey = try await action.api.send(
            ControlRoute.makeAPIKey, ControlAPI.NewAPIKey(bundleId: try action.required("bundle", "App")))
        var page = ConsolePage("The key \(made.key.keyId)")
        page.message = "Copy the private half now. It is shown for 30 seconds, and not again."
        page.leave = action.page.link("api-keys")
        page.trail = [
            ConsoleLink("Settings", action.page.link("settings")),
            ConsoleLink("Keys of the server API", action.page.link("api-keys")),
        ]
        var section = ConsoleSection("key", "Key")
        section.facts = [
            ConsoleFact("Key", made.key.keyId, note: "kid", isID: true),
            ConsoleFact("Issuer", made.key.issuerId, note: "iss", isID: true),
            ConsoleFact("App", made.key.bundleId, note: "bid", isID: true),
        ]
        section.codes = [ConsoleCode("SubscriptionKey_\(made.key.keyId).p8", made.privateKey)]
        page.sections = [section]
        return .page(page)
    }

    @Sendable private static func revoke(_ action: ActionRequest) async throws -> ActionOutcome {
        let name = try action.required("name", "Key")
        let revoked: ControlAPI.APIKey = try await action.api.ask(ControlRoute.revokeAPIKey(name: name))
        return .done("api-keys", message: "The key \(revoked.keyId) no longer opens anything.")
    }
}
