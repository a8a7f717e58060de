import BlobStorage
import Foundation
import Logging
import MerchantServer
import StoreWire

/// An option of the merchant's commands by its name on the command line and in a file. In the environment it is `CORNERSTORE_MERCHANT_` and the name in
/// capitals. Secrets are none of them: they come from the environment alone.
enum MerchantOption: String, ServerSettingName {
    enum List: String, SettingListName {
        case store
        case root
        case intermediate
        case bundleID = "bundle-id"
        case products

        /// Files are parted as in `PATH`; addresses have colons of their own.
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
    case webhook
    case host
    case port
    case behindProxy = "behind-proxy"
    case noRateLimits = "no-rate-limits"
    case addressRate = "address-rate"
    case userRate = "user-rate"
    case keyRate = "key-rate"
    case maxConnections = "max-connections"
    case maxConnectionsPerAddress = "max-connections-per-address"
    case maxBodyMemory = "max-body-memory"
    case logLevel = "log-level"
    case logFormat = "log-format"

    static let scope = ["cornerstore", "merchant"]
    static let hint =
        " Secrets are taken from the environment alone: CORNERSTORE_WEBHOOK_SECRET, CORNERSTORE_SHARED_SECRET."

    /// A database's URL may hold its password.
    var isSecret: Bool { self == .database }
}

/// The options of the merchant's commands from everywhere: the command line, then the environment, then the file of `--config`.
struct MerchantOptions {
    let layers: LayeredSettings<MerchantOption>
    let environment: [String: String]

    /// - Parameters:
    ///   - flags: the options of the command line.
    ///   - lists: those of them that have several values.
    ///   - file: what the file of options says.
    init(
        flags: [MerchantOption: String], lists: [MerchantOption.List: [String]] = [:],
        file: ConfigurationFile<MerchantOption>? = nil, environment: [String: String] = Console.current.environment
    ) {
        self.environment = environment.filter { !$0.value.isEmpty }
        layers = LayeredSettings(flags: flags, lists: lists, environment: environment, file: file)
    }

    // MARK: Where everything is

    /// The data directory; when none is named, the folder “merchant” of the store's.
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

    /// - Throws: ``CommandError`` that names the option, as the others do.
    func databaseURL() throws -> String? { try layers.databaseURL(.database) }

    func schema() throws -> String {
        let name = layers.text(.schema) ?? "cornerstore_merchant"
        guard name.wholeMatch(of: /[a-z_][a-z0-9_]{0,59}/) != nil else {
            throw CommandError(
                .usage,
                "schema is 1 to 60 small letters, digits and _, not beginning with a digit, not “\(Style.printable(name))”."
            )
        }
        return name
    }

    /// The bucket of content; nil for the folder in the data directory.
    func bucket() throws -> S3Location? { try S3Location(option: layers.text(.blobs), environment: environment) }

    /// Whether the server tells a backend of what changes.
    var sendsWebhooks: Bool { layers.text(.webhook) != nil }

    /// Whether the server keeps the sandbox's credits in one balance with production's.
    func joinsEnvironments() throws -> Bool { try layers.isSet(.joinEnvironments) }

    /// Whose balances are meant where none is named; nil when no option says so.
    func defaultEnvironment() throws -> StoreEnvironment? {
        guard layers.text(.defaultEnvironment) != nil else { return nil }
        return try layers.choice(.defaultEnvironment, otherwise: EnvironmentOptions.Name.production).environment
    }

    func logFormat() throws -> LogFormat { try layers.logFormat() }

    func logLevel() throws -> Logger.Level { try layers.logLevel() }

    /// The keys of users' tokens; nil for those in the data directory.
    var tokenKeys: URL? { layers.text(.tokenKeys).map { URL(fileURLWithPath: $0) } }

    /// A place where a merchant is, or may be made.
    func place() throws -> MerchantPlace {
        try MerchantPlace(folder: folder, databaseURL: try databaseURL(), schema: try schema())
    }

    /// A place where a merchant is.
    /// - Parameter orNew: whether it may be made.
    /// - Throws: ``CommandError`` when no database is named, and the server of the data directory has one elsewhere, or there is none.
    func known(orNew: Bool = false) throws -> MerchantPlace {
        let url = try databaseURL()
        let isKnown =
            MerchantPlace.hasDatabase(folder) || MerchantPlace.hasDatabaseElsewhere(folder)
            || MerchantPlace.isHalfRestored(folder)
        guard orNew || url != nil || isKnown else {
            throw CommandError(
                .usage,
                "There is no merchant in \(folder.path). Name its data directory with --data, or its database with --database."
            )
        }
        guard url != nil || !MerchantPlace.hasDatabaseElsewhere(folder) else {
            throw CommandError(
                .usage,
                "The merchant of \(folder.path) has its books in PostgreSQL. Name the database with --database, and its schema with "
                    + "--schema when it is not cornerstore_merchant.")
        }
        return try place()
    }
}
