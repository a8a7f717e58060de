import ArgumentParser
import BlobStorage
import Foundation
import Merchant
import MerchantServer
import MerchantWire

extension MerchantCommand {
    struct Content: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the merchant's content and add new versions.",
            discussion: """
                A running server delivers a new version as soon as the command has completed.

                  cornerstore merchant content put issue-12 issue-12.epub
                  cornerstore merchant content list
                """,
            subcommands: [List.self, Put.self], defaultSubcommand: List.self)

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "List the newest version of every item.",
                discussion: "  cornerstore merchant content list --json")

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let list = try await place.withMerchant { try await $0.contentList() }
                try Console.current.report(list, json: output.json) { style in
                    guard !list.items.isEmpty else {
                        return "No content. Add content with “cornerstore merchant content put ITEM FILE”."
                    }
                    return Table(
                        heading: ["item", "version", "size", "type", "added", "SHA-256"],
                        rows: list.items.map {
                            [
                                $0.item.rawValue, "\($0.version)", TransferMeter.size($0.size), $0.mediaType,
                                Moment.text($0.createdAt), String($0.digest.prefix(16)) + "…",
                            ]
                        }
                    ).text(style)
                }
            }
        }

        struct Put: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Add a file as an item's next version, which the server then delivers.",
                discussion: """
                    Users who redeemed a product that grants the item download its newest version. Adding the same file again creates no new version. \
                    Use the same --data and --blobs as the server. If you stop the command before it completes, nothing changes.

                      cornerstore merchant content put issue-12 issue-12.epub
                      cornerstore merchant content put issue-12 corrected.bin --type application/epub+zip
                      cornerstore merchant content put issue-12 issue-12.epub --blobs "s3://content?region=eu-west-3"
                    """)

            @Argument(help: "The item's name, as in the products that grant it.")
            var item: String
            @Argument(help: "The file, at most 4 GiB.", completion: .file())
            var file: String
            @Option(
                help: ArgumentHelp(
                    "The media type, type/subtype. The default is the previous version's type, else the type of the file name's extension.",
                    valueName: "type"))
            var type: String?
            @OptionGroup var blobs: BlobsOptions
            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let options = try place.options([.blobs: blobs.blobs])
                let bucket = try options.bucket()
                if bucket == nil { try Self.check(options.folder, isAlone: options.databaseURL() == nil) }
                let place = try options.known()
                let url = URL(fileURLWithPath: file).standardizedFileURL
                let size = (try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize).map(Int64.init) ?? 0
                // Small files need no progress bar.
                let display =
                    size < 16 << 20 ? nil : TransferDisplay("Adding", total: size, done: 0, console: .current)
                let version: ContentVersion
                do {
                    version = try await place.putContent(
                        ContentItemID(item), from: url, mediaType: type, bucket: bucket,
                        logger: ServeAction.logger(.error), progress: { display?.note($0) })
                    display?.end()
                } catch {
                    display?.end()
                    throw error
                }
                let sold = try await place.withMerchant(logger: ServeAction.logger(.error)) {
                    try await $0.allProducts()
                }
                Self.remark(version.item, sold.products)
                try Console.current.report(version, json: output.json) { style in
                    Table.fields(
                        [
                            ("item", version.item.rawValue), ("version", "\(version.version)"),
                            ("size", "\(version.size) bytes"), ("type", version.mediaType),
                            ("SHA-256", version.digest), ("added", Moment.text(version.createdAt)),
                        ], style)
                }
            }

            /// Prints a note when no product grants the item, because its name may be misspelt.
            private static func remark(_ item: ContentItemID, _ products: [MerchantProduct]) {
                let given = Set(
                    products.flatMap(\.grants).compactMap { grant -> ContentItemID? in
                        if case .content(let item) = grant { item } else { nil }
                    })
                guard !given.contains(item) else { return }
                let known =
                    given.isEmpty
                    ? ""
                    : ". "
                        + Suggestion.text(
                            for: item.rawValue, among: given.sorted().map(\.rawValue), of: "items that products grant")
                let console = Console.current
                console.remark(
                    console.style.dim(
                        "note: no product grants \(Style.printable(item.rawValue)) yet, so no user can download it\(known)"
                    ))
            }

            /// Checks that the server reads content from this data directory; it could not deliver a file stored
            /// elsewhere.
            /// - Parameter isAlone: whether the database is in the folder, too.
            /// - Throws: ``CommandError`` when the merchant does not keep its content in this data directory.
            private static func check(_ folder: URL, isAlone: Bool) throws {
                guard !MerchantPlace.hasContentElsewhere(folder) else {
                    throw CommandError(
                        .usage,
                        "The merchant of \(folder.path) keeps its content in a bucket. Give the server's bucket with --blobs."
                    )
                }
                guard isAlone || MerchantPlace.hasContent(folder) else {
                    throw CommandError(
                        .usage,
                        "No server keeps content in \(folder.path). Give its data directory with --data, or its bucket with --blobs."
                    )
                }
            }
        }
    }
}
