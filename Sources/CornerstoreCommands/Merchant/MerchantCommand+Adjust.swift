import ArgumentParser
import Foundation
import Merchant
import MerchantWire

extension MerchantCommand {
    struct Adjust: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give credits to a user, or take some, for a reason of your own.",
            discussion: """
                It is one entry of the ledger, an adjustment, and takes no more than there is. With a key it is done once: the same command with the same key \
                changes nothing more. A backend hears of it when this command knows the server's “webhook” (CORNERSTORE_MERCHANT_WEBHOOK, or --config).

                  cornerstore merchant adjust ann --give 100 --currency coins --note "a lost game"
                  cornerstore merchant adjust ann --take 30 --currency coins --key ticket-4711
                """)

        @Argument(help: "The user's name.")
        var name: String
        @Option(parsing: .unconditional, help: ArgumentHelp("So many credits are given.", valueName: "credits"))
        var give: Int64?
        @Option(parsing: .unconditional, help: ArgumentHelp("So many credits are taken.", valueName: "credits"))
        var take: Int64?
        @Option(help: ArgumentHelp("Of which currency.", valueName: "currency"))
        var currency: String
        @Option(
            name: [.customLong("environment"), .customShort("e")],
            help: "Of which balance: production, unless the server's default-environment is known here, or sandbox.")
        var environment: EnvironmentOptions.Name?
        @Option(help: ArgumentHelp("Why, for the user's history.", valueName: "text"))
        var note: String?
        @Option(help: ArgumentHelp("What makes it happen once; a new one each time when left out.", valueName: "text"))
        var key: String?
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (give == nil) != (take == nil) else { throw ValidationError("Say either --give or --take.") }
            guard give ?? take ?? 0 > 0 else {
                throw ValidationError("\(give == nil ? "--take" : "--give") is a number of credits, from 1 on.")
            }
        }

        func run() async throws {
            let (name, currency) = (name, currency)
            let environment = try environment?.environment ?? place.options().defaultEnvironment() ?? .production
            let request = AdjustmentRequest(
                key: key ?? UUID().uuidString.lowercased(), currency: CurrencyID(currency),
                amount: give ?? -(take ?? 0), note: note, environment: environment)
            let entry = try await place.withMerchant { merchant in
                do {
                    return try await merchant.adjust(request, of: UserID(name))
                } catch let error as MerchantError {
                    throw Self.error(error, request, name)
                }
            }
            let console = Console.current
            let (user, credits) = (
                Style.printable(name), UserText.name(of: CurrencyID(currency), in: entry.environment)
            )
            try console.report(entry, json: output.json) { style in
                """
                \(user) has \(entry.balance) \(credits) (\(entry.amount > 0 ? "+" : "")\(entry.amount), entry \(entry.entry)).
                \(style.dim("Its key is \(Style.printable(request.key))."))
                """
            }
            if entry.entry == 1 {
                console.remark(
                    console.style.dim("note: \(user) had no \(credits) before; --take undoes it if a name is misspelt"))
            }
        }

        /// The merchant's own words are for users of an app.
        private static func error(_ error: MerchantError, _ request: AdjustmentRequest, _ name: String) -> any Error {
            let (user, credits) = (Style.printable(name), Style.printable(request.currency.rawValue))
            switch error.code {
            case .insufficientBalance:
                return CommandError(
                    .refused,
                    "\(user) has fewer than \(request.amount.magnitude) \(credits), and nothing was taken. "
                        + "“merchant user \(user)” says how many there are.")
            case .keyReused:
                return CommandError(
                    .refused,
                    "The key \(Style.printable(request.key)) was used for another change of \(user)'s credits, and nothing was "
                        + "changed. Choose another --key, or leave it out.")
            default: return error
            }
        }
    }
}
