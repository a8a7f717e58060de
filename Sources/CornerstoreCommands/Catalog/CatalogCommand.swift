import ArgumentParser
import Foundation
import Store
import StoreWire

/// `cornerstore catalog`: checks and converts catalog files without a store, and moves apps between files and a running
/// store.
struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog",
        abstract: "Check and convert .storekit and YAML catalogs, and move apps between them and a running store.",
        subcommands: [Check.self, Convert.self, Import.self, Export.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the products in catalog files and report every error.",
            discussion: """
                  cornerstore catalog check App.storekit
                  cornerstore catalog check One.storekit=com.example.one Two.yaml --json
                """)

        @Argument(
            help: ArgumentHelp(
                "A .storekit file or a YAML catalog. Append =BUNDLE to set the app's bundle id.", valueName: "file"),
            completion: .file(extensions: ["storekit", "yaml", "yml"]))
        var files: [CatalogFileArgument]
        @OptionGroup var output: OutputOptions

        func run() throws {
            let report = CatalogReport(files.map(\.file))
            try Console.current.report(report, json: output.json) { report.text($0) }
            for problem in report.problems where !output.json { Console.current.complain(problem.text) }
            if !report.valid { throw ExitCode(1) }
        }
    }

    struct Convert: ParsableCommand {
        enum Format: String, ExpressibleByArgument, CaseIterable {
            case yaml
            case storekit
        }

        /// The JSON document that `--json` prints.
        struct Converted: Encodable {
            var text: String
            /// The settings that the target format cannot express, one line each.
            var omitted: [String]
        }

        static let configuration = CommandConfiguration(
            abstract: "Convert a catalog file to the other format.",
            discussion: """
                A YAML catalog can express settings that a .storekit file cannot: bundle ids, prices and availability by storefront, free \
                subscriptions and hosted content. The command lists the settings that it left out on standard error.

                  cornerstore catalog convert App.storekit=com.example.app --to yaml --out App.yaml
                  cornerstore catalog convert App.yaml --to storekit
                """)

        @Argument(
            help: ArgumentHelp(
                "The catalog file. Append =BUNDLE to set a .storekit file's bundle id.", valueName: "file"),
            completion: .file())
        var file: CatalogFileArgument
        @Option(help: "The target format.")
        var to: Format
        @Option(
            help: ArgumentHelp(
                "The app to convert. Required for --to storekit when the file has several apps.", valueName: "bundle-id"
            ))
        var app: String?
        @Option(
            help: ArgumentHelp("The file to write, instead of standard output.", valueName: "file"), completion: .file()
        )
        var out: String?
        @OptionGroup var output: OutputOptions

        func run() throws {
            let contents = try file.file.read()
            var converted = try convert(contents.apps)
            if !contents.items.isEmpty { converted.omitted.append("the items of the storefront") }
            let console = Console.current
            for note in contents.notes + converted.omitted.map({ "left out: \($0)" }) where !output.json {
                console.remark(note)
            }
            if let out {
                try CatalogCommand.write(converted.text, to: out)
                guard output.json else { return }
            }
            try console.report(converted, json: output.json) { _ in
                converted.text.hasSuffix("\n") ? String(converted.text.dropLast()) : converted.text
            }
        }

        private func convert(_ apps: [CatalogApp]) throws -> Converted {
            let chosen = app.map { name in apps.filter { $0.bundleID == BundleID(name) } } ?? apps
            let known = apps.map(\.bundleID.rawValue).joined(separator: ", ")
            guard let first = chosen.first else {
                throw CommandError(
                    .usage, "The file does not contain this app. It contains \(known.isEmpty ? "no apps" : known).")
            }
            switch to {
            case .yaml:
                let text = CornerstoreCatalogFile.text(of: chosen)
                try check { try CornerstoreCatalogFile.read(Array(text.utf8), file: "the YAML catalog").apps == chosen }
                return Converted(text: text, omitted: [])
            case .storekit:
                guard chosen.count == 1 else {
                    throw CommandError(.usage, "A .storekit file holds one app. Choose one with --app: \(known).")
                }
                let (text, omitted) = StoreKitConfigurationFile.text(of: first)
                try check {
                    let bytes = Array(text.utf8)
                    let file = "the .storekit file"
                    return try !StoreKitConfigurationFile.read(bytes, file: file, bundleID: first.bundleID).apps.isEmpty
                }
                return Converted(text: text, omitted: omitted)
            }
        }

        /// Reads the converted text back before it is written, so that the command never writes a file that the store
        /// refuses.
        private func check(_ isReadBack: () throws -> Bool) throws {
            let reason: String
            do {
                if try isReadBack() { return }
                reason = "the result would differ from the original"
            } catch let error as CatalogError {
                reason = error.problems.first?.description ?? error.detail
            }
            throw CommandError(.failed, "Cannot convert \(file.file.path) to \(to.rawValue): \(reason).")
        }
    }
}

/// `FILE` or `FILE=BUNDLE`. If a file with the whole argument as its name exists, the argument is that file.
struct CatalogFileArgument: ExpressibleByArgument {
    var file: CatalogFile

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        if let sign = argument.lastIndex(of: "="), !FileManager.default.fileExists(atPath: argument) {
            let bundleID = argument[argument.index(after: sign)...]
            guard sign > argument.startIndex, !bundleID.isEmpty else { return nil }
            file = CatalogFile(path: String(argument[..<sign]), bundleID: BundleID(String(bundleID)))
        } else {
            file = CatalogFile(path: argument, bundleID: nil)
        }
    }
}
