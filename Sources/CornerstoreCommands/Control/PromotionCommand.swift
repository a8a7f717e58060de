import ArgumentParser
import ControlWire
import Foundation

/// `cornerstore promotion`: the promoted purchases that wait for a device.
struct PromotionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promotion",
        abstract: "List and withdraw promoted purchases that wait for a device.",
        discussion: """
              cornerstore promotion list --account anna@example.com
              cornerstore promotion withdraw 8C5B3A5E-… --account anna@example.com
            """,
        subcommands: [List.self, Withdraw.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @Option(help: ArgumentHelp("The account, by address or id.", valueName: "account"))
        var account: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func report() async throws {
            let promotions: [ControlAPI.WaitingPromotion] = try await control.client().send(
                .promotions(environment.environment, account: account))
            try Console.current.report(promotions, json: output.json) { style in
                guard !promotions.isEmpty else { return "No promoted purchase waits." }
                return Table(
                    heading: ["promotion", "product", "app", "since"],
                    rows: promotions.map { [$0.promotionId.uuidString, $0.productId, $0.bundleId, $0.createdDate] }
                ).text(style)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the promoted purchases of an account.")
        @OptionGroup var options: Options

        func run() async throws { try await options.report() }
    }

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Withdraw a promoted purchase.")
        @Argument(help: "The promotion's id.")
        var id: PurchaseCommand.Key
        @OptionGroup var options: Options

        func run() async throws {
            try await options.control.client().perform(
                .withdrawPromotion(options.environment.environment, id: id.uuid, account: options.account))
            try await options.report()
        }
    }
}
