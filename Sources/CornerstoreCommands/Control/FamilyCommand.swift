import ArgumentParser
import ControlWire

/// `cornerstore family`: families of accounts, which share purchases.
struct FamilyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "family",
        abstract: "Let accounts share purchases as a family: an organizer and up to five others.",
        discussion: """
            The members share the subscriptions and non-consumables that the catalog marks as familyShareable.

              cornerstore family create anna@example.com
              cornerstore family add anna@example.com ben@example.com
              cornerstore family share anna@example.com off
              cornerstore family remove ben@example.com
            """,
        subcommands: [
            List.self, Show.self, Create.self, Add.self, Remove.self, Share.self, Delete.self,
        ], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func report(_ family: ControlAPI.Family) throws {
            try Console.current.report(family, json: output.json) { Self.text([family], $0) }
        }

        static func text(_ families: [ControlAPI.Family], _ style: Style) -> String {
            let rows = families.flatMap { family in
                family.members.map { member in
                    [
                        member.account ?? member.accountId,
                        member.accountId == family.organizerId ? "organizer" : "member", member.shares ? "on" : "off",
                        String(member.joinedDate.prefix(19)),
                    ]
                }
            }
            return Table(heading: ["account", "role", "shares", "since"], rows: rows).text(style)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the families, each with its organizer first.")
        @Option(help: ArgumentHelp("List the families after this organizer's id.", valueName: "account-id"))
        var after: String?
        @Option(parsing: .unconditional, help: "The maximum number of families, 1 to 200.")
        var limit = 50
        @OptionGroup var options: Options

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.Family> = try await options.control.client().send(
                .families(options.environment.environment, after: after, limit: limit))
            page.suggestNextPage(with: "--after")
            try Console.current.report(page.rows, json: options.output.json) { style in
                page.rows.isEmpty
                    ? "No families in \(options.environment.environment.name)." : Options.text(page.rows, style)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the family of an account.")
        @Argument(help: "The account of any member, by address or id.")
        var account: String
        @OptionGroup var options: Options

        func run() async throws {
            try options.report(
                try await options.control.client().send(.family(options.environment.environment, email: account)))
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a family with its organizer.")
        @Argument(help: "The organizer's account, by address or id.")
        var organizer: String
        @OptionGroup var options: Options

        func run() async throws {
            try options.report(
                try await options.control.client().send(
                    .createFamily(options.environment.environment), ControlAPI.NewFamilyMember(account: organizer)))
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Add an account to a family. The account gets the members' shared purchases, and the members get the account's."
        )
        @Argument(help: "The account of the organizer or of another member, by address or id.")
        var organizer: String
        @Argument(help: "The account that joins, by address or id.")
        var account: String
        @OptionGroup var options: Options

        func run() async throws {
            try options.report(
                try await options.control.client().send(
                    .addToFamily(options.environment.environment, email: organizer),
                    ControlAPI.NewFamilyMember(account: account)))
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an account from its family. Purchases shared with it and by it are revoked.")
        @Argument(help: "The account that leaves, by address or id.")
        var account: String
        @OptionGroup var options: Options

        func run() async throws {
            try options.report(
                try await options.control.client().send(.leaveFamily(options.environment.environment, email: account)))
        }
    }

    struct Share: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn the sharing of a member's purchases on or off. Turning it off revokes them for the others.")
        @Argument(help: "The account, by address or id.")
        var account: String
        @Argument(help: "Whether the account shares its purchases with the others.")
        var sharing: AccountCommand.Switch
        @OptionGroup var options: Options

        func run() async throws {
            try options.report(
                try await options.control.client().send(
                    .changeFamilyMember(options.environment.environment, email: account),
                    ControlAPI.FamilyMemberChange(shares: sharing.isOn)))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a family. Each member loses the purchases of the others.")
        @Argument(help: "The account of the organizer or of another member, by address or id.")
        var organizer: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            try await control.client().perform(.deleteFamily(environment.environment, email: organizer))
            Console.current.print(Console.current.style.good("Deleted."))
        }
    }
}
