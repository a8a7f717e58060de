import ArgumentParser
import ControlWire

/// `cornerstore attempt`: the attempts to buy, successful or not.
struct AttemptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attempt", abstract: "List attempts to buy products and items.", subcommands: [List.self],
        defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List attempts to buy products and items, newest first.",
            discussion: """
                Without --state the list has the attempts that did not succeed at once, with their present state: declined, waiting, \
                interrupted, or bought later. A filter other than --account looks at 20,000 attempts.

                  cornerstore attempt list
                  cornerstore attempt list --account anna@example.com --state declined
                  cornerstore attempt list --state bought --limit 10
                """)
        @Option(help: ArgumentHelp("List only attempts in this app.", valueName: "bundle-id"))
        var app: String?
        @Option(
            help: ArgumentHelp(
                "List only attempts to buy this product, or this item: item.1002.", valueName: "product-id"))
        var product: String?
        @Option(help: "List only attempts with this result.")
        var state: ControlAPI.Attempt.State?
        @Option(help: ArgumentHelp("List only attempts of this account, by address or id.", valueName: "account"))
        var account: String?
        @Option(
            help: ArgumentHelp("List only attempts older than this one, for the next page.", valueName: "attempt-id"))
        var before: String?
        @Option(parsing: .unconditional, help: "The maximum number of attempts, 1 to 1000.")
        var limit = 20
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 1000) }

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.Attempt> = try await control.client().send(
                .attempts(
                    environment.environment,
                    AttemptFilter(bundle: app, product: product, state: state, account: account), before: before,
                    limit: limit))
            page.suggestNextPage(after: limit, with: "--before")
            try Console.current.report(page.rows, json: output.json) { style in
                guard !page.rows.isEmpty else { return "No such attempts in \(environment.environment.name)." }
                return Table(
                    heading: ["attempt", "asked", "product", "quantity", "amount", "result", "reason"],
                    rows: page.rows.map { attempt in
                        [
                            attempt.attemptId, String(attempt.createdDate.prefix(19)), attempt.productId,
                            "\(attempt.quantity)", "\(attempt.amount) \(attempt.currency)", attempt.state.rawValue,
                            attempt.failure?.message ?? "",
                        ]
                    }
                ).text(style)
            }
        }
    }
}
