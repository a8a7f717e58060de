import ArgumentParser
import Foundation
import Logging
import Merchant
import MerchantServer
import StoreWire

/// What tests of crashes change in the configuration of `merchant serve`.
package enum MerchantServing {
    @TaskLocal package static var adjust: @Sendable (inout MerchantServerConfiguration) -> Void = { _ in }
}

extension MerchantCommand {
    struct Serve: AsyncParsableCommand {
        enum Conflict: String, ExpressibleByArgument, CaseIterable {
            case refuse
            case transfer
            case family
        }

        enum Refunds: String, ExpressibleByArgument, CaseIterable {
            case toZero = "to-zero"
            case belowZero = "below-zero"
            case flag
        }

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

                Several servers may work on one PostgreSQL, with one --token-keys and one --blobs or data directory; on SQLite only one. The \
                keys of --blobs are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

                With --remote receipts are proved by asking the store (verifyReceipt) instead; CORNERSTORE_SHARED_SECRET is the app's \
                shared secret. Changes go as signed webhooks to --webhook; CORNERSTORE_WEBHOOK_SECRET is the secret (whsec_…).
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
        @Flag(help: "Take purchases of the sandbox too.")
        var allowSandbox = false
        @Flag(help: "Ask the store about receipts instead of verifying them here.")
        var remote = false
        @Option(help: ArgumentHelp("The sandbox's base URL, with --remote and a Cornerstore.", valueName: "url"))
        var sandboxStore: String?
        @Option(help: "What to do when another user brings a purchase: refuse, transfer, or family (up to 6).")
        var conflict = Conflict.refuse
        @Option(help: "What to do about credits that were refunded: to-zero, below-zero or flag.")
        var refunds = Refunds.toZero
        @Option(
            help: ArgumentHelp("The keys of users' tokens, YAML or JSON; else one is made.", valueName: "file"),
            completion: .file())
        var tokenKeys: String?
        @Option(help: ArgumentHelp("Where changes are sent.", valueName: "url"))
        var webhook: String?
        @Option(help: ArgumentHelp("The address to listen on (127.0.0.1).", valueName: "address"))
        var host = "127.0.0.1"
        @Option(
            parsing: .unconditional, help: ArgumentHelp("The port (8410); 0 takes any free one.", valueName: "port"))
        var port = 8410
        @Flag(help: "A proxy stands before it and adds X-Forwarded-For.")
        var behindProxy = false
        @Flag(help: "Do not bound how often users, keys and addresses may come.")
        var noRateLimits = false
        @Option(
            help: ArgumentHelp("How much the log on standard error says (notice).", valueName: "level"),
            completion: .list(Logger.Level.allCases.map(\.rawValue)))
        var logLevel: String?
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        /// Where it answers.
        private struct Report: Encodable {
            var merchant: String
            var dataDirectory: String
            var apps: [String]
        }

