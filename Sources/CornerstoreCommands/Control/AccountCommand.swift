import ArgumentParser
import ControlWire
import StoreWire

/// `cornerstore account`: sandbox testers and production customers.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "List, show, create and change customer accounts.",
        discussion: """
              cornerstore account list
              cornerstore account list --start anna
              cornerstore account show anna@example.com
              cornerstore account sign-out anna@example.com
              cornerstore account clear-history tester@sandbox.example
              cornerstore account create anna@example.com --storefront DEU --environment production
              cornerstore account create child@example.com --asks-to-buy --password-file child.txt
              cornerstore account change anna@example.com --payments off
              cornerstore account change anna@example.com --storefront DEU
              cornerstore account change anna@example.com --interrupts on
            """,
        subcommands: [
            List.self, Show.self, Create.self, Change.self, SignOut.self, Receipt.self, ClearHistory.self,
        ], defaultSubcommand: List.self)

    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on
        case off

        var isOn: Bool { self == .on }
    }

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        static func text(_ accounts: [ControlAPI.Account], _ style: Style) -> String {
            let rows = accounts.map { account in
                [
                    account.email, account.storefront, account.paymentsAllowed ? "on" : "off",
                    account.asksToBuy ? "yes" : "no", account.interruptsPurchases ? "yes" : "no",
                    account.renewalRate, account.locked ? "locked" : "open",
                    account.lastPurchaseDate.map { String($0.prefix(10)) } ?? "",
                ]
            }
            return Table(
                heading: [
                    "account", "storefront", "payments", "asks to buy", "interrupts", "renewal rate", "state",
                    "last purchase",
                ], rows: rows
            ).text(style)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List accounts by e-mail address, 200 at a time.")
        @Option(help: ArgumentHelp("List the accounts after this one.", valueName: "email"))
        var after: String?
        @Option(help: ArgumentHelp("List only addresses that begin with this text.", valueName: "text"))
        var start: String?
        @Option(help: "List only accounts with this property; inactive ones bought nothing for 180 days.")
        var flag: AccountFlag?
        @OptionGroup var options: Options

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.Account> = try await options.control.client().send(
                .accounts(options.environment.environment, after: after, start: start, flag: flag))
            let accounts = page.rows
            page.suggestNextPage(after: 200, with: "--after")
            try Console.current.report(accounts, json: options.output.json) { style in
                accounts.isEmpty
                    ? "No accounts in \(options.environment.environment.name)." : Options.text(accounts, style)
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create an account.")
        @Argument(help: "The account's e-mail address.")
        var email: String
        @Option(
            help: ArgumentHelp(
                "A file with the password, or - for standard input. Without it, the command asks.", valueName: "file"),
            completion: .file())
        var passwordFile: String?
        @Option(help: ArgumentHelp("The storefront's country code, three letters (ISO 3166-1).", valueName: "country"))
        var storefront = "USA"
        @Flag(help: "Purchases wait for approval (Ask to Buy).")
        var asksToBuy = false
        @Flag(help: "Forbid payments.")
        var noPayments = false
        @OptionGroup var options: Options

        func run() async throws {
            let client = try options.control.client()
            let password = try PasswordPrompt.password(file: passwordFile, whose: email)
            let new = ControlAPI.NewAccount(
                email: email, password: password, storefront: storefront, paymentsAllowed: !noPayments,
                asksToBuy: asksToBuy)
            let account: ControlAPI.Account = try await client.send(
                .createAccount(options.environment.environment), new)
            try Console.current.report(account, json: options.output.json) { Options.text([account], $0) }
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change an account. Settings that are not given keep their values.")
        @Argument(help: "The account's e-mail address.")
        var email: String
        @Option(help: ArgumentHelp("The storefront's country code, three letters (ISO 3166-1).", valueName: "country"))
        var storefront: String?
        @Option(help: "Whether payments are allowed.")
        var payments: Switch?
        @Option(help: "Whether purchases wait for approval (Ask to Buy).")
        var asksToBuy: Switch?
        @Option(help: "Whether the account is locked.")
        var locked: Switch?
        @Option(help: "Whether purchases are interrupted and wait for “cornerstore purchase resolve”.")
        var interrupts: Switch?
        @Option(
            help: ArgumentHelp(
                "How long the periods of a tester's subscriptions last from the next one on: real; 3m, 5m, 15m, 30m or 1h for a month; never for no renewal.",
                valueName: "rate"))
        var renewalRate: String?
        @OptionGroup var options: Options

        func validate() throws {
            guard
                storefront != nil || payments != nil || asksToBuy != nil || locked != nil || interrupts != nil
                    || renewalRate != nil
            else {
                throw ValidationError(
                    "Give at least one of --storefront, --payments, --asks-to-buy, --locked, --interrupts and --renewal-rate."
                )
            }
        }

        func run() async throws {
            let change = ControlAPI.AccountChange(
                storefront: storefront, paymentsAllowed: payments?.isOn, asksToBuy: asksToBuy?.isOn,
                locked: locked?.isOn, interruptsPurchases: interrupts?.isOn, renewalRate: renewalRate)
            let account: ControlAPI.Account = try await options.control.client().send(
                .changeAccount(options.environment.environment, email: email), change)
            try Console.current.report(account, json: options.output.json) { Options.text([account], $0) }
        }
    }
}
