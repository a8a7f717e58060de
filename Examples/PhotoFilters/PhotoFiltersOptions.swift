import Foundation

/// What the command was asked to do.
public struct PhotoFiltersOptions: Equatable, Sendable {
    /// What to do, one thing at a time.
    public enum Action: Equatable, Sendable {
        /// Show what there is, and ask.
        case ask
        case buy(PhotoFilter)
        case restore
        case list
        case apply(PhotoFilter)
        /// Only print how to use it.
        case help
    }

    public var action = Action.ask
    /// The picture to work on; nil: the one that the app draws.
    public var input: String?
    /// Where the filtered picture goes.
    public var output: String?

    /// Why the arguments make no sense, for standard error.
    public struct Misuse: Error, Equatable {
        public var text: String
    }

    public static let help = """
        Photo Filters: filters for pictures, bought from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        photo-filters                                     asks what to do
        photo-filters --buy sepia                         buys a filter, and ends
        photo-filters --restore                           brings filters bought on another device, and ends
        photo-filters --list                              says which filters are yours, and ends
        photo-filters --apply sepia --out out.png         filters a picture, and ends
                      [--in in.png]                       this one, instead of the one that comes with the app

        There are the filters sepia and mono. What is yours is kept in a vault in the device's folder (CORNERSTORE_DEVICE).
        It ends with 0 when done, 1 when it was refused, failed or cancelled, 2 on wrong usage.
        """

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
