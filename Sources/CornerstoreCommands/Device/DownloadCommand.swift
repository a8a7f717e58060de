import ArgumentParser
import Foundation
import StoreKit
import StoreWire

/// `cornerstore download`: what an app does with a product's hosted content, from the shell.
struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Download the hosted content of a product that was bought, as an app would.",
        discussion: """
            It goes through the same StoreKit as an app: a transaction of the product that is not finished, or else a restore, brings the \
            download; the content is checked, unpacked and copied to --out, and the transaction is finished. Stopped in the middle, by Ctrl-C \
            or otherwise, the same command goes on at the byte where it was.

              cornerstore download com.example.book.chapter2 --out chapter2
              cornerstore download com.example.book.chapter2 --out chapter2 --json | jq -r .version

            The content goes to DIR: ContentInfo.plist and Contents/. The device is that of “cornerstore buy” for the same account, unless \
            --device names another.
            """)

    @Argument(help: "The product's identifier.")
    var product: String
    @Option(
        help: ArgumentHelp("Where the content goes; nothing may be there.", valueName: "dir"), completion: .directory)
    var out: String
    @Option(
        help: ArgumentHelp(
            "Holds the password of --account; - for standard input. Asked for otherwise.", valueName: "file"),
        completion: .file())
    var passwordFile: String?
    @OptionGroup var options: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        // What cannot end well is said before a password is asked for.
        _ = try options.control.data.addresses()
        let place = URL(fileURLWithPath: out, isDirectory: true).standardizedFileURL
        guard !FileManager.default.fileExists(atPath: place.path) else {
            throw CommandError(.usage, "There is something at \(place.path) already; name another --out.")
        }
        let (email, password) = try customer()
        let device = try await options.shellDevice(of: email, mustExist: false)
        let signIn = SignIn(StoreCredentials(email: email, password: password))
        let sheet = ProgrammedPaymentSheet(confirm: { _ in .cancel }, signIn: { signIn.answer($0) })
        let product = product
        let report: DownloadReport
        do {
            report = try await device.use(
                sheet, late: "The store at \(device.store) did not answer in time.", within: .seconds(86_400)
            ) {
                try await ShellDownload(product: product, place: place).perform()
            }
        } catch let error as CommandError {
            guard signIn.wasRefused else { throw error }
            throw CommandError(.refused, "The store does not take this password of \(email).")
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }

    private func customer() throws -> (email: String, password: String) {
        if let account = options.account {
            return (account, try PasswordPrompt.password(file: passwordFile, whose: account))
        }
        return try ShellCustomer.tester(options.environment.environment, in: options.control.data.directory)
    }
}

/// What was downloaded.
struct DownloadReport: Encodable, Sendable {
    var productId: String
    var version: String
    /// Bytes of the package.
    var length: Int64
    var transactionId: String?
    /// Holds `ContentInfo.plist` and `Contents/`.
    var folder: String

    func text(_ style: Style) -> String {
        [
            style.good("Downloaded \(productId) \(version)."),
            Table.fields([("folder", folder), ("package", TransferMeter.size(length))], style),
        ].joined(separator: "\n")
    }
}

/// One download through StoreKit, to the finished transaction.
struct ShellDownload: Sendable {
    var product: String
    var place: URL

    func perform() async throws -> DownloadReport {
        let events = DeviceEvents()
        let queue = SKPaymentQueue.default()
        queue.add(events)
        defer { queue.remove(events) }
        let console = Console.current
        await queue.quiet()
        if !queue.transactions.contains(where: isWanted) { queue.restoreCompletedTransactions() }
        var display: TransferDisplay?
        defer { display?.end() }
        for await event in events.stream {
            switch event {
            case .updated(let transactions):
                // What was kept of other products is left in the queue.
                for transaction in transactions where isWanted(transaction) && display == nil {
                    guard let download = transaction.downloads.first else { continue }
                    display = TransferDisplay(
                        "Downloading", total: download.expectedContentLength, done: received(download), console: console
                    )
                    queue.start([download])
                }
            case .downloads(let downloads):
                for download in downloads where download.contentIdentifier == product {
                    display?.note(received(download))
                    switch download.state {
                    case .finished: return try await finish(download, queue)
                    case .failed:
                        throw CommandError(
                            .failed, Style.printable(download.error?.localizedDescription ?? "The download failed."))
                    case .cancelled: throw CommandError(.failed, "The download was cancelled.")
                    case .waiting, .active, .paused: break
                    }
                }
            case .restoreFailed(let text):
                throw CommandError(.refused, "Restoring failed: \(Style.printable(text))")
            case .restoreFinished:
                finishOthers(queue)
                guard queue.transactions.contains(where: isWanted) else {
                    throw CommandError(
                        .refused,
                        "There is no content of \(product) to download: it was not bought, or nothing is hosted.")
                }
            }
        }
        throw CancellationError()
    }

    private func isWanted(_ transaction: SKPaymentTransaction) -> Bool {
        transaction.payment.productIdentifier == product && !transaction.downloads.isEmpty
            && [.purchased, .restored].contains(transaction.transactionState)
    }

    private func received(_ download: SKDownload) -> Int64 {
        Int64((Double(download.progress) * Double(download.expectedContentLength)).rounded())
    }

    /// What the restore brought beside it was finished before.
    private func finishOthers(_ queue: SKPaymentQueue) {
        for transaction in queue.transactions where transaction.transactionState == .restored && !isWanted(transaction)
        {
            queue.finishTransaction(transaction)
        }
    }

    private func finish(_ download: SKDownload, _ queue: SKPaymentQueue) async throws -> DownloadReport {
        guard let content = download.contentURL else { throw CommandError(.failed, "The content is gone.") }
        let aside = place.deletingLastPathComponent().appendingPathComponent(".\(place.lastPathComponent).\(UUID())")
        do {
            try FileManager.default.copyItem(at: content, to: aside)
            try FileManager.default.moveItem(at: aside, to: place)
        } catch {
            try? FileManager.default.removeItem(at: aside)
            throw CommandError(.failed, "The content cannot be copied to \(place.path): \(error.localizedDescription)")
        }
        let transaction = download.transaction
        queue.finishTransaction(transaction)
        await queue.quiet()
        return DownloadReport(
            productId: product, version: download.contentVersion, length: download.expectedContentLength,
            transactionId: transaction.transactionIdentifier, folder: place.path)
    }
}
