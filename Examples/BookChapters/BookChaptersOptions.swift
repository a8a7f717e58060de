import Foundation

/// What the command was asked to do.
public struct BookChaptersOptions: Equatable, Sendable {
    /// What to do, one thing at a time.
    public enum Action: Equatable, Sendable {
        /// Show what there is, and ask.
        case ask
        case buy(Chapter)
        /// Go on with what was bought and is not here yet.
        case download
        /// Get the newest versions, and what was bought on another device.
        case update
        case list
        case read(Chapter)
        /// Only print how to use it.
        case help
    }

    /// What to do once so much of a download has come, to try what happens then.
    public enum Stop: Equatable, Sendable {
        case pause
        /// The process ends at once, as if it were killed.
        case crash
    }

    public var action = Action.ask
    /// What to do at which percentage.
    public var stop: (what: Stop, percent: Int)?

    /// Why the arguments make no sense, for standard error.
    public struct Misuse: Error, Equatable {
        public var text: String
    }

    public static let help = """
        Book Chapters: a book sold by the chapter, downloaded from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        book-chapters                   asks what to do
        book-chapters --buy 1           buys chapter 1, downloads it, and ends
                      [--pause-at 30]   pauses the download at 30 %, and ends
                      [--crash-at 30]   ends there as if it were killed
        book-chapters --download        goes on with what is not here yet, paused or broken off
        book-chapters --update          gets newer versions, and what was bought on another device
        book-chapters --list            says which chapters are yours, in which version
        book-chapters --read 1          prints a chapter

        Chapters are kept on a shelf in the device's folder (CORNERSTORE_DEVICE).
        It ends with 0 when done, 1 when it was refused, failed or cancelled, 2 on wrong usage, 9 after --crash-at.
        """

    public init(arguments: [String]) throws {
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Misuse(text: "\(option) needs a value") }
            return value
        }
        func chapter(of option: String) throws -> Chapter {
            let text = try value(of: option)
            guard let chapter = Int(text).flatMap(Chapter.init(rawValue:)) else {
                throw Misuse(text: "there is no chapter \(text); there are 1 to \(Chapter.allCases.count)")
            }
            return chapter
        }
        func percent(of option: String) throws -> Int {
            let text = try value(of: option)
            guard let percent = Int(text), (0...99).contains(percent) else {
                throw Misuse(text: "\(option) needs a number from 0 to 99, not \(text)")
            }
            return percent
        }
        var actions: [Action] = []
        while let argument = rest.popFirst() {
            switch argument {
            case "--buy": actions.append(.buy(try chapter(of: argument)))
            case "--read": actions.append(.read(try chapter(of: argument)))
            case "--download": actions.append(.download)
            case "--update": actions.append(.update)
            case "--list": actions.append(.list)
            case "--pause-at": stop = (.pause, try percent(of: argument))
            case "--crash-at": stop = (.crash, try percent(of: argument))
            case "--help", "-h": actions = [.help]
            default: throw Misuse(text: "unknown argument \(argument); see --help")
            }
        }
        guard actions.count <= 1 else {
            throw Misuse(text: "one of --buy, --download, --update, --list and --read at a time")
        }
        action = actions.first ?? .ask
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.action == right.action && left.stop?.what == right.stop?.what && left.stop?.percent == right.stop?.percent
    }
}
