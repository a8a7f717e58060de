import ArgumentParser
import ContentPackages
import Foundation

/// `cornerstore content check`: reports every error in a package, or in a folder before it is built.
struct ContentCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report every error in a package, or in the folder to build it from.",
        discussion: """
            The store checks uploaded packages by the same rules. The exit code is 1 when the check finds an error.

              cornerstore content check Chapter1
              cornerstore content check chapter1.pkg --product com.example.app.chapter1 --above 1.0
            """)

    @Argument(
        help: ArgumentHelp("A package, or a folder with ContentInfo.plist and Contents.", valueName: "file|folder"))
    var path: String
    @Option(help: ArgumentHelp("The product that the package must be for.", valueName: "product"))
    var product: ProductArgument?
    @Option(
        help: ArgumentHelp(
            "The version that the package's version must be higher than, such as the live one.", valueName: "version"))
    var above: VersionArgument?
    @OptionGroup var output: OutputOptions

    func run() throws {
        let url = URL(fileURLWithPath: path)
        let expectation = ContentExpectation(productID: product?.id, above: above?.version)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw CommandError(.failed, "\(path) does not exist.")
        }
        let report: ContentCheckReport
        if isFolder.boolValue {
            let findings = try ContentCheck.findings(inFolder: url, expecting: expectation)
            report = ContentCheckReport(of: path, findings: findings)
        } else {
            switch try ContentCheck.check(package: url, expecting: expectation) {
            case .passed(let package): report = ContentCheckReport(of: path, package)
            case .refused(let findings): report = ContentCheckReport(of: path, findings: findings)
            }
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
        if !report.valid { throw ExitCode(1) }
    }
}

/// The result of a check.
struct ContentCheckReport: Encodable {
    var checked: String
    var valid: Bool
    /// The product id of a valid package, as are the fields below; nil for a folder or an invalid package.
    var productId: String?
    var version: String?
    var length: Int64?
    var unpackedLength: Int64?
    var findings: [ContentFinding]

    init(of path: String, findings: [ContentFinding]) {
        checked = path
        valid = findings.isEmpty
        self.findings = findings
    }

    init(of path: String, _ package: CheckedPackage) {
        self.init(of: path, findings: [])
        productId = package.info.productID
        version = package.info.version.text
        length = package.length
        unpackedLength = package.unpackedLength
    }

    func text(_ style: Style) -> String {
        guard !valid else {
            guard let productId, let version, let length, let unpackedLength else {
                return "\(Style.printable(checked)): \(style.good("nothing is wrong"))"
            }
            return "\(Style.printable(checked)): \(style.good("nothing is wrong"))\n"
                + Table.fields(
                    [
                        ("product", productId), ("version", version),
                        ("size", "\(length) bytes, \(unpackedLength) unpacked"),
                    ], style)
        }
        let rows = findings.map { [$0.rule.rawValue, $0.path ?? "", $0.message, $0.advice] }
        let count = findings.count == 1 ? "1 finding" : "\(findings.count) findings"
        return "\(Style.printable(checked)): \(style.bad(count))\n"
            + Table(heading: ["rule", "path", "problem", "advice"], rows: rows).text(style)
    }
}
