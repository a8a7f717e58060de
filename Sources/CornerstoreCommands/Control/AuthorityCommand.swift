import ArgumentParser
import ControlWire
import Database
import Foundation
import Store

/// `cornerstore authority`: the store's certificates, and the key that seals its secrets in a database.
struct AuthorityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority",
        abstract: "Show the store's certificates, replace those that sign, and make or change the store key.",
        discussion: """
              cornerstore authority show
              cornerstore authority rotate
              (umask 077; cornerstore authority key > store.key)
              cornerstore authority reseal --store-key store.key --new-key new.key
            """,
        subcommands: [Show.self, Rotate.self, Key.self, Reseal.self], defaultSubcommand: Show.self)

    private static func rows(_ authority: ControlAPI.Authority, _ style: Style) -> String {
        Table(
            heading: ["certificate", "SHA-256"], rows: authority.certificates.map { [$0.name, $0.sha256] }
        ).text(style)
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the fingerprints of the certificates with which the store signs.",
            discussion: """
                  cornerstore authority show
                """)
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let authority: ControlAPI.Authority = try await control.client().send(.authority)
            try Console.current.report(authority, json: output.json) { AuthorityCommand.rows(authority, $0) }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the certificates that sign receipts and payloads. Their earlier signatures stay valid.",
            discussion: """
                Roots and intermediates stay. All processes of the store use the new certificates when the command ends.

                  cornerstore authority rotate
                """)
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let authority: ControlAPI.Authority = try await control.client().send(.rotateAuthority)
            try Console.current.report(authority, json: output.json) { AuthorityCommand.rows(authority, $0) }
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a store key, which seals the secrets of a store on PostgreSQL, and print it.",
            discussion: """
                Keep the key apart from backups of the database: a backup cannot be used without it. Only the owner may read its file.

                  (umask 077; cornerstore authority key > store.key)
                  cornerstore authority key --json
                """)
        @OptionGroup var output: OutputOptions

        /// The output of `--json`.
        struct Report: Encodable {
            var storeKey: String
        }

        func run() async throws {
            let report = Report(storeKey: StoreKey().base64)
            try Console.current.report(report, json: output.json) { _ in report.storeKey }
        }
    }

    struct Reseal: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Seal the secrets of a store with another key. No process of the store may run.",
            discussion: """
                The command seals all secrets, or none. Start every process with the new key afterwards. Backups of the database still need the \
                key that was in use when they were made.

                  cornerstore authority reseal --store-key store.key --new-key new.key
                  cornerstore authority reseal --store-key store.key --new-key new.key --database postgres://store@localhost/store
                """)
        @Option(help: ArgumentHelp("The file of the new key.", valueName: "file"), completion: .file())
        var newKey: String
        @Option(
            help: ArgumentHelp("The file of the key now (CORNERSTORE_STORE_KEY, the key itself).", valueName: "file"),
            completion: .file())
        var storeKey: String?
        @OptionGroup var schemas: StoreSchemaOptions
        @OptionGroup var output: OutputOptions

        /// The output of `--json`.
        struct Report: Encodable {
            var secrets: Int
        }

        func run() async throws {
            guard let old = try StoreKey(option: storeKey, environment: Console.current.environment) else {
                throw CommandError(.usage, "Give the key now with --store-key, or in \(StoreKey.variable).")
            }
            let new = try StoreKey.read(file: URL(fileURLWithPath: newKey))
            let (url, prefix) = try schemas.place()
            let count = try await Self.reseal(.postgresql(url: url, schemaPrefix: prefix), from: old, to: new)
            try Console.current.report(Report(secrets: count), json: output.json) { _ in
                "All secrets are sealed with the new key. Start every process with it."
            }
        }

        /// Opens the databases for this process alone, which no other process of the store has open then.
        private static func reseal(
            _ location: StoreDatabases.Location, from old: StoreKey, to new: StoreKey
        ) async throws -> Int {
            let databases: StoreDatabases
            do {
                databases = try await StoreDatabases.open(
                    location, mayMigrate: false, logger: ServeAction.logger(.error))
            } catch let error as DatabasesInUse {
                throw CommandError(
                    .failed, "A process of the store runs (\(Style.printable(error.owner))). Stop all of them first.")
            } catch let error as DatabaseError where error.code == .olderSchema {
                throw CommandError(
                    .failed,
                    "The database has no store under this prefix, or one of an older version. Name its --database and "
                        + "--schema-prefix, or start the store once with the key that it has now.")
            }
            let outcome: Result<Int, any Error>
            do {
                outcome = .success(try await StoreSecrets.reseal(databases, from: old, to: new))
            } catch {
                outcome = .failure(error)
            }
            await databases.close()
            return try outcome.get()
        }
    }
}
