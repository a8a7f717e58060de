import ArgumentParser
import Foundation
import Store
import StoreServer

/// `cornerstore serve`: runs a store and a merchant.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Start a store with the products of catalog files, and a merchant beside it.",
        discussion: """
            The store listens on four ports of this machine: sandbox, production, control and storefront. On the first start, it creates keys, databases and \
            a sandbox tester in the data directory. The store reloads catalog files that change while it runs.

            The merchant, the app's own server, listens on a port of its own. It accepts sandbox purchases too, and keeps its ledger in the folder \
            “merchant” of the data directory. Its products come from --merchant-products or from “cornerstore merchant products load”. \
            --no-merchant starts the store alone. With --webhook, the merchant sends changes as signed webhooks. CORNERSTORE_WEBHOOK_SECRET is \
            the signing secret.

            The console shows and steers both in a browser, at http://cornerstore.localhost:8420. --no-console leaves it out.

              cornerstore serve App.storekit --bundle-id com.example.app
              cornerstore serve One.storekit=com.example.one Two.yaml --data /var/lib/store
              cornerstore serve App.yaml --merchant-products Products.yaml
              cornerstore serve App.storekit --no-merchant
              cornerstore serve App.storekit --sandbox-port 0 --production-port 0 --control-port 0 --storefront-port 0 --merchant-port 0 --console-port 0 --json
              cornerstore serve App.storekit --database postgres://store@localhost/store
              cornerstore serve App.yaml --blobs "s3://content?endpoint=https://s3.example.com&region=eu-west-3"

            You can also set every option in the environment (CORNERSTORE_SANDBOX_PORT=0) or in the YAML or JSON file of --config \
            (sandbox-port: 0). The command line overrides the environment, and the environment overrides the file.

            Several processes run one store when all have the same --database and --store-key; CORNERSTORE_STORE_KEY is the key itself, in Base64. \
            “cornerstore authority key” makes one. They also need the same --storefront-url.

            CORNERSTORE_ADMIN_TOKEN (admin-token) protects the control port. It is required when --host is not a loopback address. The keys of \
            --blobs are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if needed, AWS_SESSION_TOKEN in the environment.
            """)

    @Argument(
        help: ArgumentHelp(
            "A .storekit file or a YAML catalog. Append =BUNDLE to set a .storekit file's bundle id.",
            valueName: "file"),
        completion: .file(extensions: ["storekit", "yaml", "yml"]))
    var files: [String] = []
    @Option(help: "The app's bundle id, if there is only one .storekit file.")
    var bundleId: String?
    @Option(help: ArgumentHelp("The data directory (.cornerstore).", valueName: "dir"), completion: .directory)
    var data: String?
    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database, postgres://…, instead of SQLite in the data directory.", valueName: "url"))
    var database: String?
    @Option(
        help: ArgumentHelp(
            "The prefix of the PostgreSQL schemas' names (cornerstore), when several stores share a database.",
            valueName: "prefix"))
    var schemaPrefix: String?
    @Option(
        help: ArgumentHelp(
            "A bucket for hosted content, s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME], instead of a folder in the data directory.",
            valueName: "url"))
    var blobs: String?
    @Option(
        help: ArgumentHelp(
            "A folder for hosted content that all processes of the store reach, instead of a bucket.", valueName: "dir"),
        completion: .directory)
    var blobsShared: String?
    @Option(help: ArgumentHelp("The address to listen on (127.0.0.1).", valueName: "address"))
    var host: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The control port (8400). 0 selects a free port.", valueName: "port"))
    var controlPort: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The sandbox's port (8401). 0 selects a free port.", valueName: "port"))
    var sandboxPort: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Production's port (8402). 0 selects a free port.", valueName: "port"))
    var productionPort: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The storefront's port (8403). 0 selects a free port.", valueName: "port"))
    var storefrontPort: Int?
    @Option(
        name: .customLong("storefront-url"),
        help: ArgumentHelp(
            "The base URL of the storefront's links, if others reach it by another address.", valueName: "url"))
    var storefrontURL: String?
    @Option(
        name: .customLong("ocsp-url"),
        help: ArgumentHelp(
            "The URL of the OCSP responder in the certificates of signed payloads, if others reach /ocsp of the store by another address.",
            valueName: "url"))
    var ocspURL: String?
    @Flag(
        inversion: .prefixedNo, help: "Build partner feeds by the store's clock: full weekly, else daily (default: no)."
    )
    var feed: Bool?
    @Option(
        help: ArgumentHelp(
            "The layouts of the partner feed: v3, v5 (also offered as v4) and flat (v3,v5,flat).", valueName: "list"))
    var feedLayouts: String?
    @Option(
        help: ArgumentHelp(
            "The storefronts of the flat partner feed, such as usa,deu (usa); at most 20.", valueName: "list"))
    var feedCountries: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The merchant's port (8410). 0 selects a free port.", valueName: "port"))
    var merchantPort: Int?
    @Option(
        help: ArgumentHelp(
            "A YAML file of one app's products at the merchant. Repeat the option for several apps.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var merchantProducts: [String] = []
    @Option(help: ArgumentHelp("The URL to which the merchant sends webhooks.", valueName: "url"))
    var webhook: String?
    @Option(
        help:
            "The merchant's answer when a customer requests a refund and the store asks about the consumption: silent (default), neutral, decline, grant or prorate. The merchant answers only about users who consented.",
        completion: .list(MerchantOptions.Consumption.allCases.map(\.rawValue)))
    var consumption: String?
    @Flag(
        inversion: .prefixedNo,
        help:
            "The merchant tells the store that customers could try products before they bought them (default: no). Needs --consumption."
    )
    var samples: Bool?
    @Flag(
        inversion: .prefixedNo,
        help:
            "The merchant sets the account token of a purchase without one to the user who redeems it (default: no)."
    )
    var accountTokens: Bool?
    @Flag(inversion: .prefixedNo, help: "Run the merchant beside the store (default: yes).")
    var merchant: Bool?
    @OptionGroup(title: "Console") var consoleOptions: ConsoleOptions
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "This process's node number in transaction ids, 0 to 63 (the first free one). Each process on the same database has its own.",
            valueName: "number"))
    var node: Int?
    @Option(
        help: ArgumentHelp(
            "A file with the store's key. With it, several processes may share a PostgreSQL database, which then holds the store's secrets, encrypted.",
            valueName: "file"), completion: .file())
    var storeKey: String?
    @Flag(
        inversion: .prefixedNo,
        help: "Be ready only while a synchronous standby of the database server runs (default: no).")
    var requireStandby: Bool?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The seconds for which the server still answers after a stop signal, while it is not ready any more, 0 to 60 (0; with a store key 2).",
            valueName: "seconds"))
    var drainDelay: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The number of PostgreSQL connections for each of sandbox and production, 1 to 200 (16).",
            valueName: "number"))
    var connections: Int?
    @OptionGroup var log: LogOptions
    @Flag(inversion: .prefixedNo, help: "The server is behind a proxy that adds X-Forwarded-For (default: no).")
    var behindProxy: Bool?
    @OptionGroup(title: "Renewals") var renewals: RenewalOptions
    @OptionGroup(title: "Limits") var limits: LimitOptions
    @Option(
        help: ArgumentHelp(
            "The rate limit of failed sign-ins for an IP address: per second, and burst (1:60).", valueName: "rate"))
    var signInRate: String?
    @Option(
        help: ArgumentHelp(
            "The rate limit of failed sign-ins for an account: per second, and burst (0.2:20).", valueName: "rate"))
    var accountRate: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The cost N of the scrypt hash of new passwords, a power of two from \(PasswordCost.lowest) to \(PasswordCost.highest) (\(PasswordCost.standard.rounds)). A lower cost is for test runs only.",
            valueName: "n"))
    var passwordCost: Int?
    @Option(
        help: ArgumentHelp(
            "The rate limit of searches and lookups for an IP address: per second, and burst (none). Above it, the storefront answers 403.",
            valueName: "rate"))
    var searchRate: String?
    @Option(help: ArgumentHelp("A YAML or JSON file of options.", valueName: "file"), completion: .file())
    var config: String?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        var flags: [ServeSetting: String] = [:]
        flags[.bundleID] = bundleId
        flags[.data] = data
        flags[.database] = database
        flags[.schemaPrefix] = schemaPrefix
        flags[.blobs] = blobs
        flags[.host] = host
        flags[.controlPort] = controlPort.map(String.init)
        flags[.sandboxPort] = sandboxPort.map(String.init)
        flags[.productionPort] = productionPort.map(String.init)
        flags[.storefrontPort] = storefrontPort.map(String.init)
        flags[.storefrontURL] = storefrontURL
        flags[.ocspURL] = ocspURL
        flags[.searchRate] = searchRate
        flags[.feed] = feed.map(String.init)
        flags[.feedLayouts] = feedLayouts
        flags[.feedCountries] = feedCountries
        flags[.merchantPort] = merchantPort.map(String.init)
        flags[.webhook] = webhook
        flags[.consumption] = consumption
        flags[.samples] = samples.map(String.init)
        flags[.accountTokens] = accountTokens.map(String.init)
        flags[.noMerchant] = merchant.map { $0 ? "false" : "true" }
        flags[.node] = node.map(String.init)
        flags[.storeKey] = storeKey
        flags[.blobsShared] = blobsShared
        flags[.requireStandby] = requireStandby.map(String.init)
        flags[.drainDelay] = drainDelay.map(String.init)
        flags[.connections] = connections.map(String.init)
        flags[.behindProxy] = behindProxy.map(String.init)
        flags[.signInRate] = signInRate
        flags[.accountRate] = accountRate
        flags[.passwordCost] = passwordCost.map(String.init)
        flags.merge(consoleOptions.flags()) { $1 }
        flags.merge(renewals.flags()) { $1 }
        flags.merge(limits.flags()) { $1 }
        flags.merge(log.flags()) { $1 }
        let settings = try ServeSettings(
            flags: flags, files: files, productsFiles: merchantProducts, environment: Console.current.environment,
            file: try config.map { try ConfigurationFile.read($0) })
        let action = ServeAction(
            configuration: try settings.configuration(), merchant: try settings.merchant(),
            console: try settings.console(),
            logLevel: try settings.logLevel(), logFormat: try settings.logFormat())
        try await action.run(json: output.json)
    }
}
