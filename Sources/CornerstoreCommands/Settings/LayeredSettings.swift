import Configuration
import Logging
import ServerSupport

/// The options of a server. The command line overrides the environment, which overrides the file.
struct LayeredSettings<Name: SettingName> {
    private let reader: ConfigReader
    private let lists: [Name.List: [String]]

    /// - Parameters:
    ///   - flags: the options of the command line.
    ///   - lists: the options with several values. If a list is empty, that of the environment or the file applies.
    ///   - environment: the environment's variables. Empty variables are ignored.
    ///   - file: the file of options.
    init(
        flags: [Name: String], lists: [Name.List: [String]], environment: [String: String],
        file: ConfigurationFile<Name>?
    ) {
        let environment = environment.filter { $0.key.hasPrefix("CORNERSTORE_") && !$0.value.isEmpty }
        reader = ConfigReader(providers: [
            InMemoryProvider(name: "command line", values: Self.layer(flags)),
            EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all),
            InMemoryProvider(name: "file", values: Self.layer(file?.values ?? [:])),
        ])
        var found: [Name.List: [String]] = [:]
        for list in Name.List.allCases {
            let variable = environment[Name.variable(list.rawValue)].map {
                $0.split(separator: list.separator).map(String.init)
            }
            let given = lists[list].flatMap { $0.isEmpty ? nil : $0 }
            found[list] = given ?? variable ?? file?.lists[list] ?? []
        }
        self.lists = found
    }

    private static func layer(_ values: [Name: String]) -> [AbsoluteConfigKey: ConfigValue] {
        var layer: [AbsoluteConfigKey: ConfigValue] = [:]
        for (setting, value) in values {
            layer[AbsoluteConfigKey(setting.key.components)] = ConfigValue(.string(value), isSecret: setting.isSecret)
        }
        return layer
    }

    func text(_ setting: Name) -> String? { reader.string(forKey: setting.key, isSecret: setting.isSecret) }

    func list(_ list: Name.List) -> [String] { lists[list] ?? [] }

    /// Returns a number.
    /// - Throws: ``CommandError`` that names the option. The other methods throw the same error.
    func number(_ setting: Name, _ range: ClosedRange<Int>, otherwise: Int) throws -> Int {
        guard let text = text(setting) else { return otherwise }
        guard let number = Int(text), range.contains(number) else {
            throw CommandError(
                .usage,
                "\(setting.rawValue) must be a number from \(range.lowerBound) to \(range.upperBound), not “\(Style.printable(text))”."
            )
        }
        return number
    }

    /// Returns a rate limit: requests per second and an optional burst, such as `20` or `20:60`. The default burst is
    /// twice the rate, but at least 1.
    func rate(_ setting: Name, otherwise: TokenRate) throws -> TokenRate {
        guard let text = text(setting) else { return otherwise }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...2).contains(parts.count), let perSecond = parts[0], (0.001...1_000_000).contains(perSecond),
            let burst = parts.count == 2 ? parts[1] : max(perSecond * 2, 1), (1...1_000_000).contains(burst)
        else {
            throw CommandError(
                .usage,
                "\(setting.rawValue) must be a rate per second and a burst, such as 20:60, not “\(Style.printable(text))”."
            )
        }
        return TokenRate(burst: burst, perSecond: perSecond)
    }

    /// Returns whether a flag is set. The default is false.
    func isSet(_ setting: Name) throws -> Bool {
        switch text(setting) {
        case nil, "false": return false
        case "true": return true
        case let text?:
            throw CommandError(.usage, "\(setting.rawValue) must be true or false, not “\(Style.printable(text))”.")
        }
    }

    /// Returns one of several words.
    func choice<Choice: CaseIterable & RawRepresentable>(
        _ setting: Name, otherwise: Choice
    ) throws -> Choice where Choice.RawValue == String {
        guard let text = text(setting) else { return otherwise }
        guard let choice = Choice(rawValue: text.lowercased()) else {
            throw CommandError(
                .usage,
                "\(setting.rawValue) must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")), not “\(Style.printable(text))”."
            )
        }
        return choice
    }

    /// Returns the URL of a PostgreSQL database. Error messages do not contain the URL, because it may contain a
    /// password.
    func databaseURL(_ setting: Name) throws -> String? {
        guard let url = text(setting) else { return nil }
        guard ["postgres://", "postgresql://"].contains(where: url.hasPrefix) else {
            throw CommandError(
                .usage, "\(setting.rawValue) must be a URL that starts with postgres:// or postgresql://.")
        }
        return url
    }
}
