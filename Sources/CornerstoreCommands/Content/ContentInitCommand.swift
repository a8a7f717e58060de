import ArgumentParser
import ContentPackages
import Foundation

/// `cornerstore content init`: creates a content folder.
struct ContentInitCommand: ParsableCommand {
    /// The JSON document that `--json` prints.
    struct Made: Encodable {
        var folder: String
        var productId: String
        var version: String
    }

    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a content folder: ContentInfo.plist, and Contents with a sample file.",
        discussion: """
              cornerstore content init com.example.app.chapter1
              cornerstore content init com.example.app.chapter1 Chapter1 --version 1.0
            """)

    @Argument(help: ArgumentHelp("The id of the product that the content belongs to.", valueName: "product"))
    var product: ProductArgument
    @Argument(
        help: ArgumentHelp("The folder to create. The default is the product's id.", valueName: "folder"),
        completion: .directory)
    var folder: String?
    @Option(
        name: .customLong("version"),
        help: ArgumentHelp("The content's version. The default is 1.0.", valueName: "version"))
    var version: VersionArgument?
    @OptionGroup var output: OutputOptions

    func run() throws {
        let path = folder ?? product.id
        let root = URL(fileURLWithPath: path, isDirectory: true)
        guard !FileManager.default.fileExists(atPath: root.path) else {
            throw CommandError(.refused, "\(path) already exists. Give another folder.")
        }
        guard let version = version?.version ?? ContentVersion("1.0") else { return }
        let info = ContentInfo(productID: product.id, version: version)
        let contents = root.appendingPathComponent("Contents", isDirectory: true)
        do {
            try FileManager.default.createDirectory(at: contents, withIntermediateDirectories: true)
            try info.propertyList().write(to: root.appendingPathComponent(ContentInfo.fileName))
            try Data(Self.sample.utf8).write(to: contents.appendingPathComponent("Read me.txt"))
        } catch {
            throw CommandError(.failed, "Cannot create \(path). Check the permissions of its parent folder.")
        }
        let made = Made(folder: path, productId: product.id, version: version.text)
        try Console.current.report(made, json: output.json) { style in
            """
            \(style.good("Created")) \(Style.printable(path)). Put the customer's files into Contents, then run:

              cornerstore content build \(Style.printable(path.contains(" ") ? "\"\(path)\"" : path))
            """
        }
    }

    private static let sample = """
        Replace this file with the files that the customer buys.

        All file types and folders are allowed except code. The app finds the files in Contents, below the download's contentURL.

        """
}

/// A product id as a command-line argument.
struct ProductArgument: ExpressibleByArgument {
    var id: String

    init?(argument: String) {
        guard ContentInfo.isProductID(argument) else { return nil }
        id = argument
    }
}

/// A version of hosted content as a command-line argument.
struct VersionArgument: ExpressibleByArgument {
    var version: ContentVersion

    init?(argument: String) {
        guard let version = ContentVersion(argument) else { return nil }
        self.version = version
    }
}
