import ArgumentParser
import Foundation
import StoreServer

/// The command `cornerstore`. Each subcommand parses its arguments, runs an action and prints a report.
public struct Cornerstore: AsyncParsableCommand {
    /// The command's name, help and subcommands.
    public static let configuration = CommandConfiguration(
        commandName: "cornerstore",
        abstract: "An in-app purchase store on your own machine.",
        discussion: """
            Start a store from a .storekit file, buy from it, and verify the receipts:

              cornerstore serve App.storekit
              cornerstore buy com.example.app.coins --receipt-out coins.receipt
              cornerstore receipt verify coins.receipt

            Commands find a running store through its data directory: --data, else CORNERSTORE_DATA, else .cornerstore. The exit code is 0 on \
            success, 1 when the request was refused or failed, and 2 for wrong usage.
            """,
        version: "cornerstore \(CornerstoreVersion.text)",
        subcommands: [DemoCommand.self, ServeCommand.self, MerchantCommand.self, StoreCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Buying and receipts",
                subcommands: [
                    BuyCommand.self, RedeemCommand.self, LibraryCommand.self, SubscriptionsCommand.self,
                    RestoreCommand.self,
                    DownloadCommand.self, QueueCommand.self,
                    DeviceCommand.self,
                    ReceiptCommand.self,
                ]),
            CommandGroup(
                name: "Operating a running store",
                subcommands: [
                    AccountCommand.self, AppCommand.self, AttemptCommand.self, AuthorityCommand.self,
                    ClockCommand.self, CodeCommand.self,
                    EventsCommand.self, FamilyCommand.self, FaultCommand.self, FeedCommand.self, ItemCommand.self,
                    KeyCommand.self, NotificationCommand.self, OfferCodeCommand.self, PartnerCommand.self,
                    PaymentRuleCommand.self,
                    PriceIncreaseCommand.self, ProductCommand.self, PromoteCommand.self, PromotionCommand.self,
                    PurchaseCommand.self, RateLimitCommand.self, RefundRequestCommand.self, ReviewCommand.self,
                    SearchCommand.self,
                    ServerCommand.self, SubscriptionCommand.self, TransactionCommand.self,
                ]),
            CommandGroup(
                name: "Catalog files and hosted content", subcommands: [CatalogCommand.self, ContentCommand.self]),
        ])

    /// Creates the command.
    public init() {}

    /// Runs the command on the process's own output streams. A closed standard output does not end the process.
    ///
    /// - Parameter arguments: the arguments without the program's name.
    /// - Returns: the exit code.
    public static func launch(_ arguments: [String]) async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        return await run(arguments, on: .standard(ProcessInfo.processInfo.environment))
    }

    /// Runs the command and prints to `console`.
    ///
    /// - Returns: the exit code: 0 for success, 1 when the request was refused or failed, 2 for wrong usage.
    static func run(_ arguments: [String], on console: Console) async -> Int32 {
        await Console.$current.withValue(console) {
            do {
                var command = try parseAsRoot(Span.shielded(arguments))
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
                return 0
            } catch {
                return end(error, on: console)
            }
        }
    }

    /// Prints an error and returns the exit code. ArgumentParser's errors are wrong usage, or requests for help and the
    /// version, which succeed.
    private static func end(_ error: any Error, on console: Console) -> Int32 {
        if let known = CommandError(known: error) {
            console.complain(known.detail)
            return known.code == .usage ? 2 : 1
        }
        if let exit = error as? ExitCode { return exit.rawValue }
        let text = fullMessage(for: error)
        // To tell the exit code, ArgumentParser makes the text a second time. Its errors begin with the prefix, or,
        // without a message, with the usage.
        let isError = [_errorPrefix, "Help: ", "Usage: "].contains { text.hasPrefix($0) }
        guard !isError, text.first?.isNewline == false || exitCode(for: error) == .success else {
            console.print(text.hasSuffix("\n") ? String(text.dropLast()) : text, to: .error)
            return 2
        }
        console.print(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        return 0
    }
}
