import ArgumentParser
import Console
import Foundation
import StoreReceipts
import StoreServer

/// `cornerstore receipt`: shows and verifies receipts. It needs no running store.
struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "Show and verify receipts.",
        discussion: """
            The commands read app receipts of iOS 7 and macOS, transaction receipts of iOS 6 (both binary or in Base64), and signed
            transactions, renewals and notifications (JWS).

              cornerstore receipt inspect receipt
              pbpaste | cornerstore receipt verify - --root AppleIncRootCertificate.cer --bundle-id com.example.app
            """,
        subcommands: [Inspect.self, Verify.self])

    /// Prints the report. The exit code is 1 when the receipt is not valid.
    static func finish(_ report: ReceiptReport, _ output: OutputOptions) throws {
        try Console.current.report(report, json: output.json) { report.text($0) }
        if report.valid == false { throw ExitCode(1) }
    }

    struct Inspect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a receipt's contents without verifying them.",
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
            abstract: "Verify that a receipt is genuine.",
            discussion: """
                The command verifies the structure, the signature, the certificate chain to a root at the receipt's creation date, Apple's marker \
                extensions in the certificates, and the values given as options. Without --root, it trusts the roots in the store's data directory. \
                The exit code is 1 when the receipt is not valid.

                  cornerstore receipt verify receipt
                  cornerstore receipt verify receipt --bundle-id com.example.app --device-id 956328D9-CC6A-47F4-BE40-6953FB0AB6C7
                  cornerstore receipt verify apple.b64 --root AppleIncRootCertificate.cer --json
                """)

        @Argument(help: ArgumentHelp("The receipt, or - for standard input.", valueName: "file"), completion: .file())
        var file: String
        @Option(
            help: ArgumentHelp(
                "A root certificate to trust, DER or PEM. Repeat the option for several.", valueName: "file"),
            completion: .file())
        var root: [String] = []
        @Option(
            help: ArgumentHelp(
                "An intermediate certificate, for receipts that contain only the leaf certificate.", valueName: "file"),
            completion: .file())
        var intermediate: [String] = []
        @Option(help: "The bundle id that the receipt must have.")
        var bundleId: String?
        @Option(help: ArgumentHelp("The CFBundleVersion that the receipt must have.", valueName: "version"))
        var appVersion: String?
        @Option(
            help: ArgumentHelp("The identifierForVendor of the device that the receipt must be for.", valueName: "uuid")
        )
        var deviceId: String?
        @Flag(help: "Accept receipts of StoreKit testing in Xcode. Give Xcode's certificate with --root.")
        var allowXcode = false
        @OptionGroup var data: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let expectation = ReceiptExpectation(
                bundleID: bundleId, applicationVersion: appVersion, deviceIdentifier: try deviceIdentifier(),
                allowsXcode: allowXcode)
            let trusted = try roots()
            let own = root.isEmpty ? CertificateInput.intermediates(in: data.directory) : []
            let intermediates = try certificates(intermediate + own)
            let verifier: ReceiptVerifier
            do {
                verifier = try ReceiptVerifier(roots: trusted, intermediates: intermediates)
            } catch {
                throw CommandError(.usage, "A file given with --root or --intermediate is not a valid certificate.")
            }
            let input = try ReceiptInput.read(file)
            try ReceiptCommand.finish(
                await ReceiptReport(verifying: input, by: verifier, expecting: expectation), output)
        }

        private func deviceIdentifier() throws -> [UInt8]? {
            guard let deviceId else { return nil }
            guard let uuid = UUID(uuidString: deviceId) else {
                throw CommandError(.usage, "--device-id must be a UUID such as 956328D9-CC6A-47F4-BE40-6953FB0AB6C7.")
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
                    "There is no root to trust: \(file) does not exist. Give a root with --root, or a store's data directory with --data."
                )
            }
            return try certificates([file] + (FileManager.default.fileExists(atPath: jws) ? [jws] : []))
        }

        private func certificates(_ files: [String]) throws -> [[UInt8]] {
            try files.map { try CertificateInput.read($0) }
        }
    }
}
