import ArgumentParser
import Foundation
import Merchant
import MerchantServer
import StoreWire

/// `cornerstore merchant`: the app's own server.
struct MerchantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merchant",
        abstract: "The app's own server: verify purchases, grant each exactly once, deliver content.",
        discussion: """
            All subcommands except “serve” and “restore” can run beside a running server, on the same database. To set --data, --database, --schema \
            and --blobs for all of them, use the environment (CORNERSTORE_MERCHANT_DATA) or the file of --config.

              cornerstore merchant serve --products Books.yaml --store-data .cornerstore --allow-sandbox
              cornerstore merchant products list
              cornerstore merchant user ann
            """,
        subcommands: [Serve.self, Token.self, Key.self, Settings.self],
        groupedSubcommands: [
            CommandGroup(name: "Products and content", subcommands: [Products.self, Content.self]),
            CommandGroup(
                name: "Users and the ledger",
                subcommands: [
                    Users.self, User.self, Redemptions.self, Transaction.self, Notifications.self, History.self,
                    Adjust.self, Check.self, Sweep.self,
                ]),
            CommandGroup(name: "Operation", subcommands: [Webhooks.self, Backup.self, Restore.self]),
        ])

    /// The options for the location of the merchant's data.
    struct PlaceOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "The merchant's data directory (“merchant” in CORNERSTORE_DATA, else .cornerstore/merchant).",
                valueName: "dir"), completion: .directory)
        var data: String?
        @Option(
            help: ArgumentHelp(
                "A PostgreSQL database, postgres://…, instead of SQLite in the data directory (CORNERSTORE_MERCHANT_DATABASE).",
                valueName: "url"))
        var database: String?
        @Option(
            help: ArgumentHelp(
                "The PostgreSQL schema (cornerstore_merchant), when several merchants share a database.",
                valueName: "name"))
        var schema: String?
        @Option(
            help: ArgumentHelp("A YAML or JSON file of options, as for “merchant serve”.", valueName: "file"),
            completion: .file(extensions: ["yaml", "yml", "json"]))
        var config: String?

        /// Returns the options of the command line, the environment and the file of `--config`.
        /// - Parameters:
        ///   - flags: the command's other options.
        ///   - lists: the command's options with several values.
        func options(
            _ flags: [MerchantOption: String?] = [:], lists: [MerchantOption.List: [String]] = [:]
        ) throws -> MerchantOptions {
            var given = flags.compactMapValues { $0 }
            given[.data] = data
            given[.database] = database
            given[.schema] = schema
            return MerchantOptions(
                flags: given, lists: lists, file: try config.map { try ConfigurationFile.read($0) })
        }

        /// Runs `body` on the merchant's database. A server may run on the same database.
        /// - Parameters:
        ///   - orNew: whether a new merchant may be created.
        ///   - needsStoreClock: whether the command may not fall back on the machine's clock when a store runs beside
        ///     the merchant and its clocks cannot be read. Other commands then print a remark.
        /// - Throws: the errors of ``MerchantOptions/known(orNew:)`` and of `body`; ``CommandError`` for clocks that
        ///   are needed and cannot be read.
        func withMerchant<T>(
            orNew: Bool = false, needsStoreClock: Bool = false, _ body: (Merchant) async throws -> T
        ) async throws -> T {
            let options = try options()
            let place = try options.known(orNew: orNew)
            if place.databaseURL == nil, !MerchantPlace.hasDatabase(place.folder),
                !MerchantPlace.isHalfRestored(place.folder)
            {
                let console = Console.current
                console.remark(
                    console.style.dim("note: created a new merchant in \(place.folder.path)"))
            }
            return try await place.withMerchant(
                sendsWebhooks: options.sendsWebhooks, joinsEnvironments: try options.joinsEnvironments(),
                storeClock: try await storeClock(beside: place.folder, isNeeded: needsStoreClock),
                logger: ServeAction.logger(.error), body)
        }

        private func storeClock(
            beside folder: URL, isNeeded: Bool
        ) async throws -> (@Sendable (StoreEnvironment) -> Int64)? {
            do {
                return try await MerchantCommand.storeClock(beside: folder)
            } catch let error as CommandError {
                let problem = "The clock of the store beside this merchant cannot be read. \(error.detail)"
                if isNeeded { throw CommandError(error.code, "\(problem) Nothing was changed.") }
                let console = Console.current
                console.remark(console.style.dim("note: \(problem) The machine's clock is used instead."))
                return nil
            }
        }
    }
}
