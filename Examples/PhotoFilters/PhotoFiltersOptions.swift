import Foundation

/// The command's arguments.
public struct PhotoFiltersOptions: Equatable, Sendable {
    /// The action to perform.
    public enum Action: Equatable, Sendable {
        /// Show the filters and ask what to do.
        case ask
        /// Buy a filter.
        case buy(PhotoFilter)
        /// Restore the account's purchases.
        case restore
        /// List the filters.
        case list
        /// Apply a filter to a picture.
        case apply(PhotoFilter)
        /// Print the usage.
        case help
    }

    /// The action to perform.
    public var action = Action.ask
    /// The path of the picture to filter; nil for the app's sample picture.
    public var input: String?
    /// The path of the filtered picture.
    public var output: String?

    /// An error in the arguments.
    public struct Misuse: Error, Equatable {
        /// The message for standard error.
        public var text: String
    }

    /// The usage text.
    public static let help = """
        Photo Filters: filters for pictures, bought from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        photo-filters                                     asks what to do
        photo-filters --web [--port NUMBER]               shows the app on a page in a browser
        photo-filters --buy sepia                         buys a filter, and ends
        photo-filters --restore                           restores filters bought on another device, and ends
        photo-filters --list                              lists the filters, and ends
        photo-filters --apply sepia --out out.png         filters a picture, and ends
                      [--in in.png]                       the picture to filter, instead of the app's sample

        The filters are sepia and mono. Your filters are recorded in a vault in the device's folder (CORNERSTORE_DEVICE).
        Exit codes: 0 success, 1 refused, failed or cancelled, 2 wrong usage.
        """

    /// Parses the arguments.
    /// - Throws: ``Misuse``.
    public init(arguments: [String]) throws {
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Misuse(text: "\(option) needs a value") }
            return value
        }
        func filter(of option: String) throws -> PhotoFilter {
            let name = try value(of: option)
            guard let filter = PhotoFilter.named(name) else {
                let known = PhotoFilter.allCases.map(\.rawValue).joined(separator: ", ")
                throw Misuse(text: "there is no filter \(name); there are \(known)")
            }
            return filter
        }
        var actions: [Action] = []
        while let argument = rest.popFirst() {
            switch argument {
            case "--buy": actions.append(.buy(try filter(of: argument)))
            case "--apply": actions.append(.apply(try filter(of: argument)))
            case "--restore": actions.append(.restore)
            case "--list": actions.append(.list)
            case "--in": input = try value(of: argument)
            case "--out": output = try value(of: argument)
            case "--help", "-h": actions = [.help]
            default: throw Misuse(text: "unknown argument \(argument); see --help")
            }
        }
        guard actions.count <= 1 else { throw Misuse(text: "one of --buy, --restore, --list and --apply at a time") }
        action = actions.first ?? .ask
        if case .apply = action {
            guard output != nil else { throw Misuse(text: "--apply needs --out FILE") }
        } else if input != nil || output != nil, action != .help {
            throw Misuse(text: "--in and --out go with --apply")
        }
    }
}
