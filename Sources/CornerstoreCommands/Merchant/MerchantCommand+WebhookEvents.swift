import ArgumentParser
import Merchant
import MerchantWire

extension MerchantCommand.Webhooks {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List events of all states, newest first.",
            discussion: """
                  cornerstore merchant webhooks list
                  cornerstore merchant webhooks list --state delivered --limit 200 --json
                  cornerstore merchant webhooks list --purchase KEY
                """)

        @Option(
            help: ArgumentHelp(
                "The only state to list: \(WebhookState.allCases.map(\.rawValue).joined(separator: ", ")).",
                valueName: "state"))
        var state: WebhookState?
        @Option(
            help: ArgumentHelp(
                "The only purchase to list the events of, by its key in the books (“merchant transaction”).",
                valueName: "key"))
        var purchase: String?
        @Option(help: ArgumentHelp("Show only events before this one.", valueName: "event"))
        var before: String?
        @OptionGroup var page: MerchantCommand.PageOptions
        @OptionGroup var place: MerchantCommand.PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (state, purchase, before, limit) = (state, purchase, before, page.limit)
            let list = try await place.withMerchant {
                try await $0.webhookEvents(state, about: purchase, before: before, limit: limit)
            }
            try Console.current.report(list, json: output.json) { style in
                let more = MerchantCommand.PageOptions.more("--before", list.next, style)
                guard !list.events.isEmpty else { return "No events." + more }
                return Table(
                    heading: ["event", "type", "state", "created", "attempts", "last failure", "next attempt"],
                    rows: list.events.map {
                        [
                            $0.eventID, $0.type, $0.state.rawValue, Moment.text($0.createdAt), "\($0.attempts)",
                            $0.reason ?? "", $0.nextAttemptAt.map(Moment.text) ?? "",
                        ]
                    }
                ).text(style) + more
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an event, its body and the attempts to deliver it.",
            discussion: "  cornerstore merchant webhooks show 019391f0-77a1-7c3e-9b1d-0d2f6a5b8c11-5f2a90c1")

        @Argument(help: ArgumentHelp("The event's id, as listed by “webhooks list”.", valueName: "event"))
        var event: String
        @OptionGroup var place: MerchantCommand.PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let event = event
            let found = try await place.withMerchant { merchant in
                try await MerchantCommand.Webhooks.known(event) { try await merchant.webhookEvent(event) }
            }
            try Console.current.report(found, json: output.json) { Self.text(found, $0) }
        }

        private static func text(_ found: WebhookEventDescription, _ style: Style) -> String {
            let event = found.event
            var parts = [
                "\(style.bold(Style.printable(event.eventID)))  \(event.type)  \(event.state.rawValue)  "
                    + Moment.text(event.createdAt),
                Style.printable(found.body),
            ]
            if !found.attempts.isEmpty {
                parts.append(
                    Table(
                        heading: ["attempt", "sent", "ms", "status", "failure", "next attempt", "answer"],
                        rows: found.attempts.map {
                            [
                                "\($0.attempt)", Moment.text($0.sentAt), "\($0.duration)",
                                $0.status.map(String.init) ?? "", $0.reason ?? "",
                                $0.nextAttemptAt.map(Moment.text) ?? "", String(($0.answer ?? "").prefix(100)),
                            ]
                        }
                    ).text(style))
            }
            return parts.joined(separator: "\n\n")
        }
    }

    struct Send: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send events again, whatever their state.",
            discussion: """
                The backend sees the same webhook-id as before. A running server sends the events within seconds.

                  cornerstore merchant webhooks send 019391f0-77a1-7c3e-9b1d-0d2f6a5b8c11-5f2a90c1
                """)

        @Argument(help: ArgumentHelp("The events' ids, as listed by “webhooks list”.", valueName: "event"))
        var events: [String]
        @OptionGroup var place: MerchantCommand.PlaceOptions

        func run() async throws {
            let events = events
            try await place.withMerchant { merchant in
                for event in events {
                    try await MerchantCommand.Webhooks.known(event) { try await merchant.resendWebhook(event) }
                }
            }
            Console.current.print(events.count == 1 ? "1 event is queued." : "\(events.count) events are queued.")
        }
    }

    /// Runs `body`, and says which event is unknown.
    fileprivate static func known<T>(_ event: String, _ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as MerchantError where error.code == .notFound {
            throw CommandError(
                .refused,
                "No event has the id \(Style.printable(event)). List the events with “cornerstore merchant webhooks list”."
            )
        }
    }
}

extension WebhookState: ExpressibleByArgument {}
