import BlobStorage
import Foundation
import Logging
import MerchantServer
import Store
import StoreServer
import StoreWire

/// An option of `serve`. Its raw value is its name on the command line and in a file; the environment variable is
/// `CORNERSTORE_` and the name in capitals.
enum ServeSetting: String, ServerSettingName {
    /// The options with several values: catalog files, and files of the merchant's products.
    enum List: String, SettingListName {
        case files
        case merchantProducts = "merchant-products"

        var separator: Character { ":" }
    }

    case bundleID = "bundle-id"
    case data
    case database
    case schemaPrefix = "schema-prefix"
    case host
    case controlPort = "control-port"
    case sandboxPort = "sandbox-port"
    case productionPort = "production-port"
    case storefrontPort = "storefront-port"
    case storefrontURL = "storefront-url"
    case ocspURL = "ocsp-url"
    case searchRate = "search-rate"
    case feed
    case feedLayouts = "feed-layouts"
    case feedCountries = "feed-countries"
    case merchantPort = "merchant-port"
    case webhook
    case consumption
    case samples
    case accountTokens = "account-tokens"
    case noMerchant = "no-merchant"
    case consolePort = "console-port"
    case consoleHost = "console-host"
    case consoleFiles = "console-files"
    case noConsole = "no-console"
    case node
    case logLevel = "log-level"
    case logFormat = "log-format"
    case adminToken = "admin-token"
    case blobs
    case behindProxy = "behind-proxy"
    case noRateLimits = "no-rate-limits"
    case signInRate = "sign-in-rate"
    case accountRate = "account-rate"
    case passwordCost = "password-cost"
    case addressRate = "address-rate"
    case userRate = "user-rate"
    case keyRate = "key-rate"
    case addressGuessRate = "address-guess-rate"
    case userGuessRate = "user-guess-rate"
    case maxConnections = "max-connections"
    case maxConnectionsPerAddress = "max-connections-per-address"
    case maxBodyMemory = "max-body-memory"
    /// The file of the store's key. The environment has the key itself (`StoreKey.variable`).
    case storeKey = "store-key"
    case blobsShared = "blobs-shared"
    case requireStandby = "require-standby"
    case drainDelay = "drain-delay"
    case connections
    case productionRenewalLead = "production-renewal-lead"
    case sandboxRenewalLead = "sandbox-renewal-lead"
    case productionRetryDays = "production-retry-days"
    case sandboxRetryDays = "sandbox-retry-days"

    static let scope = ["cornerstore"]

    var isSecret: Bool { self == .adminToken || self == .database }
}

/// The options of `serve`. The command line overrides the environment, which overrides the file of `--config`.
struct ServeSettings {
    private let layers: LayeredSettings<ServeSetting>
    /// The environment variables with secrets: the keys for S3 (`AWS_…`), of the merchant's webhooks and of the store.
    private let secrets: [String: String]

    /// - Parameters:
    ///   - files: the catalog files of the command line. If empty, those of the environment or the file apply.
    ///   - productsFiles: the files of the merchant's products, likewise.
    init(
        flags: [ServeSetting: String], files: [String], productsFiles: [String], environment: [String: String],
        file: ConfigurationFile<ServeSetting>?
    ) throws {
        secrets = environment.filter {
            ($0.key.hasPrefix("AWS_") || ["CORNERSTORE_WEBHOOK_SECRET", StoreKey.variable].contains($0.key))
                && !$0.value.isEmpty
        }
        // This variable has the key itself. The option and the file name the key's file.
        layers = LayeredSettings(
            flags: flags, lists: [.files: files, .merchantProducts: productsFiles],
            environment: environment.filter { $0.key != StoreKey.variable }, file: file)
    }

    private func text(_ setting: ServeSetting) -> String? { layers.text(setting) }

    func logFormat() throws -> LogFormat { try layers.logFormat() }

    func logLevel() throws -> Logger.Level { try layers.logLevel() }

