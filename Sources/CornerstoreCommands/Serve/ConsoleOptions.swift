import ArgumentParser

/// The options for the console beside a store or beside a merchant alone.
struct ConsoleOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The console's port (8420 beside a store, 8421 beside a merchant alone). 0 selects a free port.",
            valueName: "port"))
    var consolePort: Int?
    @Flag(inversion: .prefixedNo, help: "Run the console beside the server (default: yes).")
    var console: Bool?
    @Option(
        help: ArgumentHelp(
            "The host name by which other machines' browsers reach the console. It needs an admin token.",
            valueName: "name"))
    var consoleHost: String?
    @Option(
        help: ArgumentHelp(
            "Read the console's templates, style sheet and scripts from a folder at each request.", valueName: "dir"),
        completion: .directory)
    var consoleFiles: String?

    /// Returns the options that were given.
    func flags<Name: ServerSettingName>() -> [Name: String] {
        var flags: [Name: String] = [:]
        flags[.consolePort] = consolePort.map(String.init)
        flags[.noConsole] = console.map { String(!$0) }
        flags[.consoleHost] = consoleHost
        flags[.consoleFiles] = consoleFiles
        return flags
    }
}
