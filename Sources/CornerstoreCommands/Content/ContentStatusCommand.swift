import ArgumentParser
import ControlWire

/// `cornerstore content status`: shows the hosted content and the state of each version.
struct ContentStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show hosted content with its versions, their states, and uploads in progress.",
        discussion: """
              cornerstore content status
              cornerstore content status com.example.book.chapter2
              cornerstore content status --json
            """)

    @Argument(help: "The product's identifier. The default is all products.")
    var product: String?
    @Option(help: ArgumentHelp("Show only the products of this app.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let products: [ControlAPI.HostedProduct] = try await control.client().send(
            .content(bundle: app, product: product))
        try Console.current.report(products, json: output.json) { style in
            guard !products.isEmpty else {
                return "No hosted content. Start with “cornerstore content host PRODUCT”."
            }
            return products.map { Self.text($0, style) }.joined(separator: "\n\n")
        }
    }

    static func text(_ product: ControlAPI.HostedProduct, _ style: Style) -> String {
        var lines = [
            style.bold(Style.printable(product.productId)) + "  "
                + style.dim(
                    "\(Style.printable(product.bundleId)), \(product.hosted ? "review \(product.review)" : "hosting is off")"
                )
        ]
        lines.append(
            "downloaded now: production \(product.productionVersion ?? "nothing"), sandbox \(product.sandboxVersion ?? "nothing")"
        )
        for upload in product.uploads { lines += Self.lines(upload, style) }
        for version in product.versions {
            lines.append(
                "\(Style.printable(version.version))  \(style.accent(ContentWords.state(version.state)))  "
                    + TransferMeter.size(version.length) + style.dim("  \(version.sha256.prefix(12))"))
            for moment in version.history {
                let reason = moment.reason.map { ": \(Style.printable($0))" } ?? ""
                lines.append(style.dim("    \(moment.date)  \(ContentWords.state(moment.state))\(reason)"))
            }
        }
        if product.versions.isEmpty, product.uploads.isEmpty { lines.append(ContentWords.state(product.state)) }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ upload: ControlAPI.ContentUpload, _ style: Style) -> [String] {
        let findings = upload.findings ?? []
        guard findings.isEmpty else {
            return [style.bad("refused") + "  upload of \(upload.createdDate), \(findings.count) findings:"]
                + findings.map { "    " + text($0) }
        }
        let meter = TransferMeter(total: upload.length, done: upload.offset)
        let arrived = upload.isElsewhere == true ? "at another process of the store" : meter.text
        return [
            "\(style.accent(ContentWords.state(upload.state ?? "")))  upload of \(upload.createdDate)  \(arrived)"
        ]
    }

    static func text(_ finding: ControlAPI.Finding) -> String {
        let place = finding.path.map { "\(Style.printable($0)): " } ?? ""
        return "\(finding.rule): \(place)\(Style.printable(finding.message)) \(Style.printable(finding.advice))"
    }
}