    /// Returns the store's configuration.
    /// - Throws: ``CommandError`` that names the wrong option.
    func configuration() throws -> StoreServerConfiguration {
        var configuration = StoreServerConfiguration(
            dataDirectory: URL(fileURLWithPath: text(.data) ?? DataOptions.defaultPath, isDirectory: true)
                .standardizedFileURL,
            catalogFiles: try catalogFiles())
        configuration.host = text(.host) ?? configuration.host
        let ports = 0...65535
        configuration.controlPort = try layers.number(.controlPort, ports, otherwise: configuration.controlPort)
        configuration.sandboxPort = try layers.number(.sandboxPort, ports, otherwise: configuration.sandboxPort)
        configuration.productionPort = try layers.number(
            .productionPort, ports, otherwise: configuration.productionPort)
        configuration.storefrontPort = try layers.number(
            .storefrontPort, ports, otherwise: configuration.storefrontPort)
        configuration.storefrontURL = try url(.storefrontURL, example: "https://store.example.com")
        configuration.ocspURL = try url(.ocspURL, example: "http://store.example.com/ocsp")
        if text(.searchRate) != nil {
            configuration.searchRate = try layers.rate(.searchRate, otherwise: .init(burst: 20, perSecond: 1))
        }
        configuration.feed = try feed()
        configuration.productionRenewals = try layers.renewals(in: .production)
        configuration.sandboxRenewals = try layers.renewals(in: .sandbox)
        configuration.node = text(.node) == nil ? nil : try layers.number(.node, 0...63, otherwise: 0)
        configuration.storeKey = try storeKey()
        configuration.requiresStandby = try layers.isSet(.requireStandby)
        configuration.connections = try layers.number(.connections, 1...200, otherwise: configuration.connections)
        configuration.adminToken = text(.adminToken)
        configuration.databaseURL = try layers.databaseURL(.database)
        configuration.bucket = try S3Location(option: text(.blobs), environment: secrets)
        configuration.sharedBlobs = text(.blobsShared).map {
            URL(fileURLWithPath: $0, isDirectory: true).standardizedFileURL
        }
        guard configuration.bucket == nil || configuration.sharedBlobs == nil else {
            throw CommandError(.usage, "blobs-shared and blobs exclude each other. Give one of them.")
        }
        // Only another process can take the requests that a load balancer sends elsewhere.
        configuration.drainDelay = .seconds(
            try layers.number(.drainDelay, 0...60, otherwise: configuration.isShared ? 2 : 0))
        configuration.schemaPrefix = try schemaPrefix() ?? configuration.schemaPrefix
        configuration.isBehindProxy = try layers.isSet(.behindProxy)
        let usual = SignInLimits.Rates.standard
        let signIns = SignInLimits.Rates(
            address: try layers.rate(.signInRate, otherwise: usual.address),
            account: try layers.rate(.accountRate, otherwise: usual.account))
        configuration.signInRates = try layers.isSet(.noRateLimits) ? nil : signIns
        configuration.passwordCost = try passwordCost()
        configuration.limits = try layers.limits(
            ports: try portCount(),
            databaseConnections: configuration.databaseURL == nil ? 0 : 2 * configuration.connections)
        return configuration
    }

    /// Returns the number of ports that are opened: the store's four, the merchant's and the console's.
    /// - Throws: ``CommandError`` that names the wrong option.
    func portCount() throws -> Int {
        try 4 + [ServeSetting.noMerchant, .noConsole].filter { try !layers.isSet($0) }.count
    }

    /// Returns the settings of the merchant beside the store; nil for a store without a merchant.
    /// - Throws: ``CommandError`` that names the wrong option, or one that a store without a merchant would ignore.
    func merchant() throws -> MerchantSettings? {
        let port = try layers.number(.merchantPort, 0...65535, otherwise: MerchantSettings.usualPort)
        let rates = try layers.rates()
        let productsFiles = layers.list(.merchantProducts)
        guard try !layers.isSet(.noMerchant) else {
            let given = [ServeSetting.webhook, .consumption, .samples, .accountTokens].first {
                text($0) ?? "false" != "false"
            }
            let products = productsFiles.isEmpty ? nil : ServeSetting.List.merchantProducts.rawValue
            if let name = given?.rawValue ?? products {
                throw CommandError(.usage, "\(name) is for the merchant. Omit \(name) or no-merchant.")
            }
            return nil
        }
        return MerchantSettings(
            port: port, productsFiles: productsFiles.map { URL(fileURLWithPath: $0) }, rates: rates,
            webhooks: try text(.webhook).map { try WebhookReceiver(option: $0, environment: secrets) },
            consumption: try layers.consumption(), setsAccountTokens: try layers.isSet(.accountTokens))
    }

