import ArgumentParser
import ContentPackages
import Foundation

/// `cornerstore content build`: builds a package from a folder.
struct ContentBuildCommand: ParsableCommand {
    /// The JSON document that `--json` prints.
    struct Report: Encodable {
        var file: String
        var productId: String
        var version: String
        /// The package's size in bytes.
        var length: Int64
        /// The size of all unpacked files in bytes.
        var unpackedLength: Int64
        var files: Int
        /// The package's SHA-256 in lower-case hexadecimal.
        var sha256: String
    }

    static let configuration = CommandConfiguration(
        commandName: "build",
        abstract: "Check a folder and build a package from it.",
        discussion: """
            The same folder always produces the same package, byte for byte. --product and --version override the values in \
            ContentInfo.plist. With both options, the folder needs no ContentInfo.plist.

              cornerstore content build Chapter1
              cornerstore content build Chapter1 -o chapter1.pkg --product com.example.app.chapter1 --version 1.1
            """)

    @Argument(
        help: ArgumentHelp("A folder with ContentInfo.plist and Contents.", valueName: "folder"), completion: .directory
    )
    var folder: String
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The package to write. The default is the folder's name with .pkg.", valueName: "file"),
        completion: .file(extensions: ["pkg"]))
    var file: String?
    @Option(help: ArgumentHelp("The product id to write into the package.", valueName: "product"))
    var product: ProductArgument?
    @Option(
        name: .customLong("version"),
        help: ArgumentHelp("The content version to write into the package.", valueName: "version"))
    var version: VersionArgument?
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = Console.current
        let root = try ContentPlaces.folder(folder)
        let info = try infoOfOptions(root)
        let target = file ?? root.lastPathComponent + ".pkg"
        let meter = ContentMeter("building \(target)", total: try ContentPlaces.size(of: root), console)
        let built: BuiltPackage
        do {
            built = try ContentPackageBuilder(info: info).build(
                folder: root, into: URL(fileURLWithPath: target), progress: { meter.show($0) })
            meter.end()
        } catch let error as ContentPackageError where error.code == .refused {
            meter.end()
            let report = ContentCheckReport(of: folder, findings: error.findings)
            try console.report(report, json: output.json) { report.text($0) }
            throw ExitCode(1)
        } catch {
            meter.end()
            throw error
        }
        let package = try ContentPackage.open(file: URL(fileURLWithPath: target))
        let report = Report(
            file: target, productId: package.info.productID, version: package.info.version.text, length: built.length,
            unpackedLength: built.unpackedLength, files: built.files, sha256: built.sha256)
        try console.report(report, json: output.json) { report.text($0) }
    }

    /// Returns the folder's content information with the product id and version of the options; nil without these
    /// options.
    /// - Throws: ``CommandError`` when the folder has no ContentInfo.plist and one of the options is missing.
    private func infoOfOptions(_ root: URL) throws -> ContentInfo? {
        guard product != nil || version != nil else { return nil }
        let file = root.appendingPathComponent(ContentInfo.fileName)
        let isThere = FileManager.default.fileExists(atPath: file.path)
        if let product, let version, !isThere {
            return ContentInfo(productID: product.id, version: version.version)
        }
        guard isThere else {
            throw CommandError(
                .usage, "\(folder) has no ContentInfo.plist. Add one, or give both --product and --version.")
        }
        let bytes = try BoundedInput.read(file.path, limit: ContentLimits.hosted.infoBytes, what: ContentInfo.fileName)
        var info = try ContentInfo(propertyList: Data(bytes))
        if let product { info.productID = product.id }
        if let version { info.version = version.version }
        return info
    }
}

extension ContentBuildCommand.Report {
    func text(_ style: Style) -> String {
        Table.fields(
            [
                ("package", file), ("product", productId), ("version", version),
                ("size", "\(length) bytes, \(unpackedLength) unpacked"), ("files", String(files)), ("SHA-256", sha256),
            ], style)
    }
}
