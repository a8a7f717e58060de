import ArgumentParser
import Merchant
import MerchantWire

extension MerchantCommand {
    struct User: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a user's balances, entitlements, flags and latest ledger entries.",
            discussion: """
                The user's name is the “sub” of the user's tokens. “merchant history” shows the whole history of a currency.

                  cornerstore merchant user ann
                  cornerstore merchant user ann --json
                """)

        @Argument(help: "The user's name.")
        var name: String
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        /// The number of entries to show for each currency.
        private static let entries = 10
        /// The maximum number of currencies to show.
        private static let currencies = 50

        func run() async throws {
            let user = UserID(name)
            let report = try await place.withMerchant { merchant in
                let report = try await merchant.readReport(of: user)
                var pages: [HistoryPage] = []
                for balance in report.balances.prefix(Self.currencies) {
                    pages.append(
                        try await merchant.readHistory(
                            of: user, balance.currency, before: nil, limit: Self.entries, in: balance.environment))
                }
                return UserText(report: report, history: pages)
            }
            try Console.current.report(report, json: output.json) { report.text($0) }
        }
    }

    struct History: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the history of a user's currency, newest first, 200 entries at a time.",
            discussion: """
                  cornerstore merchant history ann --currency coins
                  cornerstore merchant history ann --currency coins --before 1801
                """)

        @Argument(help: "The user's name.")
        var name: String
        @Option(help: ArgumentHelp("The currency. Required when the user has several.", valueName: "currency"))
        var currency: String?
        @Option(
            name: [.customLong("environment"), .customShort("e")],
            help:
                "The balance, production or sandbox. The default is the user's only balance in the currency, else production."
        )
        var environment: EnvironmentOptions.Name?
        @Option(
            parsing: .unconditional, help: ArgumentHelp("Show only entries older than this one.", valueName: "entry"))
        var before: Int64?
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard before ?? 1 > 0 else { throw ValidationError("--before must be an entry's number, 1 or more.") }
        }

        func run() async throws {
            let (name, currency, before) = (name, currency, before)
            let environment = environment?.environment
            let (page, balance) = try await place.withMerchant { merchant in
                let report = try await merchant.readReport(of: UserID(name))
                let known = report.balances.filter { $0.environment == environment ?? $0.environment }
                let currency = try Self.choose(currency, of: known.map(\.currency), name)
                // Production balances come first.
                let balance = known.first { $0.currency == currency }
                return (
                    try await merchant.readHistory(
                        of: UserID(name), currency, before: before, in: balance?.environment),
                    before == nil ? balance?.amount ?? 0 : nil
                )
            }
            try Console.current.report(page, json: output.json) { style in
                guard !page.entries.isEmpty else { return "No older entries." }
                return UserText.table(page, balance: balance, style)
                    + (page.next.map { "\n" + style.dim("For older entries: --before \($0)") } ?? "")
            }
        }

        private static func choose(_ currency: String?, of listed: [CurrencyID], _ name: String) throws -> CurrencyID {
            let known = Set(listed).sorted()
            let names = known.map(\.rawValue)
            guard !known.isEmpty else {
                throw CommandError(
                    .refused,
                    "\(Style.printable(name)) has never had credits. Check that the name is the “sub” of the user's tokens."
                )
            }
            guard let currency else {
                guard known.count == 1 else {
                    throw CommandError(
                        .usage,
                        "Choose a currency with --currency: \(names.map(Style.printable).joined(separator: ", ")).")
                }
                return known[0]
            }
            guard known.contains(CurrencyID(currency)) else {
                throw CommandError(
                    .refused,
                    "\(Style.printable(name)) has never had \(Style.printable(currency)). "
                        + Suggestion.text(for: currency, among: names))
            }
            return CurrencyID(currency)
        }
    }
}
