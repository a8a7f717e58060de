import ArgumentParser
import Foundation
import MerchantServer

extension MerchantCommand {
    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy everything that the merchant has, while it works.",
            discussion: """
                The folder gets the database as it stands at one moment, all content, and the keys of users' tokens: keep it as safe as \
                the server itself. It is there whole or not at all. A PostgreSQL is copied by its own pg_dump.

                  cornerstore merchant backup /backups/books-2026-11-22
                  cornerstore merchant backup /backups/monday --database postgres://merchant@localhost/books
                  cornerstore merchant backup /backups/monday --blobs "s3://content?region=eu-west-3" --without-content
                """)

        @Argument(help: ArgumentHelp("A folder that is not there yet.", valueName: "dir"), completion: .directory)
        var folder: String
        @Flag(help: "Leave the content where it is, in a bucket that is kept safe by itself.")
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
            abstract: "Put a backup in its place; the server must not run.",
            discussion: """
                Every file is checked, and the books are proved, before anything takes its place; it is restored as a whole or not at all. \
                Where something is already, --replace is needed, and loses it.

                  cornerstore merchant restore /backups/books-2026-11-22
                  cornerstore merchant restore /backups/monday --database postgres://merchant@localhost/books
                  cornerstore merchant restore /backups/monday --data /srv/books --replace
                """)

        @Argument(help: ArgumentHelp("What “merchant backup” has made.", valueName: "dir"), completion: .directory)
        var folder: String
        @Flag(help: "Lose what is there.")
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

extension MerchantBackup.Report {
    fileprivate var summary: String {
        let content = contentFiles == 1 ? "1 content file" : "\(contentFiles) content files"
        return
            "\(databaseBytes) bytes of database, \(content) of \(contentBytes) bytes\(hasContent ? "" : " left where they are")"
    }
}
