import ArgumentParser
import Merchant
import MerchantServer
import MerchantWire

extension MerchantCommand {
    struct Webhooks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set up webhooks, test the receiver, list events and send them again.",
            discussion: """
                If the backend does not accept an event for some days, the event is dead: the server keeps it but no longer sends it. Delivered events \
                are kept for 7 days, the newest 10,000 of them.

                  CORNERSTORE_WEBHOOK_SECRET=$(cornerstore merchant webhooks secret)
                  cornerstore merchant webhooks test --config merchant.yaml
                  cornerstore merchant webhooks list --state waiting
                  cornerstore merchant webhooks dead
                  cornerstore merchant webhooks replay --all
                """,
            subcommands: [
                Secret.self, Test.self, List.self, Show.self, Send.self, Dead.self, Replay.self,
            ], defaultSubcommand: Dead.self)

        struct Secret: ParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Create a secret for signing webhooks and print it.",
                discussion: """
                    The secret is 32 random bytes in the format of Standard Webhooks: whsec_ and Base64. The command does not store it. Give it to the \
                    server in CORNERSTORE_WEBHOOK_SECRET, and to the backend.

                      cornerstore merchant webhooks secret
                    """)

            func run() { Console.current.print(WebhookSecret.make()) }
        }

        struct Test: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Send the backend a test event.",
                discussion: """
                    The event's type is webhook.test. A running server signs and sends it within seconds, and retries until the backend answers with \
                    2xx. The command needs the server's “webhook” option (CORNERSTORE_MERCHANT_WEBHOOK, or --config).

                      cornerstore merchant webhooks test --config merchant.yaml
                    """)

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                guard try place.options().sendsWebhooks else {
                    throw CommandError(
                        .usage,
                        "No webhook receiver is configured. Give the server's receiver in CORNERSTORE_MERCHANT_WEBHOOK, or the server's file of "
                            + "options with --config.")
                }
                let sent = SentWebhook(eventID: try await place.withMerchant { try await $0.sendTestEvent() })
                try Console.current.report(sent, json: output.json) { style in
                    "The test event \(sent.eventID) is queued. A running server sends it within seconds.\n"
                        + style.dim(
                            "If the backend does not accept it, the server retries. “webhooks dead” lists the event when the server gives up."
                        )
                }
            }
        }

        struct Dead: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "List the 200 oldest dead events.",
                discussion: "  cornerstore merchant webhooks dead --json")

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let list = try await place.withMerchant { try await $0.deadWebhooks() }
                try Console.current.report(list, json: output.json) { style in
                    guard !list.events.isEmpty else { return "No dead events." }
                    let table = Table(
                        heading: ["event", "type", "created", "attempts", "last answer"],
                        rows: list.events.map {
                            [$0.eventID, $0.type, Moment.text($0.createdAt), "\($0.attempts)", $0.reason ?? ""]
                        })
                    return table.text(style)
                        + (list.events.count < MerchantLimits.page
                            ? "" : "\n" + style.dim("There may be more. These are the oldest 200."))
                }
            }
        }

        struct Replay: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Resend dead events, with the full number of attempts.",
                discussion: """
                    A running server sends the events within seconds. Otherwise the server sends them when it starts.

                      cornerstore merchant webhooks replay --all
                      cornerstore merchant webhooks replay 019391f0-77a1-7c3e-9b1d-0d2f6a5b8c11-5f2a90c1
                    """)

            @Argument(help: ArgumentHelp("The events' ids, as listed by “webhooks dead”.", valueName: "event"))
            var events: [String] = []
            @Flag(help: "Resend all dead events.")
            var all = false
            @OptionGroup var place: PlaceOptions

            func validate() throws {
                guard events.isEmpty == all else {
                    throw ValidationError(
                        all ? "Give events or --all, not both." : "Give an event, or --all for all dead events.")
                }
            }

            func run() async throws {
                let (all, events) = (all, events)
                let count = try await place.withMerchant { merchant in
                    guard !all else { return try await merchant.replayDeadWebhooks() }
                    for event in events {
                        do {
                            try await merchant.replayWebhook(event)
                        } catch let error as MerchantError where error.code == .notFound {
                            throw CommandError(
                                .refused,
                                "No dead event has the id \(Style.printable(event)). List the dead events with “cornerstore merchant webhooks dead”."
                            )
                        }
                    }
                    return events.count
                }
                let what = count == 1 ? "1 event is" : "\(count) events are"
                Console.current.print(count == 0 ? "No dead events." : "\(what) queued again.")
            }
        }
    }
}
