import Configuration

/// The names of a server's options with one value, on the command line and in a file.
protocol SettingName: CaseIterable, Hashable, RawRepresentable, Sendable where RawValue == String {
    /// The options with several values.
    associatedtype List: SettingListName

    /// The words at the start of the environment variables' names.
    static var scope: [String] { get }
    /// A sentence for the end of the error about an unknown option; may be empty.
    static var hint: String { get }
    /// Whether the value must not appear in errors and logs.
    var isSecret: Bool { get }
}

/// The options that both servers have.
protocol ServerSettingName: SettingName {
    static var consolePort: Self { get }
    static var noConsole: Self { get }
    static var consoleHost: Self { get }
    static var consoleFiles: Self { get }
    static var behindProxy: Self { get }
    static var noRateLimits: Self { get }
    static var consumption: Self { get }
    static var samples: Self { get }
    static var accountTokens: Self { get }
    static var addressRate: Self { get }
    static var userRate: Self { get }
    static var keyRate: Self { get }
    static var addressGuessRate: Self { get }
    static var userGuessRate: Self { get }
    static var maxConnections: Self { get }
    static var maxConnectionsPerAddress: Self { get }
    static var maxBodyMemory: Self { get }
    static var logLevel: Self { get }
    static var logFormat: Self { get }
}

/// The names of a server's options with several values.
protocol SettingListName: CaseIterable, Hashable, RawRepresentable, Sendable where RawValue == String {
    /// The separator of the values in an environment variable.
    var separator: Character { get }
}

extension SettingName {
    static var hint: String { "" }

    /// The key in the configuration layers, with `_` between words as in environment variables.
    var key: ConfigKey { ConfigKey(Self.scope + [rawValue.replacing("-", with: "_")]) }

    /// Returns the name of the environment variable: the scope and the name in capitals, such as `CORNERSTORE_PORT`.
    static func variable(_ name: String) -> String {
        (scope + [name.replacing("-", with: "_")]).joined(separator: "_").uppercased()
    }
}
