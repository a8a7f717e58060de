import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// App Store Server Notifications: the apps' URLs, what was sent and with which result, and one notification.
enum ServerNotificationPages {
    static let routes = [
        PageRoute(path: "server-notifications", area: .notifications, topics: [.transactions], make: list),
        PageRoute(path: "server-notifications/{id}", area: .notifications, topics: [.transactions], make: one),
    ]

    static let actions = [
        ConsoleAction(
            path: "server-notifications/set-url",
            routes: [.control(.notifications(.setReceiver(.sandbox, bundle: "")))], page: "server-notifications",
            change: "set an app's URL for notifications", perform: setURL),
        ConsoleAction(
            path: "server-notifications/remove-url",
            routes: [.control(.notifications(.removeReceiver(.sandbox, bundle: "")))], page: "server-notifications",
            change: "remove an app's URL for notifications", perform: removeURL),
        ConsoleAction(
            path: "server-notifications/test", routes: [.control(.notifications(.test(.sandbox, bundle: "")))],
            page: "server-notifications", change: "send a test notification", perform: test),
        ConsoleAction(
            path: "server-notifications/resend", routes: [.control(.notifications(.resend(.sandbox, id: "")))],
            page: "server-notifications", change: "send a notification again", perform: resend),
    ]

    // MARK: The list

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("App Store Server Notifications")
        page.trail = [ConsoleLink("Notifications", request.link("notifications"))]
        page.sections = [try await receivers(request), try await notifications(request)]
        page.commands = [
            ConsoleCode("Failed notifications", "cornerstore notification list --state failed\(request.flag)"),
            ConsoleCode("The URLs", "cornerstore notification url show\(request.flag)"),
            ConsoleCode(
                "A test notification",
                "cornerstore notification test --app \(firstApp(request).shellWord)\(request.flag)"),
            ConsoleCode("Control port", request.curl(.notifications(.list(request.environment, limit: 50)))),
        ]
        return page
    }

    private static func firstApp(_ request: PageRequest) -> String {
        request.app ?? request.apps.first?.bundleId ?? "com.example.app"
    }

    private static func receivers(_ request: PageRequest) async throws -> ConsoleSection {
        let all: [ControlAPI.NotificationReceiver] = try await request.api.ask(
            ControlRoute.notifications(.receivers(request.environment)))
        let found = all.filter { request.app == nil || $0.bundleId == request.app }
        var section = ConsoleSection(
            "urls", "URLs",
            text: "An app without a URL of its own uses the URL of the merchant beside the store, if one runs.",
            isLive: true)
        var table = ConsoleTable(
            "URLs by app",
            [
                ConsoleColumn("App"), ConsoleColumn("URL"), ConsoleColumn("Version"),
                ConsoleColumn("Redirects also to"), ConsoleColumn("Do"),
            ],
            nothing: "No URLs yet. Set one below, or run:",
            command: "cornerstore notification url set https://example.com/apple --app "
                + "\(firstApp(request).shellWord)\(request.flag)")
        for receiver in found.prefix(50) {
            let hidden = [ConsoleHidden("bundle", receiver.bundleId)]
            table.add([
                ConsoleCell(receiver.bundleId), ConsoleCell(receiver.url, isID: true),
                ConsoleCell("\(receiver.version)"),
                ConsoleCell(receiver.redirectOrigins.isEmpty ? "—" : receiver.redirectOrigins.joined(separator: " ")),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Test", about: "Test the URL of \(receiver.bundleId)",
                        action: request.action("server-notifications/test"), hidden: hidden),
                    ConsoleButton(
                        "Remove", about: "Remove the URL of \(receiver.bundleId)",
                        action: request.action("server-notifications/remove-url"), hidden: hidden, tone: .bad),
                ]),
            ])
        }
        section.table = table
        guard !request.apps.isEmpty else { return section }
        section.forms = [
            ConsoleForm(
                "Set a URL", action: request.action("server-notifications/set-url"),
                fields: [
                    ConsoleField(
                        "bundle", "App", .choice,
                        options: request.apps.prefix(500).map {
                            ConsoleOption($0.bundleId, $0.name ?? $0.bundleId, isChosen: $0.bundleId == request.app)
                        }),
                    ConsoleField(
                        "url", "URL", hint: "An https URL, or http on the store's machine.", isRequired: true),
                    ConsoleField(
                        "version", "Version", .choice, options: [ConsoleOption("2", "2"), ConsoleOption("1", "1")],
                        hint: "Apple has deprecated version 1."),
                    ConsoleField(
                        "redirects", "Redirects may also lead to",
                        hint: "Origins such as https://hooks.example.com. May be empty."),
                ], button: "Set")
        ]
        return section
    }

    private static func notifications(_ request: PageRequest) async throws -> ConsoleSection {
        let (type, state) = (request.filter("type"), request.filter("state"))
        let before = request.filter("before")
        var section = ConsoleSection(
            "list", "Sent notifications",
            text: "Production sends a failed notification again for days; the sandbox does not.", isLive: before == nil)
        section.filter = filterForm(request, type: type, state: state)
        var table = ConsoleTable(
            "Notifications, newest first",
            [
                ConsoleColumn("Type"), ConsoleColumn("When"), ConsoleColumn("App"), ConsoleColumn("Transaction"),
                ConsoleColumn("State"), ConsoleColumn("Last result"), ConsoleColumn("Do"),
            ], nothing: "No notifications yet. The store sends them to an app's URL when a purchase changes.")
        var found = ControlAPI.Page<ControlAPI.Notification>(rows: [], next: nil)
        do {
            found = try await request.api.ask(
                ControlRoute.notifications(
                    .list(
                        request.environment, bundle: request.app, type: type, state: state, before: before,
                        limit: 50)))
            if type != nil || state != nil {
                table.nothing =
                    found.next == nil
                    ? "No notification matches." : "None of the newest 20,000 notifications matches."
            }
        } catch let problem as APIProblem where problem.status == 400 {
            section.filter?.problem = problem.message
            table.nothing = "Change the filter."
        }
        for notification in found.rows.prefix(50) { table.add(row(notification, request)) }
        let pairs = [("type", type), ("state", state)]
        table.next = found.next.map { request.link("server-notifications", pairs + [("before", $0)]) }
        if found.rows.count < 50 { table.nextLabel = "Look further" }
        if before != nil { table.first = request.link("server-notifications", pairs) }
        section.table = table
        return section
    }

    private static func filterForm(_ request: PageRequest, type: String?, state: String?) -> ConsoleForm {
        ConsoleForm(
            action: request.action("server-notifications"), method: "get",
            fields: [
                ConsoleField("type", "Type", .search, value: type ?? "", hint: "Like DID_RENEW"),
                ConsoleField(
                    "state", "State", .choice,
                    options: [ConsoleOption("", "All")]
                        + ["waiting", "delivered", "failed"].map {
                            ConsoleOption($0, stateWord($0), isChosen: $0 == state)
                        }),
            ], hidden: request.app.map { [ConsoleHidden("app", $0)] } ?? [], button: "Filter", isLine: true)
    }

    private static func row(_ notification: ControlAPI.Notification, _ request: PageRequest) -> [ConsoleCell] {
        let id = notification.notificationUUID
        let last = notification.sendAttempts.last
        return [
            ConsoleCell(
                notification.notificationType + (notification.isSample ? " (sample)" : ""),
                link: request.link("server-notifications/\(id.percentEncoded)"),
                note: notification.subtype),
            request.moments.cell(notification.signedDate), ConsoleCell(notification.bundleId),
            ConsoleCell(
                notification.transactionId ?? "—",
                link: notification.transactionId.map { request.link("transactions/\($0.percentEncoded)") },
                isID: notification.transactionId != nil),
            ConsoleCell(stateWord(notification.state), tone: tone(notification.state)),
            ConsoleCell(
                last?.sendAttemptResult ?? "—",
                note: notification.sendAttempts.count > 1 ? "\(notification.sendAttempts.count) attempts" : nil),
            ConsoleCell(buttons: [
                ConsoleButton(
                    "Send again", about: "Send the notification \(id) again",
                    action: request.action("server-notifications/resend"), hidden: [ConsoleHidden("id", id)])
            ]),
        ]
    }

    /// A state of the control port in words.
    private static func stateWord(_ state: String) -> String { state.prefix(1).uppercased() + state.dropFirst() }

    private static func tone(_ state: String) -> ConsoleTone {
        switch state {
        case "delivered": .good
        case "failed": .bad
        default: .warn
        }
    }

    // MARK: One notification

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let found: ControlAPI.Notification = try await request.api.ask(
            ControlRoute.notifications(.notification(request.environment, id: request.parameter("id"))))
        var page = ConsolePage("Notification \(found.notificationType)")
        page.trail = [
            ConsoleLink("Notifications", request.link("notifications")),
            ConsoleLink("App Store Server Notifications", request.link("server-notifications")),
        ]
        page.sections = [summary(found, request), attempts(found, request), payload(found)]
        let id = found.notificationUUID
        page.commands = [
            ConsoleCode("Show", "cornerstore notification show \(id.shellWord)\(request.flag)"),
            ConsoleCode("Send again", "cornerstore notification resend \(id.shellWord)\(request.flag)"),
            ConsoleCode("Control port", request.curl(.notifications(.notification(request.environment, id: id)))),
        ]
        return page
    }

    private static func summary(_ found: ControlAPI.Notification, _ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection("summary", "Notification", isLive: true)
        section.facts = [
            ConsoleFact("State", stateWord(found.state), tone: tone(found.state)),
            ConsoleFact(
                "Type", found.notificationType + (found.isSample ? " (sample)" : ""), note: "notificationType"),
        ]
        if let subtype = found.subtype { section.facts.append(ConsoleFact("Subtype", subtype, note: "subtype")) }
        section.facts += [
            ConsoleFact("App", found.bundleId), request.moments.fact("Happened", found.signedDate, note: "signedDate"),
            ConsoleFact("Identifier", found.notificationUUID, note: "notificationUUID", isID: true),
        ]
        let transactions = [
            ("Transaction", found.transactionId), ("Original transaction", found.originalTransactionId),
        ]
        for case (let name, let id?) in transactions {
            section.facts.append(
                ConsoleFact(name, id, link: request.link("transactions/\(id.percentEncoded)"), isID: true))
        }
        if found.state == "waiting" {
            section.facts.append(
                request.moments.fact("Next attempt", found.nextAttemptDate, absent: "as soon as possible"))
        }
        section.forms = [
            ConsoleForm(
                action: request.action("server-notifications/resend"),
                hidden: [ConsoleHidden("id", found.notificationUUID)], button: "Send again",
                text: "The identifier and the payload stay the same.")
        ]
        return section
    }

    private static func attempts(_ found: ControlAPI.Notification, _ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection("attempts", "Attempts", isLive: true)
        var table = ConsoleTable(
            "Attempts, oldest first", [ConsoleColumn("When"), ConsoleColumn("Result"), ConsoleColumn("Meaning")],
            nothing: "The store has not tried to send it.")
        for attempt in found.sendAttempts.prefix(50) {
            table.add([
                request.moments.cell(attempt.attemptDate),
                ConsoleCell(attempt.sendAttemptResult, tone: attempt.sendAttemptResult == "SUCCESS" ? .good : .bad),
                ConsoleCell(meaning(attempt.sendAttemptResult)),
            ])
        }
        section.table = table
        return section
    }

    private static func payload(_ found: ControlAPI.Notification) -> ConsoleSection {
        var section = ConsoleSection("payload", "Payload")
        if found.version == 1 {
            section.text =
                found.body == nil
                ? "The store writes the body before the first attempt."
                : "The body of version 1, without the app's shared secret."
            if let body = found.body {
                let json = PayloadJSON(bytes: Array(body.utf8))?.text ?? body
                section.codes = [ConsoleCode("JSON", String(json.prefix(100_000)))]
            }
            return section
        }
        guard let signed = found.signedPayload else {
            section.text = "The store signs the payload before the first attempt."
            return section
        }
        guard let json = NotificationPayload.readable(signed) else {
            section.warning = "The signed payload cannot be read."
            return section
        }
        section.text = "Signed as a JWS. The transaction and the renewal in it are signed too, and are shown decoded."
        section.codes = [ConsoleCode("JSON", String(json.prefix(100_000)))]
        return section
    }

    /// The meaning of Apple's `sendAttemptResult`, in the words of `Documentation/Notifications.md`.
    private static func meaning(_ result: String) -> String {
        switch result {
        case "SUCCESS": "The server answered with a status from 200 to 206."
        case "TIMED_OUT": "The answer was not complete in time."
        case "TLS_ISSUE": "The server spoke no TLS 1.2, or the store's machine does not trust its certificate."
        case "CIRCULAR_REDIRECT": "More than five redirects, or a redirect to an earlier address."
        case "NO_RESPONSE": "The server ended the connection before the head of an answer was complete."
        case "SOCKET_ISSUE": "No connection was established."
        case "UNSUPPORTED_CHARSET": "The answer's Content-Type names an unknown charset."
        case "INVALID_RESPONSE": "The answer is not HTTP, or its head or redirect is unusable."
        case "PREMATURE_CLOSE": "The server ended the connection in the body."
        case "UNSUCCESSFUL_HTTP_RESPONSE_CODE": "The server answered with another status."
        case "OTHER": "The server redirected to an origin that is not listed, or something else failed."
        default: "—"
        }
    }

    // MARK: Forms

    @Sendable private static func setURL(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = try action.required("bundle", "App")
        let url = try action.required("url", "URL")
        let origins = (action.text("redirects") ?? "").split { " ,".contains($0) }.map(String.init)
        let set: ControlAPI.NotificationReceiver = try await action.api.send(
            ControlRoute.notifications(.setReceiver(action.environment, bundle: bundle)),
            ControlAPI.NotificationReceiverChange(
                url: url, redirectOrigins: origins.isEmpty ? nil : origins,
                version: action.text("version").flatMap { Int($0) }))
        return .done("server-notifications", message: "Notifications of \(set.bundleId) are sent to \(set.url).")
    }

    @Sendable private static func removeURL(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = try action.required("bundle", "App")
        try await action.api.perform(ControlRoute.notifications(.removeReceiver(action.environment, bundle: bundle)))
        return .done("server-notifications", message: "Removed. \(bundle) has no URL of its own.")
    }

    @Sendable private static func test(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = try action.required("bundle", "App")
        let sent: ControlAPI.Notification = try await action.api.ask(
            ControlRoute.notifications(.test(action.environment, bundle: bundle)))
        return .done(
            "server-notifications/\(sent.notificationUUID.percentEncoded)",
            message: "The test notification is on its way. Load the page again for its result.")
    }

    @Sendable private static func resend(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = try action.required("id", "Notification")
        let sent: ControlAPI.Notification = try await action.api.ask(
            ControlRoute.notifications(.resend(action.environment, id: id)))
        return .done(
            "server-notifications/\(sent.notificationUUID.percentEncoded)",
            message: "The notification is sent again. Load the page again for its result.")
    }
}
