import Foundation

/// What the command was asked to do.
public struct ServerBooksOptions: Equatable, Sendable {
    /// What to do, one thing at a time.
    public enum Action: Equatable, Sendable {
        /// Show the shelf, and ask.
        case ask
        /// Buy an issue by its name.
        case buy(String)
        /// Go on with what was bought and is not here yet.
        case download
        /// Get the newest version of all that is the user's.
        case update
        /// Ask the store for what was bought before.
        case restore
        case list
        case read(String)
        /// Only print how to use it.
        case help
    }

    /// When the process ends at once, as if it were killed.
    public enum Crash: Equatable, Sendable {
        /// The purchase is paid for; the merchant does not know of it.
        case purchased
        /// The merchant has the purchase in its books; nothing else is done.
        case redeemed
        /// So much of the issue has come, in percent.
        case percent(Int)
        /// The issue is here; the transaction is not finished.
        case delivered
        /// The transaction was finished, and StoreKit may not have told the store yet.
        case finished
    }

    public var action = Action.ask
    /// Whether transactions are finished as soon as they are redeemed, and the issue comes later.
    public var finishesFirst = false
    public var crash: Crash?
    /// Where the merchant is, when the arguments say it.
    public var merchant: URL?

    /// Why the arguments make no sense, for standard error.
    public struct Misuse: Error, Equatable {
        public var text: String
    }

    public static let help = """
        Server Books: a magazine whose issues the app's own server sells and delivers; the store that CORNERSTORE_STORE or
        CORNERSTORE_DATA names takes the money.

        server-books                    asks what to do
        server-books --buy issue1       buys an issue, downloads it, and ends
        server-books --download         goes on with what is not here yet, whatever broke it off
        server-books --update           gets the newest version of all that is yours
        server-books --restore          asks the store for what was bought before
        server-books --list             says what is on the shelf, and what is yours
        server-books --read issue1      prints an issue
                     --merchant URL     where the app's server is, else CORNERSTORE_MERCHANT
                     --finish-first     finishes a purchase when it is redeemed, and downloads after that
                     --crash-at WHEN    ends there as if it were killed: purchased, redeemed, a number (of percent), delivered, finished

        The user's token is in the file that CORNERSTORE_USER_TOKEN_FILE names.
        It ends with 0 when done, 1 when it was refused, failed or cancelled, 2 on wrong usage, 9 after --crash-at.
        """

    public init(arguments: [String]) throws {
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst(), !value.hasPrefix("--") else {
                throw Misuse(text: "\(option) needs a value")
            }
            return value
        }
        var actions: [Action] = []
        while let argument = rest.popFirst() {
            switch argument {
            case "--buy": actions.append(.buy(try value(of: argument)))
            case "--read": actions.append(.read(try value(of: argument)))
            case "--download": actions.append(.download)
            case "--update": actions.append(.update)
            case "--restore": actions.append(.restore)
            case "--list": actions.append(.list)
            case "--finish-first": finishesFirst = true
            case "--crash-at": crash = try Crash(try value(of: argument))
            case "--merchant":
                let text = try value(of: argument)
                guard let url = URL(string: text) else { throw Misuse(text: "\(text) is no URL") }
                merchant = url
            case "--help", "-h":
                action = .help
                return
            default: throw Misuse(text: "unknown argument \(argument); see --help")
            }
        }
        guard actions.count <= 1 else {
            throw Misuse(text: "one of --buy, --download, --update, --restore, --list and --read at a time")
        }
        action = actions.first ?? .ask
    }
}

extension ServerBooksOptions.Crash {
    fileprivate init(_ text: String) throws {
        switch text {
        case "purchased": self = .purchased
        case "redeemed": self = .redeemed
        case "delivered": self = .delivered
        case "finished": self = .finished
        default:
            guard let percent = Int(text), (0...99).contains(percent) else {
                throw ServerBooksOptions.Misuse(
                    text:
                        "--crash-at needs purchased, redeemed, delivered, finished or a number from 0 to 99, not \(text)"
                )
            }
            self = .percent(percent)
        }
    }
}
