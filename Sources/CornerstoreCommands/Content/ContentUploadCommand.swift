import ArgumentParser
import ContentPackages
import Foundation
import Store
import StoreServer

/// `cornerstore content upload`: uploads a package to the store.
struct ContentUploadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Upload a package to the store, which checks it.",
        discussion: """
            The package contains the id of its product. To resume an interrupted upload, run the same command again within seven days. If the \
            store rejects the package, the command prints every error and exits with 1.

              cornerstore content upload chapter2-1.0.pkg
            """)

    @Argument(help: "The package.", completion: .file(extensions: ["pkg"]))
    var file: String
    @Option(
        help: ArgumentHelp("The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let client = try control.client()
        let url = URL(fileURLWithPath: file)
        let product = try ContentPackage.open(file: url).info.productID
        let bundleID = try await AppSelection.bundleID(of: product, app: app, client)
        let action = ContentUploadAction(file: url, bundleID: bundleID, product: product, client: client)
        switch try await action.run() {
        case .kept(let version):
            try Console.current.report(version, json: output.json) { style in
                "\(version.productId) \(Style.printable(version.version)): \(style.bold(ContentWords.state(version.state)))"
                    + "  \(TransferMeter.size(version.length)), \(TransferMeter.size(version.unpackedLength)) unpacked"
                    + (version.state == ContentState.readyToSubmit.rawValue
                        ? "\nNext: cornerstore content submit \(version.productId)" : "")
            }
        case .refused(let refusal):
            try Console.current.report(refusal, json: output.json) { style in
                ([style.bad(Style.printable(refusal.message))] + refusal.findings.map(ContentStatusCommand.text))
                    .joined(separator: "\n")
            }
            throw ExitCode(1)
        }
    }
}
