import Foundation

/// The command's arguments.
public struct CrossPromotionOptions: Equatable, Sendable {
    /// The command's action.
    public enum Action: Equatable, Sendable {
        /// Ask the user.
        case ask
        /// Show an item's page, by its number or a link.
        case show(Int64)
        /// Show the page of the developer's other app.
        case app
        /// Show the film's page.
        case film
        /// Show the page of each song of the playlist.
        case playlist
        /// Find items by words.
        case find(String)
        /// Look an item up by its number or a link.
        case lookUp(Int64)
        /// Print the usage.
        case help
    }

    /// The action to perform.
    public var action = Action.ask
    /// Whether to open an item's link instead of its page, as on systems before iOS 6.
    public var opensLinks = false

    /// An error in the arguments.
    public struct Misuse: Error, Equatable {
        /// The message for standard error.
        public var text: String
    }

    /// The usage text.
    public static let help = """
        Cross Promotion: shows items of the store that CORNERSTORE_STORE or CORNERSTORE_DATA names, and sells them.

        cross-promotion                     asks what to show
        cross-promotion --web               shows the app on a page in a browser; --port chooses the port
        cross-promotion --app               shows the page of another app, found by its link
        cross-promotion --film              shows the page of a film, found by search
        cross-promotion --playlist          shows the page of each song of a playlist, found by search
        cross-promotion --show NUMBER|LINK  shows the page of an item
        cross-promotion --find WORDS        finds items by search
        cross-promotion --look-up NUMBER|LINK  prints an item's name and ratings
                        --links             opens an item's link instead of its page, as apps do before iOS 6

        Exit codes: 0 success, 1 when an item was not found or the store did not answer, 2 wrong usage.
        """

    /// Parses the arguments.
    /// - Throws: ``Misuse``.
    public init(arguments: [String]) throws {
        var rest = arguments[...]
        var actions: [Action] = []
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst(), !value.hasPrefix("--") else {
                throw Misuse(text: "\(option) needs a value")
            }
            return value
        }
        func number(of option: String) throws -> Int64 {
            let text = try value(of: option)
            guard let number = Int64(text) ?? ItemSearch.number(inLink: text), number > 0 else {
                throw Misuse(text: "\(option) needs an item's number, or a link with /id and the number, not \(text)")
            }
            return number
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--app": actions.append(.app)
            case "--film": actions.append(.film)
            case "--playlist": actions.append(.playlist)
            case "--show": actions.append(.show(try number(of: argument)))
            case "--find": actions.append(.find(try value(of: argument)))
            case "--look-up": actions.append(.lookUp(try number(of: argument)))
            case "--links": opensLinks = true
            case "--help", "-h":
                action = .help
                return
            default: throw Misuse(text: "unknown argument \(argument); see --help")
            }
        }
        guard actions.count <= 1 else { throw Misuse(text: "one of the actions at a time; see --help") }
        action = actions.first ?? .ask
    }
}