        func run() async throws {
            let configuration = try configuration()
            let level = try self.level()
            let console = Console.current
            let application = try await Progress.during("Starting") {
                try await MerchantApplication.open(
                    configuration, now: { Date() }, logger: ServeAction.logger(level))
            }
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

        private func level() throws -> Logger.Level {
            guard let logLevel else { return .notice }
            guard let level = Logger.Level(rawValue: logLevel.lowercased()) else {
                throw CommandError(
                    .usage, "--log-level is one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return level
        }

        // MARK: What is configured

        private func configuration() throws -> MerchantServerConfiguration {
            guard (0...65_535).contains(port) else { throw CommandError(.usage, "--port is 0 to 65535.") }
            let environment = Console.current.environment
            var configuration = MerchantServerConfiguration(
                dataDirectory: place.folder, host: host, port: port, databaseURL: try place.databaseURL(),
                schema: try place.schemaName(), stores: try stores(), bundleIDs: Set(bundleId.map { BundleID($0) }),
                policy: policy, productsFiles: products.map { URL(fileURLWithPath: $0) },
                tokenKeys: tokenKeys.map { URL(fileURLWithPath: $0) })
            configuration.bucket = try blobs.bucket()
            configuration.isBehindProxy = behindProxy
            if noRateLimits { configuration.rates = nil }
            if remote { configuration.remote = try remoteStore(environment["CORNERSTORE_SHARED_SECRET"]) }
            if let webhook {
                guard let secret = environment["CORNERSTORE_WEBHOOK_SECRET"], !secret.isEmpty else {
                    throw CommandError(.usage, "--webhook needs a secret in CORNERSTORE_WEBHOOK_SECRET.")
                }
                configuration.webhooks = try WebhookReceiver(
                    address: webhook, secrets: secret.split(separator: " ").map { try WebhookSecret(String($0)) })
            }
            MerchantServing.adjust(&configuration)
            return configuration
        }

        private var policy: MerchantPolicy {
            let conflict: ConflictPolicy =
                switch self.conflict {
                case .refuse: .refuse
                case .transfer: .transfer
                case .family: .family(members: 6)
                }
            let refunds: RefundPolicy =
                switch self.refunds {
                case .toZero: .toZero
                case .belowZero: .belowZero
                case .flag: .flag
                }
            return MerchantPolicy(
                conflict: conflict, refund: refunds,
                environments: allowSandbox ? [.production, .sandbox] : [.production],
                sendsWebhooks: webhook != nil)
        }

        private static func isApple(_ store: String) -> Bool { store.lowercased() == "apple" }
        private var takesApple: Bool { store.contains(where: Self.isApple) }
        /// The Cornerstore's address; without any --store, the one of the data directory is meant.
        private var takesCornerstore: Bool { store.isEmpty || !store.allSatisfy(Self.isApple) }

        private func stores() throws -> [TrustedStore] {
            for store in store where !Self.isApple(store) {
                let address = URLComponents(string: store)
                guard ["http", "https"].contains(address?.scheme?.lowercased()), address?.host?.isEmpty == false else {
                    throw CommandError(
                        .usage, "--store is apple, or a Cornerstore's base URL, not “\(Style.printable(store))”.")
                }
            }
            let intermediates = try intermediate.map { try CertificateInput.read($0) }
            var stores: [TrustedStore] = []
            if takesApple {
                let roots = try root.map { (file: $0, der: try CertificateInput.read($0)) }
                if !takesCornerstore, let other = roots.first(where: { !TrustedStore.isApples($0.der) }) {
                    throw CommandError(
                        .usage,
                        "--root \(Style.printable(other.file)) is none of Apple's roots, and with --store apple alone no other is trusted."
                    )
                }
                stores.append(
                    .appleStores(
                        roots: roots.map(\.der).filter { TrustedStore.isApples($0) }, intermediates: intermediates))
            }
            if takesCornerstore { stores.append(try cornerstore(intermediates)) }
            return stores
        }

        private func cornerstore(_ intermediates: [[UInt8]]) throws -> TrustedStore {
            let roots = try root.map { try CertificateInput.read($0) }.filter { !TrustedStore.isApples($0) }
            guard !roots.isEmpty else {
                return try .cornerstore(in: DataOptions.directory(storeData), intermediates: intermediates)
            }
            return .cornerstore(roots: roots, intermediates: intermediates)
        }

        private func remoteStore(_ secret: String?) throws -> MerchantServerConfiguration.RemoteStore {
            guard takesApple != takesCornerstore || store.count == 1 else {
                throw CommandError(.usage, "--remote asks one store: give --store once.")
            }
            if takesApple {
                return .init(hosts: try .apple(), sharedSecret: secret, anchor: TrustedStore.apple)
            }
            guard let address = store.first else {
                throw CommandError(.usage, "--remote needs the store's address: --store URL.")
            }
            return .init(
                hosts: try .cornerstore(production: address, sandbox: sandboxStore), sharedSecret: secret,
                anchor: try cornerstore([]).anchor)
        }
    }
}
