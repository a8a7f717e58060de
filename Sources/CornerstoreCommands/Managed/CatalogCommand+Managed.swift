import ArgumentParser
import ControlWire
import Foundation
import Store

extension CatalogCommand {
    /// `cornerstore catalog import`: takes a file's apps into the store.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take the apps of a catalog file into a running store, which manages them from then on.",
            discussion: """
                Products that the store has already are changed; products that the file lacks stay. A file that the store serves cannot be \
                taken in: remove the app from it first.

                  cornerstore catalog import App.storekit=com.example.app
                  cornerstore catalog import App.yaml --approved
                """)
        @Argument(
            help: ArgumentHelp("The catalog file. Append =BUNDLE to a .storekit file.", valueName: "file"),
            completion: .file())
        var file: CatalogFileArgument
        @Flag(help: "Approve new products at once, for an app that is live already.")
        var approved = false
        @OptionGroup var options: ManagedOptions

        func run() async throws {
            let bytes = try BoundedInput.read(file.file.path, limit: 16 << 20, what: "catalog")
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw CommandError(.refused, "\(file.file.path) is not UTF-8 text.")
            }
            guard file.file.isYAML || file.file.bundleID != nil else {
                throw CommandError(
                    .usage, "A .storekit file has no bundle id. Append the app's: \(file.file.path)=com.example.app")
            }
            let body = ControlAPI.CatalogImport(
                format: file.file.isYAML ? .yaml : .storekit, text: text, bundleId: file.file.bundleID?.rawValue,
                approved: approved, by: options.author)
            let result: ControlAPI.CatalogImported = try await options.control.client().send(
                .managed(.importCatalog), body)
            try Console.current.report(result, json: options.output.json) { style in
                let counts = "\(result.created.count) new, \(result.changed.count) changed"
                return
                    ([style.good("Taken in: \(counts).")]
                    + result.apps.map { "  \($0.bundleId)  \($0.products) products" }
                    + result.notes.map { style.dim("note: \(Style.printable($0))") }).joined(separator: "\n")
            }
        }
    }

    /// `cornerstore catalog export`: writes a managed app as a catalog file.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write an app that the store manages as a catalog file, with its newest texts.",
            discussion: """
                  cornerstore catalog export --out App.yaml
                  cornerstore catalog export --app com.example.app --to storekit --out App.storekit
                """)
        @OptionGroup var target: ManagedTarget
        @Option(help: "The format.")
        var to = Convert.Format.yaml
        @Option(
            help: ArgumentHelp("The file to write, instead of standard output.", valueName: "file"), completion: .file()
        )
        var out: String?
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let client = try control.client()
            let result: ControlAPI.CatalogExport = try await client.send(
                .managed(.export(try await target.bundleID(client), format: to == .yaml ? .yaml : .storekit)))
            let console = Console.current
            for line in result.omitted where !output.json { console.remark("left out: \(Style.printable(line))") }
            if let out {
                try CatalogCommand.write(result.text, to: out)
                guard output.json else { return }
            }
            try console.report(result, json: output.json) { _ in
                result.text.hasSuffix("\n") ? String(result.text.dropLast()) : result.text
            }
        }
    }

    /// Writes a text to a file.
    /// - Throws: ``CommandError`` when the file cannot be written.
    static func write(_ text: String, to path: String) throws {
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandError(.failed, "Cannot write \(path).")
        }
    }
}
