import ArgumentParser
import Merchant
import MerchantServer
import MerchantWire

extension MerchantCommand {
    struct Webhooks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set up webhooks, try the receiver, and send again what was not delivered.",
            discussion: """
                An event that the backend did not take in some days is dead: it is kept, and not sent any longer.

                  CORNERSTORE_WEBHOOK_SECRET=$(cornerstore merchant webhooks secret)
                  cornerstore merchant webhooks test --config merchant.yaml
                  cornerstore merchant webhooks dead
                  cornerstore merchant webhooks replay --all
                """,
            subcommands: [Secret.self, Test.self, Dead.self, Replay.self], defaultSubcommand: Dead.self)

        struct Secret: ParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Make a secret for signing webhooks, and print it.",
                discussion: """
                    32 random bytes in the form of Standard Webhooks: whsec_ and Base64. Nothing keeps it: give it to the server in \
                    CORNERSTORE_WEBHOOK_SECRET, and to the backend.

                      cornerstore merchant webhooks secret
                    """)

            func run() { Console.current.print(WebhookSecret.make()) }
        }

        struct Test: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Send the backend a test event.",
                discussion: """
                    The event has the type webhook.test. A server that runs sends it within seconds, signed like every other, and tries again when the \
                    backend does not answer with 2xx. This command has to know the server's “webhook” (CORNERSTORE_MERCHANT_WEBHOOK, or --config).

                      cornerstore merchant webhooks test --config merchant.yaml
                    """)

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                guard try place.options().sendsWebhooks else {
                    throw CommandError(
                        .usage,
                        "No receiver of webhooks is known here. Name the server's in CORNERSTORE_MERCHANT_WEBHOOK, or its file of options with "
                            + "--config.")
                }
                let sent = SentWebhook(eventID: try await place.withMerchant { try await $0.sendTestEvent() })
                try Console.current.report(sent, json: output.json) { style in
                    "The test event \(sent.eventID) waits. A running server sends it within seconds.\n"
                        + style.dim(
                            "If the backend does not take it, the server tries again, and “webhooks dead” lists it in the end."
                        )
                }
            }
        }

        struct Dead: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "List the dead events, the oldest 200.",
                discussion: "  cornerstore merchant webhooks dead --json")

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let list = try await place.withMerchant { try await $0.deadWebhooks() }
                try Console.current.report(list, json: output.json) { style in
                    guard !list.events.isEmpty else { return "No event is dead." }
                    let table = Table(
                        heading: ["event", "type", "of", "attempts", "last answer"],
                        rows: list.events.map {
                            [$0.eventID, $0.type, Moment.text($0.createdAt), "\($0.attempts)", $0.reason ?? ""]
                        })
                    return table.text(style)
                        + (list.events.count < MerchantLimits.page
                            ? "" : "\n" + style.dim("There may be more: these are the oldest."))
                }
            }
        }

        struct Replay: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Have dead events sent again, from their first attempt on.",
                discussion: """
                    A server that runs sends them within seconds, another when it starts.

                      cornerstore merchant webhooks replay --all
                      cornerstore merchant webhooks replay 019391f0-77a1-7c3e-9b1d-0d2f6a5b8c11-5f2a90c1
                    """)

            @Argument(help: ArgumentHelp("The events, as “webhooks dead” lists them.", valueName: "event"))
            var events: [String] = []
            @Flag(help: "All of them.")
            var all = false
            @OptionGroup var place: PlaceOptions

            func validate() throws {
                guard events.isEmpty == all else {
                    throw ValidationError(
                        all ? "Name events or --all, not both." : "Name the event, or --all for all of them.")
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
                                "No dead event has the id \(Style.printable(event)); “cornerstore merchant webhooks dead” lists them."
                            )
                        }
                    }
                    return events.count
                }
                let what = count == 1 ? "1 event is" : "\(count) events are"
                Console.current.print(count == 0 ? "No event is dead." : "\(what) sent again.")
            }
        }
    }
}
