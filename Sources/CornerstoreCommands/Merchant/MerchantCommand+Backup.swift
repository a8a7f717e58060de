import ArgumentParser
import Backups
import Foundation
import MerchantServer

extension MerchantCommand {
    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Back up the merchant's database, content and keys. The server may run.",
            discussion: """
                The folder contains a snapshot of the database, all content and the keys of users' tokens. Protect it like the server itself. The \
                command writes the folder completely or not at all. It copies a PostgreSQL database with pg_dump.

                  cornerstore merchant backup /backups/books-2026-11-22
                  cornerstore merchant backup /backups/monday --database postgres://merchant@localhost/books
                  cornerstore merchant backup /backups/monday --blobs "s3://content?region=eu-west-3" --without-content
                """)

        @Argument(help: ArgumentHelp("The folder to create.", valueName: "dir"), completion: .directory)
        var folder: String
        @Flag(help: "Do not copy the content, when its bucket has its own backup.")
        var withoutContent = false
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let options = try place.options([.blobs: blobs.blobs])
            let backup = try MerchantBackup(
                of: options.known(), bucket: try options.bucket(), now: { Date() }, logger: ServeAction.logger(.error))
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
            abstract: "Restore a backup. The server must not run.",
            discussion: """
                The command checks every file and the ledger before it changes anything. It restores the backup completely or not at all. If the \
                target contains data, --replace is required and deletes that data.

                  cornerstore merchant restore /backups/books-2026-11-22
                  cornerstore merchant restore /backups/monday --database postgres://merchant@localhost/books
                  cornerstore merchant restore /backups/monday --data /srv/books --replace
                """)

        @Argument(
            help: ArgumentHelp("A folder created by “merchant backup”.", valueName: "dir"), completion: .directory)
        var folder: String
        @Flag(help: "Delete the existing data.")
        var replace = false
        @OptionGroup var blobs: BlobsOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let options = try place.options([.blobs: blobs.blobs])
            let backup = try MerchantBackup(
                of: options.place(), bucket: try options.bucket(), now: { Date() }, logger: ServeAction.logger(.error))
            let source = URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL
            let report = try await Progress.during("Restoring") {
                try await backup.restore(from: source, replaces: replace)
            }
            try Console.current.report(report, json: output.json) { _ in
                "Restored into \(report.directory): \(report.summary). The books balance."
            }
        }
    }
}
