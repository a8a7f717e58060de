import Foundation

/// The command's arguments.
public struct MagazineOptions: Equatable, Sendable {
    /// The action to perform.
    public enum Action: Equatable, Sendable {
        /// Show the plans and ask what to do.
        case ask
        /// Buy a plan.
        case buy(Plan)
        /// Restore the account's purchases.
        case restore
        /// List the plans.
        case list
        /// Show the subscription's status.
        case status
        /// Print the usage.
        case help
    }

    /// The action to perform.
    public var action = Action.ask

    /// An error in the arguments.
    public struct Misuse: Error, Equatable {
        /// The message for standard error.
        public var text: String
    }

    /// The usage text.
    public static let help = """
        Magazine: a subscription with three plans, from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        magazine                               asks what to do
        magazine --web [--port NUMBER]         shows the app on a page in a browser
        magazine --list                        lists the plans with their prices, and ends
        magazine --buy monthly                 buys a plan, shows the status, and ends
        magazine --restore                     restores the subscription on another device, and ends
        magazine --status                      fetches a fresh receipt, shows the status, and ends

        The plans are monthly, yearly and premium. The first week of monthly is free. The status comes from the receipt alone, and from
        the app's own server too, if CORNERSTORE_MERCHANT names it (or CORNERSTORE_DATA a store beside one) and
        CORNERSTORE_USER_TOKEN_FILE the file of the user's token.
        Exit codes: 0 success, 1 refused, failed or cancelled, 2 wrong usage.
        """

    /// Parses the arguments.
    /// - Throws: ``Misuse``.
    public init(arguments: [String]) throws {
        var rest = arguments[...]
        var actions: [Action] = []
        while let argument = rest.popFirst() {
            switch argument {
            case "--buy":
                guard let name = rest.popFirst() else { throw Misuse(text: "--buy needs a value") }
                guard let plan = Plan.named(name) else {
                    let known = Plan.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Misuse(text: "there is no plan \(name); there are \(known)")
                }
                actions.append(.buy(plan))
            case "--restore": actions.append(.restore)
            case "--list": actions.append(.list)
            case "--status": actions.append(.status)
            case "--help", "-h":
                action = .help
                return
            default: throw Misuse(text: "unknown argument \(argument); see --help")
            }
        }
        guard actions.count <= 1 else { throw Misuse(text: "one of --buy, --restore, --list and --status at a time") }
        action = actions.first ?? .ask
    }
}
