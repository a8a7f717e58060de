import ArgumentParser
import Backups
import Database
import Foundation
import Store
import StoreServer

/// `cornerstore store`: backups of a store's data, and a loss of data.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Back up and restore a store's data, or accept a loss of data.",
        discussion: """
              cornerstore store backup /backups/store-2026-11-27
              cornerstore store restore /backups/store-2026-11-27 --data /srv/store
              cornerstore store accept-loss --database postgres://store@localhost/store
            """,
        subcommands: [Backup.self, Restore.self, AcceptLoss.self])

    /// The options that locate a store's data, as for `serve`.
    struct PlaceOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp("The data directory (CORNERSTORE_DATA, else .cornerstore).", valueName: "dir"),
            completion: .directory)
        var data: String?
        @Option(
            help: ArgumentHelp(
                "A PostgreSQL database, postgres://…, instead of SQLite in the data directory (CORNERSTORE_DATABASE).",
                valueName: "url"))
        var database: String?
        @Option(
            help: ArgumentHelp("The prefix of the PostgreSQL schemas' names (cornerstore).", valueName: "prefix"))
        var schemaPrefix: String?
        @Option(
            help: ArgumentHelp(
                "The file of the store's key, for a store that was started with one (CORNERSTORE_STORE_KEY has the key itself).",
                valueName: "file"),
            completion: .file())
        var storeKey: String?
        @Option(
            help: ArgumentHelp("The folder of hosted content that all processes share.", valueName: "dir"),
            completion: .directory)
        var blobsShared: String?
        @Option(
            help: ArgumentHelp("A YAML or JSON file of options, as for “serve”.", valueName: "file"),
            completion: .file(extensions: ["yaml", "yml", "json"]))
        var config: String?

        /// Returns a backup of the store that the command line, the environment and the file of `--config` describe.
        func backup(_ blobs: BlobsOptions) throws -> StoreBackup {
            var flags: [ServeSetting: String] = [:]
            flags[.data] = data
            flags[.database] = database
            flags[.schemaPrefix] = schemaPrefix
            flags[.storeKey] = storeKey
            flags[.blobs] = blobs.blobs
            flags[.blobsShared] = blobsShared
            let settings = try ServeSettings(
                flags: flags, files: [], productsFiles: [], environment: Console.current.environment,
                file: try config.map { try ConfigurationFile.read($0) })
            return try StoreBackup(
                of: try settings.configuration(), now: { Date() }, logger: ServeAction.logger(.error))
        }
    }

    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Back up the store's databases, content and keys. The servers may run.",
            discussion: """
                The folder contains a snapshot of the databases, all hosted content and the keys of the certificate authority. Protect it like the \
                server itself. The command writes the folder completely or not at all. It copies a PostgreSQL database with pg_dump. A store with a \
                store key has its keys in the database, sealed; the store key is not in the backup, so keep a copy of it elsewhere. Partner feeds and \
                uploads in progress are left out. “cornerstore merchant backup” backs up the merchant.

                  cornerstore store backup /backups/store-2026-11-27
                  cornerstore store backup /backups/monday --database postgres://store@localhost/store --store-key store.key
                  cornerstore store backup /backups/monday --blobs "s3://content?region=eu-west-3" --without-content
                """)

        @Argument(help: ArgumentHelp("The folder to create.", valueName: "dir"), completion: .directory)
        var folder: String
        @Flag(help: "Do not copy the content, when its bucket has its own backup.")
        var withoutContent = false
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let backup = try place.backup(blobs)
            let target = URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL
            let report = try await Progress.during("Backing up") {
                try await backup.make(at: target, withContent: !withoutContent)
            }
            try Console.current.report(report, json: output.json) { _ in
                "Backed up into \(report.directory): \(report.summary)."
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore a backup. No server of the store may run.",
            discussion: """
                The command checks every file, the ledgers and the store key before it changes anything. It restores the backup completely or not at \
                all. If the target contains data, --replace is required and deletes that data.

                  cornerstore store restore /backups/store-2026-11-27
                  cornerstore store restore /backups/monday --database postgres://store@localhost/store --store-key store.key
                  cornerstore store restore /backups/monday --data /srv/store --replace
                """)

        @Argument(
            help: ArgumentHelp("A folder created by “store backup”.", valueName: "dir"), completion: .directory)
        var folder: String
        @Flag(help: "Delete the existing data.")
        var replace = false
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let backup = try place.backup(blobs)
            let source = URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL
            let report = try await Progress.during("Restoring") {
                try await backup.restore(from: source, replaces: replace)
            }
            try Console.current.report(report, json: output.json) { _ in
                "Restored into \(report.directory): \(report.summary). The ledgers are whole."
            }
        }
    }
}

extension StoreCommand {
    struct AcceptLoss: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let the processes start on a PostgreSQL server that lacks confirmed changes.",
            discussion: """
                A standby that lagged when it was promoted lacks the last changes, such as purchases that customers have seen confirmed. A process \
                that notices this records it in the database. All processes of the store end then, and none starts. Bring back the former primary, or \
                restore a backup. If neither is possible, this command removes the record, and the store continues without these changes.

                  cornerstore store accept-loss --database postgres://store@10.0.0.21,10.0.0.22/store
                """)

        @OptionGroup var schemas: StoreSchemaOptions
        @Option(
            help: ArgumentHelp("A YAML or JSON file of options, as for “serve”.", valueName: "file"),
            completion: .file(extensions: ["yaml", "yml", "json"]))
        var config: String?
        @OptionGroup var output: OutputOptions

        /// What `--json` prints.
        struct Report: Encodable {
            /// A process that had noticed the loss.
            struct Process: Encodable {
                var node: Int
                var process: String
                var noticedAt: String
            }

            var noticedBy: [Process]
        }

        func run() async throws {
            let (url, prefix) = try schemas.place(config: config)
            let losses = try await StoreDatabases.acceptLoss(in: .postgresql(url: url, schemaPrefix: prefix))
            guard !losses.isEmpty else {
                throw CommandError(
                    .failed,
                    "No process has recorded a loss under the prefix \(prefix). Name the store's --database and --schema-prefix."
                )
            }
            let report = Report(
                noticedBy: losses.map {
                    .init(node: $0.node, process: $0.process, noticedAt: Moment.text($0.noticedAt))
                })
            try Console.current.report(report, json: output.json) { _ in
                let processes = report.noticedBy.map {
                    "\(Style.printable($0.process)) (node \($0.node)) at \($0.noticedAt)"
                }
                return "The loss is accepted that was noticed by \(processes.joined(separator: ", ")). "
                    + "Start the processes."
            }
        }
    }
}

extension BackupReport {
    /// A summary of the backup's contents, for the end of a sentence.
    var summary: String {
        let content = contentFiles == 1 ? "1 content file" : "\(contentFiles) content files"
        return
            "\(databaseBytes) bytes of database, \(content) of \(contentBytes) bytes\(hasContent ? "" : " not copied")"
    }
}
