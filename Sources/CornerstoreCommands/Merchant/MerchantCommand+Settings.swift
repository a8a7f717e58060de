import ArgumentParser
import MerchantServer
import MerchantWire

extension MerchantCommand {
    struct Settings: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the settings with which a server starts, without its secrets.",
            discussion: """
                The command reads the environment and the file of --config, as “merchant serve” does. A running server reports its settings at \
                GET /admin/v1/settings, for an API key of scope “settings”.

                  cornerstore merchant settings --config merchant.yaml
                """)

        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let configuration = try place.options().configuration()
            let report = try SettingsReport(configuration, bundleIDs: configuration.allBundleIDs())
            try Console.current.report(report, json: output.json) { Self.text(report, $0) }
        }

        private static func text(_ report: SettingsReport, _ style: Style) -> String {
            func list(_ words: [String]) -> String { words.isEmpty ? "none" : words.joined(separator: ", ") }
            func rate(_ rate: SettingsReport.Rate?) -> String {
                rate.map { "\(number($0.perSecond)) a second, \(number($0.burst)) at once" } ?? "not limited"
            }
            func number(_ value: Double) -> String { Int64(exactly: value).map(String.init) ?? "\(value)" }
            func yes(_ flag: Bool) -> String { flag ? "yes" : "no" }
            return Table(
                heading: ["setting", "value"],
                rows: [
                    ["apps", list(report.bundleIDs.map(\.rawValue))], ["stores", list(report.stores)],
                    ["asks the store", yes(report.asksStore)],
                    ["environments", list(report.environments.map(\.rawValue))],
                    ["default environment", report.usualEnvironment.rawValue],
                    ["joins environments", yes(report.joinsEnvironments)], ["conflict", report.conflict],
                    ["refunds", report.refund], ["superseded", report.superseded],
                    ["trial credits", yes(report.givesCreditsForTrials)],
                    ["shared credits", yes(report.givesCreditsForSharedCopies)],
                    ["downloads before redemption", "\(report.downloadsBeforeRedemption)"],
                    ["webhook", report.webhook ?? "none"], ["rate of an address", rate(report.rates?.address)],
                    ["rate of a user", rate(report.rates?.user)], ["rate of a key", rate(report.rates?.key)],
                    ["guesses of an address", rate(report.rates?.addressGuesses)],
                    ["guesses of a user", rate(report.rates?.userGuesses)],
                    ["behind a proxy", yes(report.isBehindProxy)], ["database", report.database],
                ]
            ).text(style)
        }
    }
}
