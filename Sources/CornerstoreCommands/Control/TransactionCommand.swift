import ArgumentParser
import ControlWire

/// `cornerstore transaction`: lists and refunds transactions.
struct TransactionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transaction", abstract: "List, show and refund transactions.",
        subcommands: [List.self, Show.self, Receipt.self, Refund.self],
        defaultSubcommand: List.self)

    struct Refund: AsyncParsableCommand {
        enum Reason: String, ExpressibleByArgument, CaseIterable {
            case app
            case other
        }

        static let configuration = CommandConfiguration(
            abstract: "Refund a transaction. Receipts then show its cancellation date.",
            discussion: """
                The refund includes every delivery of the purchase, and the customer can buy the product again. The app is notified at its
                next launch. The purchase of an item of the storefront is refunded likewise; “cornerstore library” has its transaction.

                  cornerstore transaction refund 2000000000000123
                  cornerstore transaction refund 2000000000000123 --reason app
                  cornerstore transaction refund 2000000000000123 --prorated
                  cornerstore transaction refund 2000000000000123 --reverse
                """)
        @Argument(help: "The transaction's id.")
        var id: String
        @Option(help: "The reason: app, when the app caused the refund, or other.")
        var reason = Reason.other
        @Flag(help: "Refund only the part of a subscription period that is not over.")
        var prorated = false
        @Flag(help: "Take the refund back, and charge its amount again.")
        var reverse = false
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard !prorated || !reverse else { throw ValidationError("Give one of --prorated and --reverse.") }
        }

        func run() async throws {
            let client = try control.client()
            let refunded: ControlAPI.Refunded =
                reverse
                ? try await client.send(.reverseRefund(environment.environment, id: id))
                : try await client.send(
                    .refund(environment.environment, id: id),
                    ControlAPI.Refund(reason: reason.rawValue, share: prorated ? "prorated" : nil))
            try Console.current.report(refunded, json: output.json) { style in
                if let item = refunded.item {
                    return style.good("Refunded.") + " \(refunded.amount) \(refunded.currency) for the item \(item)."
                }
                let products = refunded.transactions.prefix(1).map(\.productId)
                let ids = refunded.transactions.map(\.transactionId)
                return style.good(reverse ? "Reversed." : "Refunded.")
                    + " \(refunded.amount) \(refunded.currency) for \((products + ids).joined(separator: " "))."
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List transactions and purchases of items, newest first.",
            discussion: """
                A purchase of an item of the storefront has the product item.NUMBER, and belongs to no app. A filter other than --account \
                looks at 20,000 transactions; a note on standard error then says how to look further.

                  cornerstore transaction list --app com.example.app --limit 10
                  cornerstore transaction list --state refunded --from 2026-01-01T00:00:00Z
                  cornerstore transaction list --account tester@sandbox.example --json
                  cornerstore transaction list --before 2000000000000123
                """)

        @Option(help: ArgumentHelp("List only transactions of this app.", valueName: "bundle-id"))
        var app: String?
        @Option(help: ArgumentHelp("List only transactions of this product.", valueName: "product-id"))
        var product: String?
        @Option(help: "List only products of this kind, such as consumable, or the purchases of items with item.")
        var kind: String?
        @Option(help: "List only transactions in this state.")
        var state: LedgerFilter.State?
        @Option(help: ArgumentHelp("List only purchases from this date on, in ISO 8601.", valueName: "date"))
        var from: String?
        @Option(help: ArgumentHelp("List only purchases before this date, in ISO 8601.", valueName: "date"))
        var until: String?
        @Option(
            help: ArgumentHelp("List only transactions of this account, by address or id.", valueName: "account"))
        var account: String?
        @Option(
            help: ArgumentHelp(
                "List only transactions older than this one, for the next page.", valueName: "transaction-id"))
        var before: String?
        @Option(parsing: .unconditional, help: "The maximum number of transactions, 1 to 1000.")
        var limit = 20
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 1000) }

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.Transaction> = try await control.client().send(
                .transactions(
                    environment.environment,
                    LedgerFilter(
                        bundle: app, product: product, kind: kind, state: state, from: from, until: until,
                        account: account), before: before, limit: limit))
            let transactions = page.rows
            page.suggestNextPage(after: limit, with: "--before")
            try Console.current.report(transactions, json: output.json) { style in
                guard !transactions.isEmpty else { return "No transactions in \(environment.environment.name)." }
                return Self.table(transactions).text(style)
            }
        }

        static func table(_ transactions: [ControlAPI.Transaction]) -> Table {
            Table(
                heading: ["transaction", "purchased", "product", "quantity", "price", "state"],
                rows: transactions.map(row))
        }

        private static func row(_ transaction: ControlAPI.Transaction) -> [String] {
            let state =
                if transaction.revocationDate != nil {
                    "revoked"
                } else if transaction.item != nil {
                    "owned"
                } else if transaction.finishedDate == nil {
                    "unfinished"
                } else {
                    "finished"
                }
            return [
                transaction.transactionId, String(transaction.purchaseDate.prefix(19)),
                transaction.productId + (transaction.name.map { " \($0)" } ?? ""),
                "\(transaction.quantity)",
                "\(transaction.price) \(transaction.currency)", state,
            ]
        }
    }
}
