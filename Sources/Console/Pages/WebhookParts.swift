import ConsolePages
import Foundation
import MerchantWire

/// The merchant's webhooks: the list by state, and one with its attempts.
enum WebhookParts {
    /// The table of events.
    static func section(_ request: PageRequest) async throws -> ConsoleSection {
        var section = ConsoleSection(
            "webhooks", "Webhooks of the merchant",
            text:
                "The merchant retries each webhook for days. A webhook that was not delivered by then is dead, and can be sent again.",
            isLive: request.query["before"] == nil)
        let state = request.filter("state").flatMap(WebhookState.init(rawValue:))
        section.filter = ConsoleForm(
            action: request.action("notifications"), method: "get",
            fields: [
                ConsoleField(
                    "state", "State", .choice,
                    options: [ConsoleOption("", "All")]
                        + WebhookState.allCases.map { ConsoleOption($0.rawValue, $0.rawValue, isChosen: $0 == state) })
            ], button: "Filter", isLine: true)
        let nothing =
            state.map { "No webhooks in the state “\($0.rawValue)”. Send a test event:" }
            ?? "No webhooks. The merchant sends them to the address in its settings. Send a test event:"
        do {
            let list: WebhookEventList = try await request.api.ask(
                MerchantRoute.webhookEvents(state: state, before: request.filter("hook"), limit: 50))
            var table = table(list.events, request, caption: "Webhooks, newest first", nothing: nothing)
            table.next = list.next.map {
                request.link("notifications", [("state", state?.rawValue), ("hook", $0)]) + "#webhooks"
            }
            if request.query["hook"] != nil {
                table.first = request.link("notifications", [("state", state?.rawValue)]) + "#webhooks"
            }
            table.command = "cornerstore merchant webhooks test"
            section.table = table
        } catch let problem as APIProblem { section.warning = problem.message }
        section.forms = [
            ConsoleForm(
                action: request.action("webhooks/test"), button: "Send a test event",
                text: "Shows whether the receiver takes an event and checks its signature.")
        ]
        return section
    }

    /// The table of events.
    static func table(
        _ events: [WebhookEventSummary], _ request: PageRequest, caption: String, nothing: String
    ) -> ConsoleTable {
        var table = ConsoleTable(
            caption,
            [
                ConsoleColumn("Event"), ConsoleColumn("Type"), ConsoleColumn("Made"), ConsoleColumn("State"),
                ConsoleColumn("Tries", isNumber: true), ConsoleColumn("Do"),
            ], nothing: nothing)
        for event in events.prefix(50) {
            table.add([
                ConsoleCell(event.eventID, link: request.link("webhooks/\(event.eventID.percentEncoded)"), isID: true),
                ConsoleCell(event.type), request.machineMoments.cell(Moments.iso(event.createdAt)),
                ConsoleCell(event.state.rawValue, note: event.reason, tone: tone(event.state)),
                ConsoleCell("\(event.attempts)"),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Send again", about: "Send \(event.eventID) again",
                        action: request.action("webhooks/send"), hidden: [ConsoleHidden("event", event.eventID)])
                ]),
            ])
        }
        return table
    }

    static func tone(_ state: WebhookState) -> ConsoleTone {
        switch state {
        case .waiting: .warn
        case .delivered: .good
        case .dead: .bad
        }
    }

    /// The page of one event.
    @Sendable static func one(_ request: PageRequest) async throws -> ConsolePage {
        let id = request.parameter("event")
        let found: WebhookEventDescription = try await request.api.ask(MerchantRoute.webhookEvent(id))
        let event = found.event
        var page = ConsolePage("Webhook \(event.type)")
        page.trail = [ConsoleLink("Notifications", request.link("notifications"))]
        var summary = ConsoleSection("summary", "Event", isLive: true)
        summary.facts = [
            ConsoleFact("State", event.state.rawValue, note: event.reason, tone: tone(event.state)),
            ConsoleFact("Event", event.eventID, isID: true),
            request.machineMoments.fact("Made", Moments.iso(event.createdAt)),
            request.machineMoments.fact("Next try", event.nextAttemptAt.map(Moments.iso), absent: "none"),
            ConsoleFact(
                "Signature", "HMAC-SHA256",
                note: "Of the body and its time, with the secret of “cornerstore merchant webhooks secret”."),
        ]
        summary.forms = [
            ConsoleForm(
                action: request.action("webhooks/send"), hidden: [ConsoleHidden("event", id)], button: "Send again")
        ]
        var attempts = ConsoleSection("attempts", "Attempts", isLive: true)
        var table = ConsoleTable(
            "Attempts",
            [
                ConsoleColumn("When"), ConsoleColumn("Status"), ConsoleColumn("Duration", isNumber: true),
                ConsoleColumn("Answer"),
            ], nothing: "No attempts yet.")
        for attempt in found.attempts.prefix(50) {
            let isGood = attempt.status.map { (200..<300).contains($0) } == true
            table.add([
                request.machineMoments.cell(Moments.iso(attempt.sentAt)),
                ConsoleCell(
                    attempt.status.map(String.init) ?? "none", note: attempt.reason, tone: isGood ? .good : .bad),
                ConsoleCell("\(attempt.duration) ms"), ConsoleCell(attempt.answer ?? "—"),
            ])
        }
        attempts.table = table
        var body = ConsoleSection("body", "Body")
        body.codes = [ConsoleCode("JSON", found.body)]
        page.sections = [summary, attempts, body]
        page.commands = [ConsoleCode("Dead webhooks", "cornerstore merchant webhooks dead")]
        return page
    }
}
