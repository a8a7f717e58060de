import ArgumentParser
import Foundation
import MerchantServer

extension MerchantCommand {
    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Start the merchant's server.",
            discussion: """
                The server accepts purchases from Apple's stores, from a Cornerstore, or from both. It verifies them offline against the roots of \
                each store. Apple's roots are built in. A Cornerstore's roots come from its data directory (--store-data) or from --root.

                  cornerstore merchant serve --products Books.yaml --store-data .cornerstore --allow-sandbox
                  cornerstore merchant serve --store apple --bundle-id com.example.books
                  cornerstore merchant serve --store apple --remote --products Books.yaml
                  cornerstore merchant serve --products Books.yaml --database postgres://merchant@localhost/books --json
                  cornerstore merchant serve --products Books.yaml --blobs "s3://content?endpoint=https://s3.example.com&region=eu-west-3"

                You can also set every option in the environment (CORNERSTORE_MERCHANT_PORT=0) or in the YAML or JSON file of --config (port: 0). \
                The command line overrides the environment, and the environment overrides the file.

                  cornerstore merchant serve --config merchant.yaml

                Several servers can share one PostgreSQL database. They need the same --token-keys and the same --blobs or data directory. A SQLite \
                database allows only one server.

                With --remote, the server verifies receipts by asking the store (verifyReceipt). CORNERSTORE_SHARED_SECRET is the app's shared \
                secret. With --webhook, the server sends changes as signed webhooks. CORNERSTORE_WEBHOOK_SECRET is the signing secret (whsec_…). \
                AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are the keys of the bucket of --blobs. These secrets come from the environment only.

                The console shows and changes the merchant's products, users, ledger and webhooks in a browser, at \
                http://cornerstore.localhost:8421. --no-console leaves it out. CORNERSTORE_ADMIN_TOKEN is the token with which people sign in. \
                Without the token, a server that listens on an address reachable from other machines has no console.

                The keys of --token-keys, else of user-token-keys.json in the data directory, verify users' tokens. The server reloads that file \
                within seconds after it changes.
                """)

        @Option(
            help: ArgumentHelp(
                "The store whose purchases the server accepts: apple, or a Cornerstore's base URL. Repeat the option to accept both. A Cornerstore's roots come from --store-data or --root; --remote asks this URL.",
                valueName: "store"
            ))
        var store: [String] = []
        @Option(
            help: ArgumentHelp(
                "The data directory of the Cornerstore, which contains its roots (CORNERSTORE_DATA, else .cornerstore).",
                valueName: "dir"), completion: .directory)
        var storeData: String?
        @Option(
            help: ArgumentHelp(
                "A root certificate of the Cornerstore, DER or PEM, instead of --store-data; or a root of Apple, for iOS 6 receipts, which do not contain it.",
                valueName: "file"),
            completion: .file())
        var root: [String] = []
        @Option(
            help: ArgumentHelp(
                "An intermediate certificate for iOS 6 receipts, which contain only the leaf certificate.",
                valueName: "file"),
            completion: .file())
        var intermediate: [String] = []
        @Option(
            help: ArgumentHelp(
                "The bundle id of an app whose purchases the server accepts, in addition to the apps of --products. ID=NUMBER also gives the app's number at the store, which production notifications must have (appAppleId).",
                valueName: "id"))
        var bundleId: [String] = []
        @Option(
            help: ArgumentHelp(
                "A YAML file of one app's products. Repeat the option for several apps.", valueName: "file"),
            completion: .file(extensions: ["yaml", "yml"]))
        var products: [String] = []
        @Flag(inversion: .prefixedNo, help: "Accept sandbox purchases (default: no).")
        var allowSandbox: Bool?
        @Flag(
            inversion: .prefixedNo,
            help: "Verify receipts by asking the store instead of offline (default: no).")
        var remote: Bool?
        @Option(help: ArgumentHelp("The sandbox's base URL, with --remote and a Cornerstore.", valueName: "url"))
        var sandboxStore: String?
        @Option(
            help:
                "The rule when another user redeems a purchase: refuse (default), transfer, or family (up to 6 users).",
            completion: .list(MerchantOptions.Conflict.allCases.map(\.rawValue)))
        var conflict: String?
        @Option(
            help: "How to deduct refunded credits: to-zero (default), below-zero or flag.",
            completion: .list(MerchantOptions.Refunds.allCases.map(\.rawValue)))
        var refunds: String?
        @Flag(
            inversion: .prefixedNo,
            help: "Keep sandbox and production credits in one balance (default: no).")
        var joinEnvironments: Bool?
        @Option(
            help: "The environment of requests that do not name one: production (default) or sandbox.",
            completion: .list(EnvironmentOptions.Name.allCases.map(\.rawValue)))
        var defaultEnvironment: String?
        @Option(
            parsing: .unconditional,
            help: ArgumentHelp(
                "How many times one user can download content with a purchase that is not redeemed yet (50). 0 requires redemption.",
                valueName: "count"))
        var evidenceDownloads: Int?
        @Option(
            help:
                "The rule for credits of a period that a plan change ends early: take-back (default), prorate or keep.",
            completion: .list(MerchantOptions.Superseded.allCases.map(\.rawValue)))
        var superseded: String?
        @Flag(inversion: .prefixedNo, help: "Grant credits for free trials (default: no, entitlements only).")
        var trialCredits: Bool?
        @Flag(
            inversion: .prefixedNo, help: "Grant credits for family-shared purchases (default: no, entitlements only).")
        var sharedCredits: Bool?
        @Option(
            help: ArgumentHelp(
                "A YAML or JSON file with the keys of users' tokens. Without it, the server creates a key.",
                valueName: "file"),
            completion: .file())
        var tokenKeys: String?
        @Option(
            help: ArgumentHelp(
                "A YAML or JSON file with the keys of the store's API (App Store Server API), one for each app.",
                valueName: "file"),
            completion: .file())
        var storeKeys: String?
        @Option(
            help:
                "The merchant's answer when a customer requests a refund and the store asks about the consumption: silent (default), neutral, decline, grant or prorate. The merchant answers only about users who consented.",
            completion: .list(MerchantOptions.Consumption.allCases.map(\.rawValue)))
        var consumption: String?
        @Flag(
            inversion: .prefixedNo,
            help:
                "Tell the store that customers could try the products before they bought them (default: no). Needs --consumption."
        )
        var samples: Bool?
        @Flag(
            inversion: .prefixedNo,
            help:
                "Set the account token of a purchase without one, at the store, to the user who redeems it (default: no)."
        )
        var accountTokens: Bool?
        @Option(help: ArgumentHelp("The URL to send webhooks to.", valueName: "url"))
        var webhook: String?
        @Option(help: ArgumentHelp("The address to listen on (127.0.0.1).", valueName: "address"))
        var host: String?
        @Option(
            parsing: .unconditional, help: ArgumentHelp("The port (8410). 0 selects a free port.", valueName: "port"))
        var port: Int?
        @OptionGroup(title: "Console") var consoleOptions: ConsoleOptions
        @Flag(inversion: .prefixedNo, help: "The server is behind a proxy that adds X-Forwarded-For (default: no).")
        var behindProxy: Bool?
        @OptionGroup(title: "Limits") var limits: LimitOptions
        @OptionGroup var log: LogOptions
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        /// The JSON document that `--json` prints once the server answers.
        private struct Report: Encodable {
            var merchant: String
            var console: String?
            var dataDirectory: String
            var apps: [String]
        }

        private func options() throws -> MerchantOptions {
            let own: [MerchantOption: String?] = [
                .storeData: storeData, .allowSandbox: allowSandbox.map(String.init),
                .remote: remote.map(String.init), .sandboxStore: sandboxStore, .conflict: conflict,
                .joinEnvironments: joinEnvironments.map(String.init), .defaultEnvironment: defaultEnvironment,
                .refunds: refunds, .superseded: superseded, .trialCredits: trialCredits.map(String.init),
                .sharedCredits: sharedCredits.map(String.init),
                .evidenceDownloads: evidenceDownloads.map(String.init), .tokenKeys: tokenKeys, .webhook: webhook,
                .storeKeys: storeKeys, .consumption: consumption, .samples: samples.map(String.init),
                .accountTokens: accountTokens.map(String.init),
                .host: host, .port: port.map(String.init), .behindProxy: behindProxy.map(String.init),
                .blobs: blobs.blobs,
            ]
            var flags = own.compactMapValues { $0 }
            flags.merge(consoleOptions.flags()) { $1 }
            flags.merge(limits.flags()) { $1 }
            flags.merge(log.flags()) { $1 }
            return try place.options(
                flags,
                lists: [
                    .store: store, .root: root, .intermediate: intermediate, .bundleID: bundleId, .products: products,
                ])
        }

        func run() async throws {
            let options = try options()
            let configuration = try options.configuration()
            let (level, format) = (try options.logLevel(), try options.logFormat())
            let consoleSettings = try options.console(beside: configuration)
            let terminal = Console.current
            let logger = ServeAction.logger(level, format)
            let application = try await Progress.during("Starting") {
                try await MerchantApplication.open(configuration, now: { Date() }, logger: logger)
            }
            configuration.limits.tell(logger)
            if configuration.lacksStoreKeys {
                logger.warning(
                    "the store gets no consumption information and no account tokens: give the keys of its API with --store-keys"
                )
            }
            let json = output.json
            let both = MerchantAndConsole(
                merchant: application, console: consoleSettings, adminToken: options.adminToken, logger: logger)
            try await both.run(gracefulShutdownSignals: StopSignals.all) { address, consoleAddress in
                StopSignals.endAtTheSecond()
                let report = Report(
                    merchant: address, console: consoleAddress, dataDirectory: configuration.dataDirectory.path,
                    apps: application.bundleIDs.map(\.rawValue).sorted())
                try? terminal.report(report, json: json) { style in
                    """
                    \(style.bold("merchant"))  \(report.merchant)
                    console   \(report.console ?? "none")
                    apps      \(report.apps.joined(separator: ", "))
                    data      \(report.dataDirectory)
                    """
                }
            }
            if !output.json { terminal.print("Stopped.") }
        }
    }
}
