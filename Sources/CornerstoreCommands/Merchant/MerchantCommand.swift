import ArgumentParser
import Foundation
import Merchant
import MerchantServer

/// `cornerstore merchant`: the app's own server.
struct MerchantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merchant",
        abstract: "The app's own server: verify purchases, grant each exactly once, deliver content.",
        discussion: """
            All but “serve” and “restore” work beside a server that runs, on the same database. Where it is (data, database, schema, blobs) may be said once \
            for all of them, in the environment (CORNERSTORE_MERCHANT_DATA) or in the file of --config.

              cornerstore merchant serve --products Books.yaml --store-data .cornerstore --allow-sandbox
              cornerstore merchant products list
              cornerstore merchant user ann
            """,
        subcommands: [Serve.self, Token.self, Key.self],
        groupedSubcommands: [
            CommandGroup(name: "What is sold and delivered", subcommands: [Products.self, Content.self]),
            CommandGroup(name: "Users and the books", subcommands: [User.self, History.self, Adjust.self, Check.self]),
            CommandGroup(name: "Operation", subcommands: [Webhooks.self, Backup.self, Restore.self]),
        ])

    /// Where the merchant keeps everything.
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
                "The PostgreSQL schema (cornerstore_merchant), where several merchants share a database.",
                valueName: "name"))
        var schema: String?
        @Option(
            help: ArgumentHelp("A file of options, YAML or JSON, as “merchant serve” has it.", valueName: "file"),
            completion: .file(extensions: ["yaml", "yml", "json"]))
        var config: String?

        /// With what the environment and the file say.
        /// - Parameters:
        ///   - flags: the command's other options.
        ///   - lists: those of them that have several values.
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

        /// Runs something over the merchant's database, beside a server that may be running.
        /// - Throws: as ``MerchantOptions/known(orNew:)``.
        func withMerchant<T>(orNew: Bool = false, _ body: (Merchant) async throws -> T) async throws -> T {
            let options = try options()
            let place = try options.known(orNew: orNew)
            if place.databaseURL == nil, !MerchantPlace.hasDatabase(place.folder),
                !MerchantPlace.isHalfRestored(place.folder)
            {
                let console = Console.current
                console.remark(
                    console.style.dim("note: there was no merchant in \(place.folder.path); a new one is made"))
            }
            return try await place.withMerchant(
                sendsWebhooks: options.sendsWebhooks, joinsEnvironments: try options.joinsEnvironments(),
                logger: ServeAction.logger(.error), body)
        }
    }
}
