import ArgumentParser
import Foundation
import Merchant
import MerchantWire

extension MerchantCommand {
    struct Adjust: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add credits to a user's balance, or deduct credits.",
            discussion: """
                The command adds one adjustment to the ledger. It cannot deduct more than the balance. --key makes the command idempotent: the same \
                command with the same key changes the balance only once. The backend receives a webhook if the server's “webhook” option is set for \
                this command too (CORNERSTORE_MERCHANT_WEBHOOK, or --config). Beside “cornerstore serve”, the entry has the store's time, and the \
                command refuses when it cannot read the store's clock.

                  cornerstore merchant adjust ann --give 100 --currency coins --note "a lost game"
                  cornerstore merchant adjust ann --take 30 --currency coins --key ticket-4711
                """)

        @Argument(help: "The user's name.")
        var name: String
        @Option(parsing: .unconditional, help: ArgumentHelp("The number of credits to add.", valueName: "credits"))
        var give: Int64?
        @Option(parsing: .unconditional, help: ArgumentHelp("The number of credits to deduct.", valueName: "credits"))
        var take: Int64?
        @Option(help: ArgumentHelp("The currency of the credits.", valueName: "currency"))
        var currency: String
        @Option(
            name: [.customLong("environment"), .customShort("e")],
            help:
                "The balance to change: production or sandbox. The default is the default-environment option, else production."
        )
        var environment: EnvironmentOptions.Name?
        @Option(help: ArgumentHelp("A note for the user's history.", valueName: "text"))
        var note: String?
        @Option(help: ArgumentHelp("The idempotency key. The default is a new key each time.", valueName: "text"))
        var key: String?
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (give == nil) != (take == nil) else { throw ValidationError("Give either --give or --take.") }
            guard give ?? take ?? 0 > 0 else {
                throw ValidationError("\(give == nil ? "--take" : "--give") must be 1 or more.")
            }
        }

        func run() async throws {
            let (name, currency) = (name, currency)
            let environment = try environment?.environment ?? place.options().defaultEnvironment() ?? .production
            let request = AdjustmentRequest(
                key: key ?? UUID().uuidString.lowercased(), currency: CurrencyID(currency),
                amount: give ?? -(take ?? 0), note: note, environment: environment)
            // The entry has the store's date, and expired credits do not count.
            let entry = try await place.withMerchant(needsStoreClock: true) { merchant in
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
                    console.style.dim(
                        "note: \(user) had no \(credits) before; if a name is misspelt, undo this with --take"))
            }
        }

        /// Rewords the merchant's errors, whose messages are for users of an app, for the operator.
        private static func error(_ error: MerchantError, _ request: AdjustmentRequest, _ name: String) -> any Error {
            let (user, credits) = (Style.printable(name), Style.printable(request.currency.rawValue))
            switch error.code {
            case .insufficientBalance:
                return CommandError(
                    .refused,
                    "\(user) has fewer than \(request.amount.magnitude) \(credits). Nothing was deducted. "
                        + "See the balance with “merchant user \(user)”.")
            case .keyReused:
                return CommandError(
                    .refused,
                    "The key \(Style.printable(request.key)) was already used for a different adjustment of \(user). Nothing was "
                        + "changed. Choose another --key, or omit it.")
            default: return error
            }
        }
    }
}
