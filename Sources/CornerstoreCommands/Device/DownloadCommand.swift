import ArgumentParser
import Foundation
import StoreKit
import StoreWire

/// `cornerstore download`: downloads a product's hosted content, as an app does.
struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Download the hosted content of a purchased product, as an app would.",
        discussion: """
            This command uses the same StoreKit as an app. It takes the download from an unfinished transaction of the product, or else restores \
            the purchase. Then it checks and unpacks the content, copies it to --out and finishes the transaction. To resume an interrupted \
            download, run the same command again.

              cornerstore download com.example.book.chapter2 --out chapter2
              cornerstore download com.example.book.chapter2 --out chapter2 --json | jq -r .version

            The output folder contains ContentInfo.plist and Contents/. The default device is the one that “cornerstore buy” uses for the account.
            """)

    @Argument(help: "The product's identifier.")
    var product: String
    @Option(
        help: ArgumentHelp("The folder to create for the content. It must not exist.", valueName: "dir"),
        completion: .directory)
    var out: String
    @OptionGroup var password: PasswordOptions
    @OptionGroup var options: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        // Report a missing store or an unusable --out before asking for a password.
        _ = try options.data.addresses()
        let place = URL(fileURLWithPath: out, isDirectory: true).standardizedFileURL
        guard !FileManager.default.fileExists(atPath: place.path) else {
            throw CommandError(.usage, "\(place.path) already exists. Give another folder with --out.")
        }
        try OutputFile.check(place)
        let customer = try options.customer(password)
        let device = try await options.shellDevice(of: customer.email, mustExist: false)
        let product = product
        let report = try await device.use(as: customer, within: .seconds(86_400)) {
            try await ShellDownload(product: product, place: place).perform()
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }
}

/// The result of `cornerstore download`.
struct DownloadReport: Encodable, Sendable {
    var productId: String
    var version: String
    /// The size of the package in bytes.
    var length: Int64
    var transactionId: String?
    /// The folder with `ContentInfo.plist` and `Contents/`.
    var folder: String

    func text(_ style: Style) -> String {
        [
            style.good("Downloaded \(productId) \(version)."),
            Table.fields([("folder", folder), ("package", TransferMeter.size(length))], style),
        ].joined(separator: "\n")
    }
}

/// One download through StoreKit. It ends when the transaction is finished.
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
                // Transactions of other products stay in the queue.
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
                        "\(product) has no content to download. The account has not bought it, or the store hosts no content for it."
                    )
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

    /// Finishes the other transactions that the restore delivered. They were finished before the restore, too.
    private func finishOthers(_ queue: SKPaymentQueue) {
        for transaction in queue.transactions where transaction.transactionState == .restored && !isWanted(transaction)
        {
            queue.finishTransaction(transaction)
        }
    }

    private func finish(_ download: SKDownload, _ queue: SKPaymentQueue) async throws -> DownloadReport {
        guard let content = download.contentURL else { throw CommandError(.failed, "StoreKit returned no content.") }
        let aside = place.deletingLastPathComponent().appendingPathComponent(".\(place.lastPathComponent).\(UUID())")
        do {
            try FileManager.default.copyItem(at: content, to: aside)
            try FileManager.default.moveItem(at: aside, to: place)
        } catch {
            try? FileManager.default.removeItem(at: aside)
            throw CommandError(.failed, "Cannot copy the content to \(place.path): \(error.localizedDescription)")
        }
        let transaction = download.transaction
        queue.finishTransaction(transaction)
        await queue.quiet()
        return DownloadReport(
            productId: product, version: download.contentVersion, length: download.expectedContentLength,
            transactionId: transaction.transactionIdentifier, folder: place.path)
    }
}
