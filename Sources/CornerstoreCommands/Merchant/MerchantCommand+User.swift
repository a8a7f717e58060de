import ArgumentParser
import Merchant
import MerchantWire

extension MerchantCommand {
    struct User: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a user: balances, entitlements, flags, and what changed last.",
            discussion: """
                The name is the one of the users' tokens (sub). “merchant history” has the whole history of a currency.

                  cornerstore merchant user ann
                  cornerstore merchant user ann --json
                """)

        @Argument(help: "The user's name.")
        var name: String
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        /// How many entries of each currency are shown, and of how many currencies.
        private static let entries = 10
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
        @Option(help: ArgumentHelp("Of which currency; may be left out when the user has one.", valueName: "currency"))
        var currency: String?
        @Option(
            name: [.customLong("environment"), .customShort("e")],
            help:
                "Of which balance; may be left out when the user has one of the currency, and is production's otherwise."
        )
        var environment: EnvironmentOptions.Name?
        @Option(
            parsing: .unconditional, help: ArgumentHelp("Only what is older than this entry.", valueName: "entry"))
        var before: Int64?
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard before ?? 1 > 0 else { throw ValidationError("--before is the number of an entry, from 1 on.") }
        }

        func run() async throws {
            let (name, currency, before) = (name, currency, before)
            let environment = environment?.environment
            let (page, balance) = try await place.withMerchant { merchant in
                let report = try await merchant.readReport(of: UserID(name))
                let known = report.balances.filter { $0.environment == environment ?? $0.environment }
                let currency = try Self.choose(currency, of: known.map(\.currency), name)
                // Production's come first.
                let balance = known.first { $0.currency == currency }
                return (
                    try await merchant.readHistory(
                        of: UserID(name), currency, before: before, in: balance?.environment),
                    before == nil ? balance?.amount ?? 0 : nil
                )
            }
            try Console.current.report(page, json: output.json) { style in
                guard !page.entries.isEmpty else { return "There is nothing older." }
                return UserText.table(page, balance: balance, style)
                    + (page.next.map { "\n" + style.dim("Older ones: --before \($0)") } ?? "")
            }
        }

        private static func choose(_ currency: String?, of listed: [CurrencyID], _ name: String) throws -> CurrencyID {
            let known = Set(listed).sorted()
            let names = known.map(\.rawValue)
            guard !known.isEmpty else {
                throw CommandError(
                    .refused,
                    "\(Style.printable(name)) has never had credits. Is the name that of the users' tokens (sub)?")
            }
            guard let currency else {
                guard known.count == 1 else {
                    throw CommandError(
                        .usage, "Choose with --currency one of \(names.map(Style.printable).joined(separator: ", ")).")
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
