import ArgumentParser
import Logging

/// The options of both servers' logs.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The lowest level to log on standard error (notice).", valueName: "level"),
        completion: .list(Logger.Level.allCases.map(\.rawValue)))
    var logLevel: String?
    @Option(
        help: ArgumentHelp("The log's format: text, or json with one object per line (text).", valueName: "format"),
        completion: .list(LogFormat.allCases.map(\.rawValue)))
    var logFormat: String?

    /// Returns the options that were given.
    func flags<Name: ServerSettingName>() -> [Name: String] {
        var flags: [Name: String] = [:]
        flags[.logLevel] = logLevel
        flags[.logFormat] = logFormat
        return flags
    }
}
