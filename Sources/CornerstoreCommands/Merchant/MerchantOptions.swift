import BlobStorage
import Foundation
import Logging
import Merchant
import MerchantServer
import StoreWire

/// An option of the merchant's commands. Its raw value is its name on the command line and in a file; the environment
/// variable is `CORNERSTORE_MERCHANT_` and the name in capitals. Secrets are not options: they come from the
/// environment only.
enum MerchantOption: String, ServerSettingName {
    enum List: String, SettingListName {
        case store
        case root
        case intermediate
        case bundleID = "bundle-id"
        case products

        /// Paths are separated with `:` as in `PATH`. Addresses contain colons, so they are separated with spaces.
        var separator: Character { self == .store || self == .bundleID ? " " : ":" }
    }

    case data
    case database
    case schema
    case blobs
    case storeData = "store-data"
    case allowSandbox = "allow-sandbox"
    case remote
    case sandboxStore = "sandbox-store"
    case conflict
    case refunds
    case joinEnvironments = "join-environments"
    case defaultEnvironment = "default-environment"
    case evidenceDownloads = "evidence-downloads"
    case superseded
    case trialCredits = "trial-credits"
    case sharedCredits = "shared-credits"
    case tokenKeys = "token-keys"
    case storeKeys = "store-keys"
    case consumption
    case samples
    case accountTokens = "account-tokens"
    case webhook
    case host
    case port
    case consolePort = "console-port"
    case noConsole = "no-console"
    case consoleHost = "console-host"
    case consoleFiles = "console-files"
    case behindProxy = "behind-proxy"
    case noRateLimits = "no-rate-limits"
    case addressRate = "address-rate"
    case userRate = "user-rate"
    case keyRate = "key-rate"
    case addressGuessRate = "address-guess-rate"
    case userGuessRate = "user-guess-rate"
    case maxConnections = "max-connections"
    case maxConnectionsPerAddress = "max-connections-per-address"
    case maxBodyMemory = "max-body-memory"
    case logLevel = "log-level"
    case logFormat = "log-format"

    static let scope = ["cornerstore", "merchant"]
    static let hint =
        " Secrets come from the environment only: CORNERSTORE_WEBHOOK_SECRET, CORNERSTORE_SHARED_SECRET, CORNERSTORE_ADMIN_TOKEN."

    /// A database's URL may contain its password.
    var isSecret: Bool { self == .database }
}

/// The options of the merchant's commands. The command line overrides the environment, which overrides the file of
/// `--config`.
struct MerchantOptions {
    let layers: LayeredSettings<MerchantOption>
    let environment: [String: String]

    /// - Parameters:
    ///   - flags: the options of the command line.
    ///   - lists: the options of the command line with several values.
    ///   - file: the file of options.
    ///   - environment: the environment's variables.
    init(
        flags: [MerchantOption: String], lists: [MerchantOption.List: [String]] = [:],
        file: ConfigurationFile<MerchantOption>? = nil, environment: [String: String] = Console.current.environment
    ) {
        self.environment = environment.filter { !$0.value.isEmpty }
        layers = LayeredSettings(flags: flags, lists: lists, environment: environment, file: file)
    }

    // MARK: Locations

    /// The data directory. The default is the folder “merchant” in the store's data directory.
    var folder: URL {
        guard let data = layers.text(.data) else {
            return Self.storeFolder(nil, environment).appendingPathComponent("merchant")
        }
        return URL(fileURLWithPath: data, isDirectory: true).standardizedFileURL
    }

    /// The store's data directory.
    static func storeFolder(_ path: String?, _ environment: [String: String]) -> URL {
        let path = path ?? environment["CORNERSTORE_DATA"] ?? DataOptions.defaultPath
        return URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
    }

    /// Returns the URL of the PostgreSQL database; nil for SQLite in the data directory.
    /// - Throws: ``CommandError`` that names the option. The other methods throw the same error.
    func databaseURL() throws -> String? { try layers.databaseURL(.database) }

    /// Returns the PostgreSQL schema.
    func schema() throws -> String {
        let name = layers.text(.schema) ?? "cornerstore_merchant"
        guard name.wholeMatch(of: /[a-z_][a-z0-9_]{0,59}/) != nil else {
            throw CommandError(
                .usage,
                "schema must be 1 to 60 lower-case letters, digits and _, and must not start with a digit: “\(Style.printable(name))”."
            )
        }
        return name
    }

    /// Returns the bucket of content; nil for the folder in the data directory.
    func bucket() throws -> S3Location? { try S3Location(option: layers.text(.blobs), environment: environment) }

    /// Whether the server sends webhooks to a backend.
    var sendsWebhooks: Bool { layers.text(.webhook) != nil }

    /// Returns whether the server keeps sandbox and production credits in one balance.
    func joinsEnvironments() throws -> Bool { try layers.isSet(.joinEnvironments) }

    /// Returns the environment of requests that do not name one; nil without the option.
    func defaultEnvironment() throws -> StoreEnvironment? {
        guard layers.text(.defaultEnvironment) != nil else { return nil }
        return try layers.choice(.defaultEnvironment, otherwise: EnvironmentOptions.Name.production).environment
    }

    func logFormat() throws -> LogFormat { try layers.logFormat() }

    func logLevel() throws -> Logger.Level { try layers.logLevel() }

    /// The file with the keys of users' tokens; nil for the file in the data directory.
    var tokenKeys: URL? { layers.text(.tokenKeys).map { URL(fileURLWithPath: $0) } }

    /// Returns the location of the merchant's data. The merchant may not exist yet.
    func place() throws -> MerchantPlace {
        try MerchantPlace(folder: folder, databaseURL: try databaseURL(), schema: try schema())
    }

    /// Returns the location of an existing merchant's data.
    /// - Parameter orNew: whether the merchant may be created.
    /// - Throws: ``CommandError`` when no database is given and the data directory contains no merchant, or its server
    ///   uses another database.
    func known(orNew: Bool = false) throws -> MerchantPlace {
        let url = try databaseURL()
        let isKnown =
            MerchantPlace.hasDatabase(folder) || MerchantPlace.hasDatabaseElsewhere(folder)
            || MerchantPlace.isHalfRestored(folder)
        guard orNew || url != nil || isKnown else {
            throw CommandError(
                .usage,
                "There is no merchant in \(folder.path). Give its data directory with --data, or its database with --database."
            )
        }
        guard url != nil || !MerchantPlace.hasDatabaseElsewhere(folder) else {
            throw CommandError(
                .usage,
                "The merchant of \(folder.path) uses PostgreSQL. Give its database with --database, and its schema with --schema if it is not "
                    + "cornerstore_merchant.")
        }
        return try place()
    }
}
