import ArgumentParser
import Merchant

extension MerchantCommand {
    struct Sweep: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Have the server ask the store about all subscriptions.",
            discussion: """
                Use this after notifications of the store were lost for a long time. The server asks by itself about subscriptions whose end passed \
                without news, or that it has not heard of for a week. This command makes all of them due: the server asks about 50 in each round, \
                every 10 seconds. It needs a key of the store's API (--store-keys of “merchant serve”).

                  cornerstore merchant sweep
                """)

        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        /// The JSON document of `--json`.
        private struct Report: Encodable {
            var due: Int
        }

        func run() async throws {
            let report = Report(due: try await place.withMerchant { try await $0.sweepAll() })
            try Console.current.report(report, json: output.json) { _ in
                "The server will ask about \(report.due) subscription\(report.due == 1 ? "" : "s")."
            }
        }
    }
}
