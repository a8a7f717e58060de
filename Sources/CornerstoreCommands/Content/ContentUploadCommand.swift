import ArgumentParser
import ContentPackages
import Foundation
import Store
import StoreServer

/// `cornerstore content upload`: sends a package to the store.
struct ContentUploadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Send a package to the store, which checks it.",
        discussion: """
            The package says for which product it is. An upload that broke off goes on at the byte where it stopped when the command is \
            given again within seven days. Ends with 1 and everything that is wrong when the package is not in order.

              cornerstore content upload chapter2-1.0.pkg
            """)

    @Argument(help: "The package.", completion: .file(extensions: ["pkg"]))
    var file: String
    @Option(help: ArgumentHelp("The app, when several sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let client = try control.client()
        let url = URL(fileURLWithPath: file)
        let product = try ContentPackage.open(file: url).info.productID
        let bundleID = try await Seller.find(product, app: app, client)
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
