import BlobStorage
import Configuration
import Foundation
import Logging
import Store
import StoreServer
import StoreWire

/// An option of `serve` by its name on the command line and in a file. In the environment it is `CORNERSTORE_` and the name in capitals.
enum ServeSetting: String, CaseIterable {
    case bundleID = "bundle-id"
    case data
    case database
    case schemaPrefix = "schema-prefix"
    case host
    case controlPort = "control-port"
    case sandboxPort = "sandbox-port"
    case productionPort = "production-port"
    case merchantPort = "merchant-port"
    case noMerchant = "no-merchant"
    case node
    case logLevel = "log-level"
    case adminToken = "admin-token"
    case blobs

    /// The key in the layers of configuration; `_` between words is what the environment's variables have.
    var key: ConfigKey { ConfigKey(["cornerstore", rawValue.replacing("-", with: "_")]) }

    fileprivate var isSecret: Bool { self == .adminToken || self == .database }
}

/// The options of `serve` from everywhere: the command line, then the environment, then a file.
struct ServeSettings {
    private let reader: ConfigReader
    private let files: [String]
    private let productsFiles: [String]
    /// The variables in which every S3 client looks for its keys.
    private let keys: [String: String]

    /// - Parameters:
    ///   - files: the catalog files of the command line; none for those of the environment or the file.
    ///   - productsFiles: the same of the merchant's files of products.
    init(
        flags: [ServeSetting: String], files: [String], productsFiles: [String], environment: [String: String],
        file: ConfigurationFile?
    ) throws {
        keys = environment.filter { $0.key.hasPrefix("AWS_") && !$0.value.isEmpty }
        let environment = environment.filter { $0.key.hasPrefix("CORNERSTORE_") && !$0.value.isEmpty }
        reader = ConfigReader(providers: [
            InMemoryProvider(name: "command line", values: Self.layer(flags)),
            EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all),
            InMemoryProvider(name: "file", values: Self.layer(file?.values ?? [:])),
        ])
        func list(_ given: [String], _ variable: String, _ listed: [String]?) -> [String] {
            guard given.isEmpty else { return given }
            return environment[variable].map { $0.split(separator: ":").map(String.init) } ?? listed ?? []
        }
        self.files = list(files, "CORNERSTORE_FILES", file?.catalogFiles)
        self.productsFiles = list(productsFiles, "CORNERSTORE_MERCHANT_PRODUCTS", file?.productsFiles)
    }

    private static func layer(_ values: [ServeSetting: String]) -> [AbsoluteConfigKey: ConfigValue] {
        var layer: [AbsoluteConfigKey: ConfigValue] = [:]
        for (setting, value) in values {
            layer[AbsoluteConfigKey(setting.key.components)] = ConfigValue(.string(value), isSecret: setting.isSecret)
        }
        return layer
    }

    private func text(_ setting: ServeSetting) -> String? {
        reader.string(forKey: setting.key, isSecret: setting.isSecret)
    }

    private func number(_ setting: ServeSetting, _ range: ClosedRange<Int>, otherwise: Int) throws -> Int {
        guard let text = text(setting) else { return otherwise }
        guard let number = Int(text), range.contains(number) else {
            throw CommandError(
                .usage,
                "\(setting.rawValue) is a number from \(range.lowerBound) to \(range.upperBound), not “\(Style.printable(text))”."
            )
        }
        return number
    }

    func logLevel() throws -> Logger.Level {
        guard let text = text(.logLevel) else { return .notice }
        guard let level = Logger.Level(rawValue: text.lowercased()) else {
            throw CommandError(
                .usage,
                "log-level is one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")), not “\(Style.printable(text))”."
            )
        }
        return level
    }

    /// - Throws: ``CommandError`` that names the option.
    func configuration() throws -> StoreServerConfiguration {
        var configuration = StoreServerConfiguration(
            dataDirectory: URL(fileURLWithPath: text(.data) ?? DataOptions.defaultPath, isDirectory: true)
                .standardizedFileURL,
            catalogFiles: try catalogFiles())
        configuration.host = text(.host) ?? configuration.host
        let ports = 0...65535
        configuration.controlPort = try number(.controlPort, ports, otherwise: configuration.controlPort)
        configuration.sandboxPort = try number(.sandboxPort, ports, otherwise: configuration.sandboxPort)
        configuration.productionPort = try number(.productionPort, ports, otherwise: configuration.productionPort)
        configuration.node = try number(.node, 0...63, otherwise: 0)
        configuration.adminToken = text(.adminToken)
        configuration.databaseURL = text(.database)
        if let url = configuration.databaseURL, !["postgres://", "postgresql://"].contains(where: url.hasPrefix) {
            throw CommandError(.usage, "database is a URL that begins with postgres://.")
        }
        configuration.bucket = try S3Location(option: text(.blobs), environment: keys)
        configuration.schemaPrefix = try schemaPrefix() ?? configuration.schemaPrefix
        return configuration
    }

    /// What is asked for of the merchant beside the store; nil for a store alone.
    /// - Throws: ``CommandError`` that names the option.
    func merchant() throws -> MerchantSettings? {
        let port = try number(.merchantPort, 0...65535, otherwise: MerchantSettings.usualPort)
        switch text(.noMerchant) {
        case nil, "false": break
        case "true": return nil
        case let text?:
            throw CommandError(.usage, "no-merchant is true or false, not “\(Style.printable(text))”.")
        }
        return MerchantSettings(port: port, productsFiles: productsFiles.map { URL(fileURLWithPath: $0) })
    }

    /// Short enough for a schema's whole name, which PostgreSQL cuts off after 63 bytes.
    private func schemaPrefix() throws -> String? {
        guard let text = text(.schemaPrefix) else { return nil }
        guard text.wholeMatch(of: /[a-z_][a-z0-9_]{0,49}/) != nil else {
            throw CommandError(
                .usage,
                "schema-prefix is 1 to 50 small letters, digits and _, not beginning with a digit, not “\(Style.printable(text))”."
            )
        }
        return text
    }

    private func catalogFiles() throws -> [CatalogFile] {
        guard !files.isEmpty else {
            throw CommandError(.usage, "No catalog file is given. Try: cornerstore serve App.storekit")
        }
        var arguments = try files.map { name in
            guard let argument = CatalogFileArgument(argument: name) else {
                throw CommandError(.usage, "“\(Style.printable(name))” is not FILE or FILE=BUNDLE.")
            }
            return argument.file
        }
        if let bundleID = text(.bundleID) {
            guard arguments.count == 1, arguments[0].bundleID == nil else {
                throw CommandError(.usage, "--bundle-id is for one file; write FILE=BUNDLE for each of several.")
            }
            arguments[0].bundleID = BundleID(bundleID)
        }
        return arguments
    }
}
