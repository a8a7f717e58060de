import ArgumentParser
import ContentPackages
import Foundation

/// `cornerstore content init`: a folder to begin with.
struct ContentInitCommand: ParsableCommand {
    /// What `--json` prints.
    struct Made: Encodable {
        var folder: String
        var productId: String
        var version: String
    }

    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a folder to begin with: ContentInfo.plist, and Contents with a file in it.",
        discussion: """
              cornerstore content init com.example.app.chapter1
              cornerstore content init com.example.app.chapter1 Chapter1 --version 1.0
            """)

    @Argument(help: ArgumentHelp("The id of the product whose content it is.", valueName: "product"))
    var product: ProductArgument
    @Argument(
        help: ArgumentHelp("The folder to make; named after the product if not said.", valueName: "folder"),
        completion: .directory)
    var folder: String?
    @Option(
        name: .customLong("version"),
        help: ArgumentHelp("The content's version; 1.0 if not said.", valueName: "version"))
    var version: VersionArgument?
    @OptionGroup var output: OutputOptions

    func run() throws {
        let path = folder ?? product.id
        let root = URL(fileURLWithPath: path, isDirectory: true)
        guard !FileManager.default.fileExists(atPath: root.path) else {
            throw CommandError(.refused, "There is something at \(path) already; name another folder.")
        }
        guard let version = version?.version ?? ContentVersion("1.0") else { return }
        let info = ContentInfo(productID: product.id, version: version)
        let contents = root.appendingPathComponent("Contents", isDirectory: true)
        do {
            try FileManager.default.createDirectory(at: contents, withIntermediateDirectories: true)
            try info.propertyList().write(to: root.appendingPathComponent(ContentInfo.fileName))
            try Data(Self.sample.utf8).write(to: contents.appendingPathComponent("Read me.txt"))
        } catch {
            throw CommandError(.failed, "\(path) cannot be written; check the permissions of the folder that it is in.")
        }
        let made = Made(folder: path, productId: product.id, version: version.text)
        try Console.current.report(made, json: output.json) { style in
            """
            \(style.good("made")) \(Style.printable(path)): put into Contents what the customer bought, then

              cornerstore content build \(Style.printable(path.contains(" ") ? "\"\(path)\"" : path))
            """
        }
    }

    private static let sample = """
        Put here the files that the customer bought, and remove this one.

        Any kinds and folders are allowed but code. The app finds them in Contents below the folder that the download's contentURL names.

        """
}

/// A product id on the command line.
struct ProductArgument: ExpressibleByArgument {
    var id: String

    init?(argument: String) {
        guard ContentInfo.isProductID(argument) else { return nil }
        id = argument
    }
}

/// A version of hosted content on the command line.
struct VersionArgument: ExpressibleByArgument {
    var version: ContentVersion

    init?(argument: String) {
        guard let version = ContentVersion(argument) else { return nil }
        self.version = version
    }
}
