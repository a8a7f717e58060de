import ArgumentParser
import Database
import Foundation
import Merchant
import MerchantServer
import MerchantWire
import StoreWire

/// `cornerstore merchant`: the app's own server.
struct MerchantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merchant",
        abstract: "The app's own server: verify purchases, grant each exactly once, deliver content.",
        subcommands: [Serve.self, Token.self, Key.self, Check.self, Products.self, Backup.self, Restore.self])

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

        var folder: URL {
            guard let data else { return DataOptions.directory(nil).appendingPathComponent("merchant") }
            return URL(fileURLWithPath: data, isDirectory: true).standardizedFileURL
        }

        /// From the command line, else from the environment.
        func databaseURL() throws -> String? {
            let variable = Console.current.environment["CORNERSTORE_MERCHANT_DATABASE"].flatMap {
                $0.isEmpty ? nil : $0
            }
            guard let url = database ?? variable else { return nil }
            guard ["postgres://", "postgresql://"].contains(where: url.hasPrefix) else {
                throw CommandError(.usage, "--database is a URL that begins with postgres://.")
            }
            return url
        }

        func schemaName() throws -> String {
            let name = schema ?? "cornerstore_merchant"
            guard name.wholeMatch(of: /[a-z_][a-z0-9_]{0,59}/) != nil else {
                throw CommandError(
                    .usage, "--schema is 1 to 60 small letters, digits and _, not beginning with a digit.")
            }
            return name
        }

        /// A place where a merchant is.
        /// - Parameter orNew: whether it may be made.
        /// - Throws: ``CommandError`` when no database is named, and the server of the data directory has one elsewhere, or there is none.
        func known(orNew: Bool = false) throws -> MerchantPlace {
            let url = try databaseURL()
            guard orNew || url != nil || MerchantPlace.hasDatabase(folder) || MerchantPlace.hasDatabaseElsewhere(folder)
            else {
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
            return try MerchantPlace(folder: folder, databaseURL: url, schema: try schemaName())
        }

        /// Runs something over the merchant's database, beside a server that may be running.
        /// - Throws: as ``known()``.
        func withMerchant<T>(orNew: Bool = false, _ body: (Merchant) async throws -> T) async throws -> T {
            try await known(orNew: orNew).withMerchant(logger: ServeAction.logger(.error), body)
        }
    }
}
