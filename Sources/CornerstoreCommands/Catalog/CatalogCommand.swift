import ArgumentParser
import Foundation
import Store
import StoreWire

/// `cornerstore catalog`: catalog files, without a store.
struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog",
        abstract: "Check catalog files, and turn .storekit files into our own format or back.",
        subcommands: [Check.self, Convert.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what catalog files describe, and everything that is wrong in them.",
            discussion: """
                  cornerstore catalog check App.storekit
                  cornerstore catalog check One.storekit=com.example.one Two.yaml --json
                """)

        @Argument(
            help: ArgumentHelp(
                "A .storekit file or a YAML catalog; =BUNDLE gives the app's bundle id.", valueName: "file"),
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

        /// What `--json` prints.
        struct Converted: Encodable {
            var text: String
            /// What the other format cannot say, a line each.
            var omitted: [String]
        }

        static let configuration = CommandConfiguration(
            abstract: "Turn one kind of catalog file into the other.",
            discussion: """
                Our own format says what .storekit cannot: bundle ids, prices and availability by storefront, free subscriptions, hosting. \
                What the other format cannot say is told on standard error.

                  cornerstore catalog convert App.storekit=com.example.app --to yaml --out App.yaml
                  cornerstore catalog convert App.yaml --to storekit
                """)

        @Argument(
            help: ArgumentHelp("The file; =BUNDLE gives a .storekit file's bundle id.", valueName: "file"),
            completion: .file())
        var file: CatalogFileArgument
        @Option(help: "What to make of it.")
        var to: Format
        @Option(
            help: ArgumentHelp(
                "Which app, when the file has several and .storekit has room for one.", valueName: "bundle-id"))
        var app: String?
        @Option(
            help: ArgumentHelp("Where to write it, instead of standard output.", valueName: "file"), completion: .file()
        )
        var out: String?
        @OptionGroup var output: OutputOptions

        func run() throws {
            let contents = try file.file.read()
            let converted = try convert(contents.apps)
            let console = Console.current
            for note in contents.notes + converted.omitted.map({ "left out: \($0)" }) where !output.json {
                console.remark(note)
            }
            if let out {
                do {
                    try Data(converted.text.utf8).write(to: URL(fileURLWithPath: out), options: .atomic)
                } catch {
                    throw CommandError(.failed, "\(out) cannot be written.")
                }
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
                throw CommandError(.usage, "The file describes no such app; it has \(known.isEmpty ? "none" : known).")
            }
            switch to {
            case .yaml:
                let text = CornerstoreCatalogFile.text(of: chosen)
                try check { try CornerstoreCatalogFile.read(Array(text.utf8), file: "the YAML catalog").apps == chosen }
                return Converted(text: text, omitted: [])
            case .storekit:
                guard chosen.count == 1 else {
                    throw CommandError(.usage, "A .storekit file holds one app; choose with --app one of \(known).")
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

        /// Reads what was made before it is written, so that no file is left that the store would refuse.
        private func check(_ isReadBack: () throws -> Bool) throws {
            let reason: String
            do {
                if try isReadBack() { return }
                reason = "it would describe something else"
            } catch let error as CatalogError {
                reason = error.problems.first?.description ?? error.detail
            }
            throw CommandError(.failed, "\(file.file.path) cannot be written as a \(to.rawValue) file: \(reason).")
        }
    }
}

/// `FILE` or `FILE=BUNDLE`. Where a file of the whole name exists, that one is meant.
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
