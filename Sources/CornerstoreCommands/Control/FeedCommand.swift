import ArgumentParser
import ControlWire
import Foundation

/// `cornerstore feed`: builds and lists partner feeds.
struct FeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feed",
        abstract: "Build and list partner feeds: the whole catalog as files for databases.",
        discussion: """
            “cornerstore serve --feed” builds them by the store's clock.

              cornerstore feed build
              cornerstore feed build --incremental --date 2026-01-08
              cornerstore feed list
            """,
        subcommands: [List.self, Build.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        static func text(_ feeds: [ControlAPI.Feed], _ style: Style) -> String {
            Table(
                heading: ["day", "feed", "items", "archives", "MiB"],
                rows: feeds.map {
                    [
                        $0.day, $0.mode, String($0.items), String($0.archives),
                        String(format: "%.1f", Double($0.bytes) / 1_048_576),
                    ]
                }
            ).text(style)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the feeds, oldest first.")
        @OptionGroup var options: Options

        func run() async throws {
            let found: ControlAPI.Feeds = try await options.control.client().send(.feeds)
            try Console.current.report(found, json: options.output.json) { style in
                var lines = [found.feeds.isEmpty ? "No feeds." : Options.text(found.feeds, style)]
                if found.isBuilding { lines.append("A feed is being built.") }
                if let failure = found.failure {
                    lines.append(style.bad("The last build failed: ") + Style.printable(failure))
                }
                return lines.joined(separator: "\n")
            }
        }
    }

    struct Build: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Build a feed, and wait until it is complete.",
            discussion: """
                Without --full and --incremental, the feed that is due is built: a full one once a week from Wednesday on, else one with the \
                items changed since.

                  cornerstore feed build --full
                """)
        @Flag(help: "Build a full feed.")
        var full = false
        @Flag(help: "Build a feed of the items added or changed since the last full one.")
        var incremental = false
        @Option(help: ArgumentHelp("The feed's day (the store's).", valueName: "yyyy-mm-dd"))
        var date: String?
        @OptionGroup var options: Options

        func validate() throws {
            guard !(full && incremental) else { throw ValidationError("Give either --full or --incremental.") }
        }

        func run() async throws {
            let client = try options.control.client()
            let order = ControlAPI.FeedOrder(mode: full ? "full" : incremental ? "incremental" : nil, day: date)
            var state: ControlAPI.Feeds = try await client.send(.buildFeed, order)
            try await Progress.during("Building the feed") {
                while state.isBuilding {
                    try await Task.sleep(for: .milliseconds(200))
                    state = try await client.send(.feeds)
                }
            }
            if let failure = state.failure { throw CommandError(.refused, Style.printable(failure)) }
            guard let built = state.feeds.last else { throw CommandError(.failed, "The store has no feed.") }
            try Console.current.report(built, json: options.output.json) { style in
                let note =
                    built.pricesLeftOut > 0
                    ? "\n\(built.pricesLeftOut) prices of a million or more are not in the feed: its price type cannot hold them."
                    : ""
                return Options.text([built], style) + note
            }
        }
    }
}

/// `cornerstore partner`: the partners who may download the feed.
struct PartnerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "partner",
        abstract: "Add, list and remove the partners who may download the feed.",
        discussion: """
              cornerstore partner add example-search
              cornerstore partner list
              cornerstore partner remove example-search
            """,
        subcommands: [List.self, Add.self, Remove.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the partners by name.")
        @OptionGroup var options: FeedCommand.Options

        func run() async throws {
            let partners: [ControlAPI.Partner] = try await options.control.client().send(.partners)
            try Console.current.report(partners, json: options.output.json) { style in
                guard !partners.isEmpty else { return "No partners." }
                let rows = partners.map { [$0.name, String($0.createdDate.prefix(19))] }
                return Table(heading: ["partner", "added"], rows: rows).text(style)
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a partner, and print the password. The store keeps only the password's hash.")
        @Argument(help: "The partner's user name: letters, digits, and . _ -")
        var name: String
        @OptionGroup var options: FeedCommand.Options

        func run() async throws {
            let added: ControlAPI.PartnerPassword = try await options.control.client().send(
                .addPartner, ControlAPI.NewPartner(name: name))
            try Console.current.report(added, json: options.output.json) { _ in
                "The password of \(Style.printable(added.name)) is \(added.password). It is not shown again."
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a partner.")
        @Argument(help: "The partner's user name.")
        var name: String
        @OptionGroup var control: ControlOptions

        func run() async throws {
            try await control.client().perform(.removePartner(name: name))
            Console.current.print("Removed.")
        }
    }
}
