import ArgumentParser
import Foundation
import StoreKit
import StoreServer
import StoreWire

/// `cornerstore library`: the items that an account owns, and their files on the device.
struct LibraryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library",
        abstract: "List the apps, songs, films, episodes and books that an account owns, or download their files.",
        subcommands: [List.self, Download.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the items of the account, and which of their files the device has.",
            discussion: """
                In the sandbox, the default account is the tester that the store created on its first start. The device is the one that \
                “cornerstore buy” uses for the account, unless --device names another.

                  cornerstore library
                  cornerstore library --environment production --account anna@example.com --password-file anna.txt --json
                """)

        @OptionGroup var options: LibraryOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let items = try await options.use { library in
                try await library.items().map { LibraryItemReport($0, library) }
            }
            try Console.current.report(items, json: output.json) { style in
                guard !items.isEmpty else { return "The library is empty. Buy an item: cornerstore buy --item NUMBER" }
                return Table(
                    heading: ["number", "kind", "name", "price", "bought", "file", "size", "on device", "transaction"],
                    rows: items.map(\.row)
                ).text(style)
            }
        }
    }

    struct Download: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Download the files of owned items that the device does not have.",
            discussion: """
                Downloads the files of one item, or of all items of the account. To resume an interrupted download, run the same command again. \
                A file that the device has is not downloaded again unless the store has a newer one.

                  cornerstore library download
                  cornerstore library download 1400000004 --json
                """)

        @Argument(help: "The item's number; without it, all items of the account.")
        var number: Int64?
        @OptionGroup var options: LibraryOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let number = number
            let files = try await options.use { library in
                let wanted = try await library.files(of: number)
                return try await library.download(wanted)
            }
            try Console.current.report(files, json: output.json) { style in
                guard !files.isEmpty else { return "The items of the account have no files." }
                return files.map { $0.text(style) }.joined(separator: "\n")
            }
        }
    }
}

/// The options of commands that use the library of an account on a device.
struct LibraryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The account.", valueName: "email"))
    var account: String?
    @OptionGroup var password: PasswordOptions
    @Option(help: ArgumentHelp("The device's folder.", valueName: "dir"), completion: .directory)
    var device: String?
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var data: DataOptions

    /// Signs in, runs `body`, and signs out.
    func use<Result>(_ body: (ShellLibrary) async throws -> Result) async throws -> Result {
        try await ShellLibrary.with(account, password, environment.environment, device: device, data, body)
    }
}

/// A file of an owned item on the device.
struct LibraryFileReport: Encodable, Sendable {
    var item: Int64
    var title: String
    var name: String
    /// The length in bytes.
    var length: Int64
    /// The SHA-256; nil until the store has delivered the file for the first time.
    var sha256: String?
    var state: DeviceLibrary.State
    /// The location of the file; nil when the device does not have it.
    var path: String?

    init(_ file: ItemFileDescription, _ library: DeviceLibrary) {
        (item, title, name, length, sha256) = (file.item, file.title, file.name, file.length, file.sha256)
        state = library.state(of: file)
        path = [.downloaded, .outdated].contains(state) ? library.url(of: file).path : nil
    }

    func text(_ style: Style) -> String {
        "\(Style.printable(title))  \(TransferMeter.size(length))  \(style.dim(Style.printable(path ?? state.rawValue)))"
    }
}

/// An item of `cornerstore library` and `cornerstore buy --item`.
struct LibraryItemReport: Encodable, Sendable {
    var owned: OwnedItem
    var files: [LibraryFileReport]

    private enum CodingKeys: String, CodingKey {
        case files
    }

    init(_ owned: OwnedItem, _ library: ShellLibrary) {
        self.owned = owned
        files = (owned.files ?? []).map { LibraryFileReport($0, library.device) }
    }

    /// The item's own fields, with more about the files.
    func encode(to encoder: any Encoder) throws {
        var item = owned
        item.files = nil
        try item.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(files, forKey: .files)
    }

    var row: [String] {
        let size = files.map(\.length).reduce(0, +)
        return [
            String(owned.item), owned.kind ?? "", owned.name ?? "no longer in the catalog",
            "\(owned.price.decimal) \(owned.price.currency)", Moment.text(owned.purchaseDate),
            files.count > 1 ? "\(files.count) files" : files.first?.name ?? "",
            files.isEmpty ? "" : TransferMeter.size(size),
            state, owned.transactionID.description,
        ]
    }

    private var state: String {
        let count = files.filter { $0.state == .downloaded }.count
        switch files.count {
        case 0: return ""
        case 1:
            return files[0].state == .downloaded ? "yes" : files[0].state == .missing ? "no" : files[0].state.rawValue
        case count: return "yes"
        default: return "\(count) of \(files.count)"
        }
    }
}