    /// Returns the settings of the console beside the store; nil for a store without a console.
    /// - Throws: ``CommandError`` that names the wrong option.
    func console() throws -> ConsoleSettings? {
        try layers.console(usualPort: ConsoleSettings.usualPort, hasToken: text(.adminToken) != nil)
    }

    /// Returns the key of the store's secrets: that of the file, or of the environment.
    /// - Throws: ``CommandError`` for an invalid key, or two keys that differ. It does not contain the key.
    private func storeKey() throws -> StoreKey? {
        let file = text(.storeKey)
        // An error message must not show a key that was given in place of its file.
        guard file.flatMap({ try? StoreKey(base64: $0) }) == nil else {
            throw CommandError(
                .usage, "store-key must name the file of the key. The key itself belongs in \(StoreKey.variable).")
        }
        do { return try StoreKey(option: file, environment: secrets) } catch let error as StoreSecretsError {
            throw CommandError(.usage, "store-key: \(error.detail)")
        }
    }

    /// Returns the cost of hashing a new password.
    private func passwordCost() throws -> PasswordCost {
        guard let text = text(.passwordCost) else { return .standard }
        guard let cost = Int(text).flatMap(PasswordCost.init(checking:)) else {
            throw CommandError(
                .usage,
                "password-cost must be a power of two from \(PasswordCost.lowest) to \(PasswordCost.highest), not “\(Style.printable(text))”."
            )
        }
        return cost
    }

    /// Returns the prefix of schema names. Its length is limited because PostgreSQL truncates names to 63 bytes.
    private func schemaPrefix() throws -> String? {
        guard let text = text(.schemaPrefix) else { return nil }
        guard text.wholeMatch(of: /[a-z_][a-z0-9_]{0,49}/) != nil else {
            throw CommandError(
                .usage,
                "schema-prefix must be 1 to 50 lower-case letters, digits and _, and must not start with a digit: “\(Style.printable(text))”."
            )
        }
        return text
    }

    /// Returns a base URL without a trailing slash. It is ASCII, as a certificate requires.
    private func url(_ setting: ServeSetting, example: String) throws -> String? {
        guard let text = text(setting) else { return nil }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme ?? ""), url.host != nil,
            url.query == nil, url.fragment == nil, text.utf8.count <= 200,
            text.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw CommandError(
                .usage, "\(setting.rawValue) must be a URL such as \(example), not “\(Style.printable(text))”.")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private func feed() throws -> FeedSettings {
        var settings = FeedSettings()
        settings.isScheduled = try layers.isSet(.feed)
        if let layouts = try list(.feedLayouts, "v3, v5 or flat", { FeedLayout(rawValue: $0) }) {
            settings.layouts = layouts
        }
        settings.countries =
            try list(.feedCountries, "a storefront's country, three letters", { Storefront.named($0.uppercased()) })
            ?? settings.countries
        guard settings.countries.count <= FeedOrder.mostCountries else {
            throw CommandError(.usage, "feed-countries must name at most \(FeedOrder.mostCountries) storefronts.")
        }
        return settings
    }

    /// Returns the values of a list with commas, without those that are there twice.
    private func list<Value: Hashable>(
        _ setting: ServeSetting, _ expected: String, _ read: (String) -> Value?
    ) throws -> [Value]? {
        guard let text = text(setting) else { return nil }
        var seen: Set<Value> = []
        return try text.split(separator: ",").compactMap { part in
            guard let value = read(part.trimmingCharacters(in: .whitespaces)) else {
                throw CommandError(
                    .usage, "\(setting.rawValue) must be a list of \(expected), not “\(Style.printable(String(part)))”."
                )
            }
            return seen.insert(value).inserted ? value : nil
        }
    }

    /// The catalog files; none for a store that only sells managed apps.
    private func catalogFiles() throws -> [CatalogFile] {
        let files = layers.list(.files)
        var arguments = try files.map { name in
            guard let argument = CatalogFileArgument(argument: name) else {
                throw CommandError(.usage, "“\(Style.printable(name))” is not FILE or FILE=BUNDLE.")
            }
            return argument.file
        }
        if let bundleID = text(.bundleID) {
            guard arguments.count == 1, arguments[0].bundleID == nil else {
                throw CommandError(.usage, "--bundle-id applies to one file only. For several files, use FILE=BUNDLE.")
            }
            arguments[0].bundleID = BundleID(bundleID)
        }
        return arguments
    }
}
