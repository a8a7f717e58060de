import ArgumentParser
import Logging

/// The options of both servers' logs.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("How much the log on standard error says (notice).", valueName: "level"),
        completion: .list(Logger.Level.allCases.map(\.rawValue)))
    var logLevel: String?
    @Option(
        help: ArgumentHelp("How the log is written: text, or json, one object to a line (text).", valueName: "format"),
        completion: .list(LogFormat.allCases.map(\.rawValue)))
    var logFormat: String?

    /// The options that were given.
    func flags<Name: ServerSettingName>() -> [Name: String] {
        var flags: [Name: String] = [:]
        flags[.logLevel] = logLevel
        flags[.logFormat] = logFormat
        return flags
    }
}
