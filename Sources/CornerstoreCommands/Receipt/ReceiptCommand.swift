import ArgumentParser
import Foundation
import StoreReceipts
import StoreServer

/// `cornerstore receipt`: looks into receipts and verifies them, without a store.
struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "Look into receipts, and verify them.",
        discussion: """
            It reads the app receipt of iOS 7 and macOS and the transaction receipt of iOS 6, binary or in Base64, and
            signed transactions, renewals and notifications (JWS).

              cornerstore receipt inspect receipt
              pbpaste | cornerstore receipt verify - --root AppleIncRootCertificate.cer --bundle-id com.example.app
            """,
        subcommands: [Inspect.self, Verify.self])

    /// The command's exit code says what the report says.
    static func finish(_ report: ReceiptReport, _ output: OutputOptions) throws {
        try Console.current.report(report, json: output.json) { report.text($0) }
        if report.valid == false { throw ExitCode(1) }
    }

    struct Inspect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what a receipt says. It proves nothing; “verify” does.",
            discussion: """
                  cornerstore receipt inspect receipt
                  cornerstore receipt inspect receipt.b64 --json | jq '.inApp[].product_id'
                """)

        @Argument(help: ArgumentHelp("The receipt, or - for standard input.", valueName: "file"), completion: .file())
        var file: String
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try ReceiptCommand.finish(ReceiptReport(inspecting: try ReceiptInput.read(file)), output)
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say whether a receipt is genuine, and why not.",
            discussion: """
                Structure, signature, chain to a root at the receipt's own date, Apple's markers in the certificates, then what the options \
                expect. Without --root it trusts the store of the data directory. It ends with 1 when the receipt is refused.

                  cornerstore receipt verify receipt
                  cornerstore receipt verify receipt --bundle-id com.example.app --device-id 956328D9-CC6A-47F4-BE40-6953FB0AB6C7
                  cornerstore receipt verify apple.b64 --root AppleIncRootCertificate.cer --json
                """)

        @Argument(help: ArgumentHelp("The receipt, or - for standard input.", valueName: "file"), completion: .file())
        var file: String
        @Option(
            help: ArgumentHelp("A certificate to trust, DER or PEM; may be given several times.", valueName: "file"),
            completion: .file())
        var root: [String] = []
        @Option(
            help: ArgumentHelp(
                "A certificate below a root, for receipts that carry only their own.", valueName: "file"),
            completion: .file())
        var intermediate: [String] = []
        @Option(help: "The app it must be for.")
        var bundleId: String?
        @Option(help: ArgumentHelp("The CFBundleVersion it must be for.", valueName: "version"))
        var appVersion: String?
        @Option(help: ArgumentHelp("The identifierForVendor of the device it must be for.", valueName: "uuid"))
        var deviceId: String?
        @Flag(help: "Take receipts of StoreKit testing in Xcode, whose own certificate is then the --root.")
        var allowXcode = false
        @OptionGroup var data: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let expectation = ReceiptExpectation(
                bundleID: bundleId, applicationVersion: appVersion, deviceIdentifier: try deviceIdentifier(),
                allowsXcode: allowXcode)
            let trusted = try roots()
            let intermediates = try certificates(intermediate + ownIntermediate())
            let verifier: ReceiptVerifier
            do {
                verifier = try ReceiptVerifier(roots: trusted, intermediates: intermediates)
            } catch {
                throw CommandError(.usage, "A file given with --root or --intermediate is not a certificate.")
            }
            let input = try ReceiptInput.read(file)
            try ReceiptCommand.finish(
                await ReceiptReport(verifying: input, by: verifier, expecting: expectation), output)
        }

        private func deviceIdentifier() throws -> [UInt8]? {
            guard let deviceId else { return nil }
            guard let uuid = UUID(uuidString: deviceId) else {
                throw CommandError(.usage, "--device-id is a UUID such as 956328D9-CC6A-47F4-BE40-6953FB0AB6C7.")
            }
            return withUnsafeBytes(of: uuid.uuid) { Array($0) }
        }

        private func roots() throws -> [[UInt8]] {
            guard root.isEmpty else { return try certificates(root) }
            let folder = data.directory.appendingPathComponent("roots")
            let (file, jws) = (
                folder.appendingPathComponent("receipt-root.der").path,
                folder.appendingPathComponent("jws-root.der").path
            )
            guard FileManager.default.fileExists(atPath: file) else {
                throw CommandError(
                    .usage,
                    "There is no root to trust: name one with --root, or a store's data directory with --data (\(file) is not there)."
                )
            }
            return try certificates([file] + (FileManager.default.fileExists(atPath: jws) ? [jws] : []))
        }

        /// The intermediate of the data directory's store: its transaction receipts carry their leaf alone.
        private func ownIntermediate() -> [String] {
            let file = data.directory.appendingPathComponent("authority/receipt-intermediate.pem").path
            return root.isEmpty && FileManager.default.isReadableFile(atPath: file) ? [file] : []
        }

        private func certificates(_ files: [String]) throws -> [[UInt8]] {
            try files.map { try CertificateInput.read($0) }
        }
    }
}
