import ArgumentParser
import Foundation
import StoreServer

/// `cornerstore serve`: the store, and the merchant beside it.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Start the store with the products of catalog files, and the merchant beside it.",
        discussion: """
            Sandbox, production and the control port answer on three ports of this machine. Keys, databases and the sandbox tester are made \
            on the first start and kept in the data directory. A catalog file that changes is taken in while the store runs.

            On a fourth port answers the merchant, the app's own server: it takes the sandbox's purchases too, and keeps its books in the \
            folder “merchant” of the data directory. It sells what --merchant-products say, or what “cornerstore merchant products load” \
            gives it; --no-merchant leaves it out.

              cornerstore serve App.storekit --bundle-id com.example.app
              cornerstore serve One.storekit=com.example.one Two.yaml --data /var/lib/store
              cornerstore serve App.yaml --merchant-products Products.yaml
              cornerstore serve App.storekit --no-merchant
              cornerstore serve App.storekit --sandbox-port 0 --production-port 0 --control-port 0 --merchant-port 0 --json
              cornerstore serve App.storekit --database postgres://store@localhost/store
              cornerstore serve App.yaml --blobs "s3://content?endpoint=https://s3.example.com&region=eu-west-3"

            Every option can also stand in the environment (CORNERSTORE_SANDBOX_PORT=0) or in the file of --config, YAML or JSON \
            (sandbox-port: 0); the command line goes first, then the environment. CORNERSTORE_ADMIN_TOKEN (admin-token) guards the control \
            port, and is needed when --host is not this machine alone. The keys of --blobs are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in \
            the environment, with AWS_SESSION_TOKEN where there is one.
            """)

    @Argument(
        help: ArgumentHelp(
            "A .storekit file or a YAML catalog; =BUNDLE gives a .storekit file's bundle id.", valueName: "file"),
        completion: .file(extensions: ["storekit", "yaml", "yml"]))
    var files: [String] = []
    @Option(help: "The app's bundle id, when one .storekit file is served.")
    var bundleId: String?
    @Option(help: ArgumentHelp("Where to keep everything (.cornerstore).", valueName: "dir"), completion: .directory)
    var data: String?
    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database, postgres://…, instead of SQLite in the data directory.", valueName: "url"))
    var database: String?
    @Option(
        help: ArgumentHelp(
            "What the names of the PostgreSQL schemas begin with (cornerstore), where several stores share a database.",
            valueName: "prefix"))
    var schemaPrefix: String?
    @Option(
        help: ArgumentHelp(
            "A bucket for hosted content, s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME], instead of a folder in the data directory.",
            valueName: "url"))
    var blobs: String?
    @Option(help: ArgumentHelp("The address to listen on (127.0.0.1).", valueName: "address"))
    var host: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Port of the operator's side (8400); 0 takes any free one.", valueName: "port"))
    var controlPort: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Port of the sandbox (8401); 0 takes any free one.", valueName: "port"))
    var sandboxPort: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Port of production (8402); 0 takes any free one.", valueName: "port"))
    var productionPort: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Port of the merchant (8410); 0 takes any free one.", valueName: "port"))
    var merchantPort: Int?
    @Option(
        help: ArgumentHelp(
            "A file of what the merchant sells, YAML; one for each app.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var merchantProducts: [String] = []
    @Flag(inversion: .prefixedNo, help: "Whether the merchant runs beside the store (it does).")
    var merchant: Bool?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "This process's number in transaction ids (0), 0 to 63, where several serve one database.",
            valueName: "number"))
    var node: Int?
    @OptionGroup var log: LogOptions
    @Flag(inversion: .prefixedNo, help: "Whether a proxy stands before it that adds X-Forwarded-For (none does).")
    var behindProxy: Bool?
    @OptionGroup(title: "Limits") var limits: LimitOptions
    @Option(
        help: ArgumentHelp(
            "How often one address may fail to sign in: in a second, and at once (1:60).", valueName: "rate"))
    var signInRate: String?
    @Option(
        help: ArgumentHelp(
            "How often one account may be tried in vain: in a second, and at once (0.2:20).", valueName: "rate"))
    var accountRate: String?
    @Option(help: ArgumentHelp("A file of options, YAML or JSON.", valueName: "file"), completion: .file())
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
        flags[.merchantPort] = merchantPort.map(String.init)
        flags[.noMerchant] = merchant.map { $0 ? "false" : "true" }
        flags[.node] = node.map(String.init)
        flags[.behindProxy] = behindProxy.map(String.init)
        flags[.signInRate] = signInRate
        flags[.accountRate] = accountRate
        flags.merge(limits.flags()) { $1 }
        flags.merge(log.flags()) { $1 }
        let settings = try ServeSettings(
            flags: flags, files: files, productsFiles: merchantProducts, environment: Console.current.environment,
            file: try config.map { try ConfigurationFile.read($0) })
        let action = ServeAction(
            configuration: try settings.configuration(), merchant: try settings.merchant(),
            logLevel: try settings.logLevel(), logFormat: try settings.logFormat())
        try await action.run(json: output.json)
    }
}
