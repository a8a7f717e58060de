import Configuration

/// The options of a server by their names on the command line and in a file, where each has one value.
protocol SettingName: CaseIterable, Hashable, RawRepresentable, Sendable where RawValue == String {
    /// The options that have several.
    associatedtype List: SettingListName

    /// What the names of the environment's variables begin with, a word each.
    static var scope: [String] { get }
    /// What is to be said to who has looked in vain for an option.
    static var hint: String { get }
    /// Whether no error and no log may hold it.
    var isSecret: Bool { get }
}

/// The options that both servers have.
protocol ServerSettingName: SettingName {
    static var behindProxy: Self { get }
    static var noRateLimits: Self { get }
    static var addressRate: Self { get }
    static var userRate: Self { get }
    static var keyRate: Self { get }
    static var maxConnections: Self { get }
    static var maxConnectionsPerAddress: Self { get }
    static var maxBodyMemory: Self { get }
    static var logLevel: Self { get }
    static var logFormat: Self { get }
}

/// An option that has several values.
protocol SettingListName: CaseIterable, Hashable, RawRepresentable, Sendable where RawValue == String {
    /// What parts the values in a variable of the environment.
    var separator: Character { get }
}

extension SettingName {
    static var hint: String { "" }

    /// The key in the layers of configuration; `_` between words is what the environment's variables have.
    var key: ConfigKey { ConfigKey(Self.scope + [rawValue.replacing("-", with: "_")]) }

    /// `CORNERSTORE_` and the name in capitals.
    static func variable(_ name: String) -> String {
        (scope + [name.replacing("-", with: "_")]).joined(separator: "_").uppercased()
    }
}
