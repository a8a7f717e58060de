import ArgumentParser
import ControlWire

/// `cornerstore subscription`: the subscribers, and the periods of one customer's subscriptions.
struct SubscriptionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscription",
        abstract: "List the current subscribers, show an account's subscriptions, and cause events.",
        discussion: """
              cornerstore subscription list --app com.example.app
              cornerstore subscription show anna@example.com
              cornerstore subscription cancel anna@example.com
              cornerstore subscription renew anna@example.com
            """,
        subcommands: [
            List.self, Show.self, State.self, Cancel.self, Enable.self, Change.self, Renew.self, Fail.self,
            Recover.self, Expire.self, Refund.self, Extend.self, ExtendAll.self,
        ], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the current subscribers, the newest period first.",
            discussion: """
                One request looks at 20,000 transactions, so a page can be short or empty although more follows.

                  cornerstore subscription list
                  cornerstore subscription list --group 21000001 --limit 10
                """)
        @Option(help: ArgumentHelp("List only subscribers in this app.", valueName: "bundle-id"))
        var app: String?
        @Option(help: ArgumentHelp("List only subscribers in this group.", valueName: "group-id"))
        var group: String?
        @Option(help: ArgumentHelp("List only subscribers to this product.", valueName: "product-id"))
        var product: String?
        @Option(
            help: ArgumentHelp(
                "List only periods older than this transaction, for the next page.", valueName: "transaction-id"))
        var before: String?
        @Option(parsing: .unconditional, help: "The maximum number of subscribers, 1 to 200.")
        var limit = 50
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.Subscriber> = try await control.client().send(
                .subscribers(
                    environment.environment, SubscriberFilter(bundle: app, group: group, product: product),
                    before: before, limit: limit))
            page.suggestNextPage(after: limit, with: "--before")
            try Console.current.report(page.rows, json: output.json) { style in
                guard !page.rows.isEmpty else { return "Nobody subscribes in \(environment.environment.name) now." }
                return Table(
                    heading: ["account", "product", "group", "since", "ends", "price", "offer", "transaction"],
                    rows: page.rows.map { row in
                        [
                            row.account ?? row.accountId, row.productId, row.groupId ?? "",
                            String(row.purchaseDate.prefix(19)), String(row.expiresDate.prefix(19)),
                            "\(row.price) \(row.currency)", row.offer ?? "", row.transactionId,
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the periods of an account's subscriptions, newest first, with the changes of plan.",
            discussion: """
                  cornerstore subscription show anna@example.com
                """)
        @Argument(help: "The account, by address or id.")
        var account: String
        @Option(
            help: ArgumentHelp(
                "List only periods older than this transaction, for the next page.", valueName: "transaction-id"))
        var before: String?
        @Option(parsing: .unconditional, help: "The maximum number of periods, 1 to 200.")
        var limit = 50
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.SubscriptionPeriod> = try await control.client().send(
                .subscriptionPeriods(environment.environment, email: account, before: before, limit: limit))
            page.suggestNextPage(after: limit, with: "--before")
            try Console.current.report(page.rows, json: output.json) { style in
                guard !page.rows.isEmpty else { return "The account has had no subscription." }
                return Table(
                    heading: ["product", "group", "from", "until", "state", "step", "price", "offer", "transaction"],
                    rows: page.rows.map { row in
                        [
                            row.productId, row.groupId ?? "", String(row.purchaseDate.prefix(19)),
                            String((row.revocationDate ?? row.replacedDate ?? row.expiresDate ?? "").prefix(19)),
                            row.state.rawValue,
                            row.step.rawValue + (row.previousProductId.map { " from \($0)" } ?? ""),
                            "\(row.price) \(row.currency)", row.offer ?? "", row.transactionId,
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct State: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the state and the events of an account's subscriptions.",
            discussion: """
                Events have the names of App Store Server Notifications.

                  cornerstore subscription state anna@example.com
                """)
        @Argument(help: "The account, by address or id.")
        var account: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let found: [ControlAPI.Subscription] = try await control.client().send(
                .subscriptions(environment.environment, account: account))
            try Console.current.report(found, json: output.json) { style in
                guard !found.isEmpty else { return "The account has had no subscription." }
                return SubscriptionCommand.text(found, style)
            }
        }
    }

    static func text(_ found: [ControlAPI.Subscription], _ style: Style) -> String {
        let states = Table(
            heading: ["product", "group", "state", "ends", "renews as", "next"],
            rows: found.map { row in
                [
                    row.productId, row.groupId, row.state.rawValue, String(row.expiresDate.prefix(19)),
                    (row.willRenew ? row.renewalProductId : "does not renew")
                        + (row.sharedBy == nil ? "" : ", shared by the family"),
                    row.dueDate.map { String($0.prefix(19)) } ?? "nothing",
                ]
            })
        let news = Table(
            heading: ["when", "what", "details", "transaction"],
            rows: found.flatMap(\.news).map { news in
                [String(news.date.prefix(19)), news.type, news.subtype ?? "", news.transactionId]
            })
        return states.text(style) + "\n\n" + news.text(style)
    }
}
