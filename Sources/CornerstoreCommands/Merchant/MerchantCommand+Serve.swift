import ArgumentParser
import Foundation
import MerchantServer

extension MerchantCommand {
    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Start the merchant's server.",
            discussion: """
                It takes purchases of Apple's stores, of a Cornerstore, or of both; the same code verifies them, offline, under the roots \
                of each. Apple's roots are known. A Cornerstore's are read from its data directory (--store-data), or named with --root.

                  cornerstore merchant serve --products Books.yaml --store-data .cornerstore --allow-sandbox
                  cornerstore merchant serve --store apple --bundle-id com.example.books
                  cornerstore merchant serve --store apple --remote --products Books.yaml
                  cornerstore merchant serve --products Books.yaml --database postgres://merchant@localhost/books --json
                  cornerstore merchant serve --products Books.yaml --blobs "s3://content?endpoint=https://s3.example.com&region=eu-west-3"

                Every option can also stand in the environment (CORNERSTORE_MERCHANT_PORT=0) or in the file of --config, YAML or JSON \
                (port: 0); the command line goes first, then the environment.

                  cornerstore merchant serve --config merchant.yaml

                Several servers may work on one PostgreSQL, with one --token-keys and one --blobs or data directory; on SQLite only one. The \
                keys of --blobs are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

                With --remote receipts are proved by asking the store (verifyReceipt) instead; CORNERSTORE_SHARED_SECRET is the app's \
                shared secret. Changes go as signed webhooks to --webhook; CORNERSTORE_WEBHOOK_SECRET is the secret (whsec_…). These two \
                and the bucket's keys are taken from the environment alone.

                Users' tokens are verified by the keys of --token-keys, or of user-token-keys.json in the data directory. When that file changes, \
                the server takes it in within seconds.
                """)

        @Option(
            help: ArgumentHelp(
                "Whose purchases are taken: apple, or a Cornerstore's base URL, which --remote asks and whose roots come from --store-data or --root; may be given twice.",
                valueName: "store"
            ))
        var store: [String] = []
        @Option(
            help: ArgumentHelp(
                "The data directory of the Cornerstore, for its roots (CORNERSTORE_DATA, else .cornerstore).",
                valueName: "dir"), completion: .directory)
        var storeData: String?
        @Option(
            help: ArgumentHelp(
                "A root of the Cornerstore, DER or PEM, instead; or one of Apple's, for iOS 6 receipts, which do not carry it.",
                valueName: "file"),
            completion: .file())
        var root: [String] = []
        @Option(
            help: ArgumentHelp(
                "A certificate below a root, for iOS 6 receipts, which carry only their own.", valueName: "file"),
            completion: .file())
        var intermediate: [String] = []
        @Option(help: ArgumentHelp("An app whose purchases are taken, beside those of --products.", valueName: "id"))
        var bundleId: [String] = []
        @Option(
            help: ArgumentHelp("A file of products, YAML; one for each app.", valueName: "file"),
            completion: .file(extensions: ["yaml", "yml"]))
        var products: [String] = []
        @Flag(inversion: .prefixedNo, help: "Whether purchases of the sandbox are taken, too (they are not).")
        var allowSandbox: Bool?
        @Flag(
            inversion: .prefixedNo,
            help: "Whether the store is asked about receipts instead of verifying them here (it is not).")
        var remote: Bool?
        @Option(help: ArgumentHelp("The sandbox's base URL, with --remote and a Cornerstore.", valueName: "url"))
        var sandboxStore: String?
        @Option(
            help:
                "What to do when another user brings a purchase: refuse (as is usual), transfer, or family (up to 6).",
            completion: .list(MerchantOptions.Conflict.allCases.map(\.rawValue)))
        var conflict: String?
        @Option(
            help: "What to do about credits that were refunded: to-zero (as is usual), below-zero or flag.",
            completion: .list(MerchantOptions.Refunds.allCases.map(\.rawValue)))
        var refunds: String?
        @Flag(
            inversion: .prefixedNo,
            help: "Whether credits bought in the sandbox go into one balance with those of production (they do not).")
        var joinEnvironments: Bool?
        @Option(
            help: "Whose balances a request means that names no environment: production (as is usual) or sandbox.",
            completion: .list(EnvironmentOptions.Name.allCases.map(\.rawValue)))
        var defaultEnvironment: String?
        @Option(
            parsing: .unconditional,
            help: ArgumentHelp(
                "How often a purchase delivers content to one user before it is redeemed (50); 0 delivers after redemption alone.",
                valueName: "count"))
        var evidenceDownloads: Int?
        @Option(
            help: "Credits of a period that a change of plans cuts short: take-back (as is usual), prorate or keep.",
            completion: .list(MerchantOptions.Superseded.allCases.map(\.rawValue)))
        var superseded: String?
        @Flag(inversion: .prefixedNo, help: "Whether a free trial gives credits (it gives rights only).")
        var trialCredits: Bool?
        @Flag(inversion: .prefixedNo, help: "Whether a shared copy of a purchase gives credits (it gives rights only).")
        var sharedCredits: Bool?
        @Option(
            help: ArgumentHelp("The keys of users' tokens, YAML or JSON; else one is made.", valueName: "file"),
            completion: .file())
        var tokenKeys: String?
        @Option(help: ArgumentHelp("Where changes are sent.", valueName: "url"))
        var webhook: String?
        @Option(help: ArgumentHelp("The address to listen on (127.0.0.1).", valueName: "address"))
        var host: String?
        @Option(
            parsing: .unconditional, help: ArgumentHelp("The port (8410); 0 takes any free one.", valueName: "port"))
        var port: Int?
        @Flag(inversion: .prefixedNo, help: "Whether a proxy stands before it that adds X-Forwarded-For (none does).")
        var behindProxy: Bool?
        @OptionGroup(title: "Limits") var limits: LimitOptions
        @OptionGroup var log: LogOptions
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        /// Where it answers.
        private struct Report: Encodable {
            var merchant: String
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
                .host: host, .port: port.map(String.init), .behindProxy: behindProxy.map(String.init),
                .blobs: blobs.blobs,
            ]
            var flags = own.compactMapValues { $0 }
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
            let console = Console.current
            let logger = ServeAction.logger(level, format)
            let application = try await Progress.during("Starting") {
                try await MerchantApplication.open(configuration, now: { Date() }, logger: logger)
            }
            configuration.limits.tell(logger)
            let json = output.json
            try await application.run(gracefulShutdownSignals: [.sigterm, .sigint]) { address in
                let report = Report(
                    merchant: address, dataDirectory: configuration.dataDirectory.path,
                    apps: application.bundleIDs.map(\.rawValue).sorted())
                try? console.report(report, json: json) { style in
                    """
                    \(style.bold("merchant"))  \(report.merchant)
                    apps      \(report.apps.joined(separator: ", "))
                    data      \(report.dataDirectory)
                    """
                }
            }
            if !output.json { console.print("Stopped.") }
        }
    }
}
