import Foundation

/// The command's arguments.
public struct BookChaptersOptions: Equatable, Sendable {
    /// The action to perform.
    public enum Action: Equatable, Sendable {
        /// Show the chapters and ask what to do.
        case ask
        /// Buy and download a chapter.
        case buy(Chapter)
        /// Resume the downloads of bought chapters.
        case download
        /// Download newer versions, and chapters bought on another device.
        case update
        /// List the chapters.
        case list
        /// Print a chapter.
        case read(Chapter)
        /// Print the usage.
        case help
    }

    /// The interruption at a percentage of a download, for tests.
    public enum Stop: Equatable, Sendable {
        /// Pause the download.
        case pause
        /// End the process at once, as if it were killed.
        case crash
    }

    /// The action to perform.
    public var action = Action.ask
    /// The interruption of the download, and the percentage at which it happens.
    public var stop: (what: Stop, percent: Int)?

    /// An error in the arguments.
    public struct Misuse: Error, Equatable {
        /// The message for standard error.
        public var text: String
    }

    /// The usage text.
    public static let help = """
        Book Chapters: a book sold by the chapter, downloaded from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        book-chapters                   asks what to do
        book-chapters --web             shows the app on a page in a browser; --port chooses the port
        book-chapters --buy 1           buys chapter 1, downloads it, and ends
                      [--pause-at 30]   pauses the download at 30 %, and ends
                      [--crash-at 30]   ends there as if it were killed
        book-chapters --download        resumes paused and interrupted downloads
        book-chapters --update          downloads newer versions, and chapters bought on another device
        book-chapters --list            lists the chapters, and which versions are yours
        book-chapters --read 1          prints a chapter

        Chapters are kept on a shelf in the device's folder (CORNERSTORE_DEVICE).
        Exit codes: 0 success, 1 refused, failed or cancelled, 2 wrong usage, 9 after --crash-at.
        """

    /// Parses the arguments.
    /// - Throws: ``Misuse``.
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

    /// Compares the actions and the interruptions.
    public static func == (left: Self, right: Self) -> Bool {
        left.action == right.action && left.stop?.what == right.stop?.what && left.stop?.percent == right.stop?.percent
    }
}
