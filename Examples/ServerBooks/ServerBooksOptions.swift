import Foundation

/// The command's arguments.
public struct ServerBooksOptions: Equatable, Sendable {
    /// The action to perform.
    public enum Action: Equatable, Sendable {
        /// Show the issues and ask what to do.
        case ask
        /// Buy an issue by its name.
        case buy(String)
        /// Resume interrupted purchases and downloads.
        case download
        /// Download the newest versions of the user's issues.
        case update
        /// Restore the account's purchases from the store.
        case restore
        /// List the issues.
        case list
        /// Print an issue.
        case read(String)
        /// Print the usage.
        case help
    }

    /// The point at which the process ends at once, as if it were killed.
    public enum Crash: Equatable, Sendable {
        /// After the purchase was paid and before the merchant received it.
        case purchased
        /// After the merchant redeemed the purchase.
        case redeemed
        /// At a percentage of the download.
        case percent(Int)
        /// After the issue was delivered and before the transaction is finished.
        case delivered
        /// After the transaction was finished. StoreKit may not have sent this to the store yet.
        case finished
    }

    /// The action to perform.
    public var action = Action.ask
    /// Whether to finish transactions as soon as they are redeemed, before the issue is downloaded.
    public var finishesFirst = false
    /// The point at which the process ends; nil for none.
    public var crash: Crash?
    /// The merchant's base URL given in the arguments.
    public var merchant: URL?

    /// An error in the arguments.
    public struct Misuse: Error, Equatable {
        /// The message for standard error.
        public var text: String
    }

    /// The usage text.
    public static let help = """
        Server Books: a magazine whose issues come from the app's own server. The store that CORNERSTORE_STORE or CORNERSTORE_DATA
        names processes the payments.

        server-books                    asks what to do
        server-books --web              shows the app on a page in a browser; --port chooses the port
        server-books --buy issue1       buys an issue, downloads it, and ends
        server-books --download         resumes interrupted purchases and downloads
        server-books --update           downloads the newest versions of your issues
        server-books --restore          restores the account's purchases from the store
        server-books --list             lists the issues, and which are yours
        server-books --read issue1      prints an issue
                     --merchant URL     the app's server; the default is CORNERSTORE_MERCHANT, or else the one beside the store
                                        of CORNERSTORE_DATA
                     --finish-first     finishes a purchase when it is redeemed, before the download
                     --crash-at WHEN    ends there as if it were killed: purchased, redeemed, a number (of percent), delivered, finished

        The user's token is in the file that CORNERSTORE_USER_TOKEN_FILE names.
        The command ends with 0 when done, 1 when it was refused, failed or cancelled, 2 on wrong usage, 9 after --crash-at.
        """

    /// Parses the arguments.
    /// - Throws: ``Misuse``.
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
                guard let url = URL(string: text) else { throw Misuse(text: "\(text) is not a URL") }
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
